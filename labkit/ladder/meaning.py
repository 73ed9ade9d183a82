"""What the words of a refusal mean, and what to do: a table and a text in, two sentences out.

Pure. It must not know which step asked, nor how.
"""

import re
from dataclasses import dataclass

from labkit.engines.failures import ADVICE, Kind

ENDED: dict[Kind, str] = {
    "oom_load": "the weights do not fit into its memory",
    "oom_profile": "its memory was full in its trial run",
    "oom_run": "its memory was full while it served",
    "kv_too_small": "no memory is left for its KV cache",
    "context_too_long": "the context is longer than the model's",
    "unknown_flag": "it does not know a setting",
    "bad_combination": "two settings exclude each other",
    "model_not_found": "the model can't be loaded",
    "model_gated": "the model is behind a licence",
    "port_in_use": "its port is taken",
    "no_driver": "the GPU's driver is missing",
}
"""Why an engine ended, in words."""
UNTAKEN = "it does not take this field"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a text that matches `pattern` means, and what to do about it."""

    pattern: str
    meaning: str
    advice: str
    grave: bool = False
    """Whether it is a failure even where only something optional was asked for."""


MEANINGS = (
    Meaning(
        r"out of memory|OutOfMemory|cudaMalloc failed",
        "the memory of the device is full",
        ADVICE["oom_run"],
        grave=True,
    ),
    Meaning(
        r"context (?:length|size|window)|max_model_len|maximum (?:model|allowed) length|"
        r"longer than the maximum|exceed_context_size|must have less than \d+ tokens|"
        r"must be <= \d+|exceeds? .*max_(?:seq_len|total_tokens|num_tokens)",
        "prompt and completion together do not fit into its context",
        "shorten workload.prompt_tokens or workload.completion_tokens, or raise "
        "engine.max_model_len",
    ),
    Meaning(
        r"chat[ _]template",
        "the model has no chat template",
        "keep workload.endpoint at completions, or give the engine a chat template",
    ),
    Meaning(
        r"model\b.{0,80}(?:not (?:found|exist|served|available)|does ?n.t exist|unknown|invalid|"
        r"no such)|(?:unknown|invalid|no such|unsupported) model",
        "the model id is not a name that it serves",
        "set engine.model, or model_id of the provider, to a name that /v1/models lists",
    ),
    Meaning(
        r"loading model|still loading|warming up|not ready",
        "it is still loading",
        "wait until it is ready and try again",
    ),
    Meaning(
        r"insufficient|quota|billing|credit",
        "the account has no credit left",
        "see the account of this key at the provider",
        grave=True,
    ),
    Meaning(
        r"unrecogni[sz]ed|unknown (?:field|parameter|argument|name)|unexpected|"
        r"extra (?:inputs|fields)|not permitted|unsupported|not support|not implemented|"
        r"not (?:allowed|available)|disabled",
        UNTAKEN,
        "leave it out for this endpoint, or take a version that has it",
    ),
)  # fmt: skip


def find_meaning(said: str) -> Meaning | None:
    """Return the first meaning of the table whose pattern is in the text, None for other words."""
    return next((one for one in MEANINGS if re.search(one.pattern, said, re.I | re.S)), None)
