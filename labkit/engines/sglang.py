"""SGLang as labkit launches it: `sglang serve`, in tables.

Checked against SGLang 0.5.23. Readiness is asked of /ready, as /health generates a token each time.
Its load is published at every decode step, as it would otherwise stand still for 15. It must not
import sglang, which lives in an environment of its own.
"""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from labkit.engines.adapter import Launch
from labkit.engines.failures import Failure
from labkit.engines.flags import (
    Absent,
    Flag,
    Knob,
    Switch,
    read_model,
    say_extra_args,
    say_knobs,
)
from labkit.engines.interpreter import find_interpreter
from labkit.engines.process import HOST
from labkit.engines.scrape import Site
from labkit.engines.sglang_looks import learn as learn
from labkit.engines.sglang_looks import read_effective as read_effective
from labkit.engines.sglang_looks import sample as sample
from labkit.errors import ParamsError
from labkit.params import EngineParams

TITLE = "SGLang"
PROGRAM = "sglang"
REQUIRES = None
METRIC_PREFIX = "sglang:"
READY = "/ready"
READY_LINE = None
EVERY_STEP = [
    "--enable-metrics",
    "--decode-log-interval",
    "1",
    "--load-snapshot-publish-interval",
    "1",
]
PROBE = Path(__file__).parent / "probes" / "sglang_flags.py"

KNOBS: dict[str, Knob] = {
    "max_num_seqs": Flag("--max-running-requests"),
    "max_num_batched_tokens": Absent(
        "it has no budget for prompt and decode tokens together; the nearest are "
        "engine.extra_args chunked-prefill-size (prompt tokens of one step) and max-prefill-tokens"
    ),
    "max_model_len": Flag("--context-length"),
    "enable_chunked_prefill": Switch(off=("--chunked-prefill-size", "-1")),
    "enable_prefix_caching": Switch(off=("--disable-radix-cache",)),
    "gpu_memory_utilization": Flag("--mem-fraction-static"),
    "block_size": Flag("--page-size"),
    "scheduling_policy": Flag("--schedule-policy"),
    "num_threads": Absent(
        "on a CPU engine.env SGLANG_CPU_OMP_THREADS_BIND says which cores it uses, such as 0-1"
    ),
}

RENAMED = {
    "enable-radix-cache": "it never was a flag; set engine.enable_prefix_caching",
    "enable-prefix-caching": "that is vLLM's word; set engine.enable_prefix_caching",
    "enable-chunked-prefill": "that is vLLM's word; set engine.enable_chunked_prefill",
    "max-num-seqs": "that is vLLM's word; set engine.max_num_seqs",
    "max-num-batched-tokens": "that is vLLM's word; the nearest is chunked-prefill-size",
    "gpu-memory-utilization": "that is vLLM's word; set engine.gpu_memory_utilization",
    "scheduling-policy": "that is vLLM's word; set engine.scheduling_policy",
    "disable-log-requests": "requests are not logged unless log-requests is given; leave it out",
}

TAKEN = {
    "host": None,
    "port": "port",
    "model": None,
    "model-path": None,
    "served-model-name": None,
    "enable-metrics": None,
    "decode-log-interval": None,
    "load-snapshot-publish-interval": None,
    "min-free-slots-delay": "static_batching",
    "disable-radix-cache": "enable_prefix_caching",
    **{knob.name.lstrip("-"): name for name, knob in KNOBS.items() if isinstance(knob, Flag)},
}

