"""Why an engine failed, read from its log: a kind, what was found, and what to try next.

Pure: a table and a text in, a cause out. It must not know processes or any certain engine.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "oom_load",
    "oom_profile",
    "oom_run",
    "kv_too_small",
    "context_too_long",
    "unknown_flag",
    "bad_combination",
    "model_not_found",
    "model_gated",
    "port_in_use",
    "no_driver",
]

LESS_MEMORY = (
    "set engine.max_num_seqs to 16, then engine.max_num_batched_tokens to 4096, and raise them "
    "again one at a time; engine.on_oom step_down does that"
)
ADVICE: dict[Kind, str] = {
    "oom_load": "the weights do not fit: lower engine.gpu_memory_utilization if others use the "
    "device, take a smaller or quantised model, or more devices",
    "oom_profile": f"{LESS_MEMORY}; or lower engine.gpu_memory_utilization",
    "oom_run": f"{LESS_MEMORY}; or lower engine.gpu_memory_utilization, which leaves more outside "
    "the KV cache",
    "kv_too_small": "lower engine.max_model_len, or give the KV cache more memory "
    "(engine.gpu_memory_utilization)",
    "context_too_long": "lower engine.max_model_len to what the model has",
    "unknown_flag": "correct engine.extra_args; this version does not know it",
    "bad_combination": "change one of the two",
    "model_not_found": "correct engine.model: a folder of this machine or a name of the hub",
    "model_gated": "accept the model's licence at the hub and set HF_TOKEN in the environment",
    "port_in_use": "leave engine.port out to take a free one",
    "no_driver": "install the GPU's driver, or use an engine built for the CPU",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """One line of a log that tells a cause; the pattern is searched in the whole text."""

    kind: Kind
    pattern: str


@dataclass(frozen=True, slots=True)
class Cause:
    """Why it failed: `found` is the line of the log."""

    kind: Kind
    found: str
    advice: str


GENERAL = (
    Failure("port_in_use", r"Address already in use|Errno 98|Failed to bind socket"),
    Failure("no_driver", r"libcuda\.so\.1: cannot open|Found no NVIDIA driver|"
            r"No GPU devices found|no CUDA-capable device|Failed to infer device type"),
    Failure("model_gated", r"gated repo|GatedRepoError|401 Client Error.*huggingface"),
)  # fmt: skip
"""What any of them may say."""


def find_cause(log: str, failures: Sequence[Failure]) -> Cause | None:
    """Return the first cause of the tables that the log tells, the engine's own before GENERAL."""
    for failure in (*failures, *GENERAL):
        if match := re.search(failure.pattern, log):
            begin = log.rfind("\n", 0, match.start()) + 1
            end = log.find("\n", match.end())
            line = " ".join(log[begin : end if end >= 0 else None].split())
            return Cause(failure.kind, line[:400], ADVICE[failure.kind])
    return None