FAILURES = (
    Failure("unknown_flag", r"error: unrecognized arguments:"),
    Failure("unknown_flag", r"error: (?:argument --[\w/ -]+: |ambiguous option)"),
    Failure("bad_combination", r"chunked_prefill_size must be divisible by page_size"),
    Failure("bad_combination", r"To use priority scheduling, schedule_policy must be"),
    Failure("bad_combination", r"--retraction-policy priority requires"),
    Failure("bad_combination", r"--min-free-slots-delay is not supported with pipeline"),
    Failure("bad_combination", r"served_model_name cannot contain a colon"),
    Failure("bad_combination", r"enable-hierarchical-cache and disable-radix-cache are mutually"),
    Failure("context_too_long", r"context_length \(\d+\) is greater than the derived"),
    Failure("kv_too_small", r"Loaded weights leave no GPU memory for the KV cache"),
    Failure("kv_too_small", r"Not enough memory\. Please try to increase --mem-fraction-static"),
    Failure("oom_profile", r"Capture (?:prefill )?(?:CUDA|cuda) graph failed"),
    Failure("model_not_found", r"Repo id must (?:be in the form|use)|couldn't connect to|"
            r"is not a valid model identifier|Repository Not Found|is not a local folder"),
    Failure("oom_run", r"(?:Prefill|Decode) out of memory"),
    Failure("oom_run", r"event_loop_\w+[\s\S]*(?:OutOfMemoryError|CUDA out of memory)"),
    Failure("oom_profile", r"alloc_memory_pool[\s\S]*(?:OutOfMemoryError|CUDA out of memory)"),
    Failure("oom_load", r"OutOfMemoryError|CUDA out of memory"),
)  # fmt: skip


def build_launch(params: EngineParams, port: int, program: str, folder: Path) -> Launch:
    """Return `sglang serve` with every knob that is set."""
    model = read_model(params, TITLE)
    said = say_knobs(params, KNOBS, TITLE)
    command = [program, "serve", "--model-path", model, "--host", HOST, "--port", str(port)]
    command += ["--served-model-name", name_served(params)]
    command += [*EVERY_STEP, *said.flags]
    if params.static_batching:
        command += ["--min-free-slots-delay", str(_count_slots(params))]
    taken: dict[str, str | None] = dict(TAKEN)
    if params.enable_chunked_prefill is False:
        taken["chunked-prefill-size"] = "enable_chunked_prefill"
    command += say_extra_args(params, taken=taken, renamed=RENAMED)
    return Launch(command, params.env)


def _count_slots(params: EngineParams) -> int:
    """Return the slots that must be free before anybody is admitted: all of them."""
    if params.max_num_seqs is None or params.max_num_seqs < 2:
        raise ParamsError(
            f"expected engine.max_num_seqs of 2 or more beside engine.static_batching for {TITLE}, "
            f"found {params.max_num_seqs}; set it, as a batch waits until that many slots are free"
        )
    return params.max_num_seqs


def check_launches(program: str, launches: Sequence[Launch]) -> list[str | None]:
    """Let the installed SGLang parse each command and check its combinations; about 15 s in all."""
    told: dict[int, str | None] = {}
    groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for index, launch in enumerate(launches):
        groups.setdefault(tuple(sorted(launch.env.items())), []).append(index)
    for env, indices in groups.items():
        commands = [launches[index].command[2:] for index in indices]
        told |= zip(indices, _probe(program, commands, dict(env)), strict=True)
    return [told[index] for index in range(len(launches))]


def _probe(program: str, commands: list[list[str]], env: dict[str, str]) -> list[str | None]:
    done = subprocess.run(
        [find_interpreter(program), str(PROBE)],
        input=json.dumps(commands),
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("labkit-told "):
            told: list[str | None] = json.loads(line.removeprefix("labkit-told "))
            return told
    reason = " ".join(done.stderr.split())[-300:] or f"exit code {done.returncode}"
    return [f"its parser did not run: {reason}"] * len(commands)


def name_served(params: EngineParams) -> str:
    """Return the last part of the model's path or hub name."""
    return Path(str(params.model)).name


def request_options() -> dict[str, Any]:
    """Return what keeps a completion from ending before max_tokens."""
    return {"ignore_eos": True}


def count_tokens(site: Site, text: str, model: str) -> int | None:
    """Return the tokens of a text by /tokenize."""
    body = {"model": model, "prompt": text, "add_special_tokens": False}
    return int(site.json("/tokenize", body, timeout_s=30.0)["count"])


def reset_cache(site: Site) -> bool:
    """Forget every cached prefix; it waits up to 10 s until nothing runs."""
    site.text("/flush_cache?timeout=10", {}, timeout_s=30.0)
    return True
