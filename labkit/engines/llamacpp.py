"""llama.cpp as labkit launches it: the server inside the package xllamacpp, in tables.

The server is a process of its own (llamacpp_server.py under labkit's Python, or under the one that
engine.executable names); this module must not import xllamacpp, so that a report can be built where
it is not installed.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from labkit.engines.adapter import Launch
from labkit.engines.failures import Failure
from labkit.engines.flags import SECRET, Absent, Flag, Knob, Switch, say_knobs
from labkit.engines.model import find_model, name_model
from labkit.engines.process import HOST
from labkit.engines.scrape import Sample, Site, map_llamacpp
from labkit.environment import count_cores
from labkit.errors import ParamsError
from labkit.params import EngineParams

TITLE = "llama.cpp"
PROGRAM = sys.executable
REQUIRES = "xllamacpp"
METRIC_PREFIX = "llamacpp:"
READY = "/health"
READY_LINE = "labkit-effective "
"""Its own line comes first: before that, whoever answers on the port is somebody else."""
MARK_ERROR = "labkit-error "
SERVER = Path(__file__).with_name("llamacpp_server.py")

KNOBS: dict[str, Knob] = {
    "max_num_seqs": Flag("--parallel"),
    "max_num_batched_tokens": Flag("--batch-size"),
    "max_model_len": Flag("--ctx-per-slot"),
    "enable_chunked_prefill": Absent(
        "it always cuts prompts into chunks of engine.max_num_batched_tokens"
    ),
    "enable_prefix_caching": Switch(("--cache-prompt", "true"), ("--cache-prompt", "false")),
    "gpu_memory_utilization": Absent(
        "its KV cache is engine.max_model_len for each of engine.max_num_seqs, and extra_args "
        "n_gpu_layers says what the GPU holds"
    ),
    "block_size": Absent(
        "its KV cache has no blocks; engine.max_model_len is its size per sequence"
    ),
    "scheduling_policy": Absent(
        "it serves first come first served; engine.static_batching makes its batching static"
    ),
    "num_threads": Flag("--threads"),
}

RENAMED = {
    "parallel": "that is llama-server's; set engine.max_num_seqs",
    "np": "that is llama-server's; set engine.max_num_seqs",
    "batch-size": "that is llama-server's; set engine.max_num_batched_tokens",
    "ctx-size": "that is llama-server's and holds all sequences; set engine.max_model_len, which "
    "is the context of one",
    "threads": "that is llama-server's; set engine.num_threads",
    "no-cont-batching": "that is llama-server's; set engine.static_batching",
    "n-gpu-layers": "that is llama-server's; write n_gpu_layers",
    "ngl": "that is llama-server's; write n_gpu_layers",
    "max-num-seqs": "that is vLLM's word; set engine.max_num_seqs",
    "max-num-batched-tokens": "that is vLLM's word; set engine.max_num_batched_tokens",
    "max-model-len": "that is vLLM's word; set engine.max_model_len",
}

TAKEN: dict[str, str | None] = {
    "model": None,
    "port": None,
    "hostnames": None,
    "api_prefix": None,
    "endpoint_metrics": None,
    "endpoint_slots": None,
    "n_parallel": "max_num_seqs",
    "n_batch": "max_num_batched_tokens",
    "n_ctx": "max_model_len",
    "cache_prompt": "enable_prefix_caching",
    "cont_batching": "static_batching",
    "cpuparams.n_threads": "num_threads",
    "cpuparams_batch.n_threads": "num_threads",
}

FAILURES = (
    Failure("unknown_flag", r"labkit-error .*(?:is not an attribute of|does not take)"),
    Failure("kv_too_small", r"failed to allocate buffer for kv cache"),
    Failure("oom_run", r"CUDA error: out of memory"),
    Failure("oom_load", r"unable to allocate \w+ buffer|cudaMalloc failed: out of memory|"
            r"failed to allocate .*buffer"),
    Failure("port_in_use", r"couldn't bind HTTP server socket"),
    Failure("model_not_found", r"failed to load model|error loading model"),
)  # fmt: skip


def build_launch(params: EngineParams, port: int, program: str, folder: Path) -> Launch:
    """Return the server's command; raises ParamsError, also for a model that is not there."""
    said = say_knobs(params, KNOBS, TITLE)
    command = [program, "-P", str(SERVER), "--model", str(find_model(params.model))]
    command += ["--alias", name_model(params.model), "--host", HOST, "--port", str(port)]
    if params.num_threads is None:
        command += ["--threads", str(default_threads())]
    command += said.flags
    if params.static_batching is not None:
        command += ["--set", f"cont_batching={json.dumps(not params.static_batching)}"]
    return Launch([*command, *_say_extra_args(params)], {**said.env, **params.env})


def check_launches(program: str, launches: Sequence[Launch]) -> list[str | None]:
    """Ask the server about attributes of its own that are set; without such there is no doubt."""
    return [_check(launch.command) for launch in launches]


def name_served(params: EngineParams) -> str:
    """Return the name of the model's file."""
    return name_model(params.model)


def learn(site: Site, log: str) -> dict[str, Any]:
    """Return what the server says that it works with; nothing of one that labkit didn't launch."""
    told = _find_line(log, READY_LINE)
    return dict(json.loads(told)) if told else {}


def read_effective(site: Site, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the knobs as the running server has them."""
    slots = list(site.json("/slots"))
    return {
        "max_num_seqs": len(slots),
        "max_model_len": min((int(slot["n_ctx"]) for slot in slots), default=None),
        "max_num_batched_tokens": told.get("n_batch"),
        "enable_prefix_caching": told.get("cache_prompt"),
        "num_threads": told.get("n_threads"),
        "static_batching": not told.get("cont_batching", True),
    }


def sample(site: Site, told: Mapping[str, Any]) -> Sample:
    """Return one look at /metrics and /slots."""
    return map_llamacpp(
        site.text("/metrics"),
        list(site.json("/slots")),
        unified=bool(told.get("kv_unified")),
        static=not told.get("cont_batching", True),
    )


def request_options() -> dict[str, Any]:
    """Return what keeps a completion from ending before max_tokens."""
    return {"ignore_eos": True}


def count_tokens(site: Site, text: str, model: str) -> int | None:
    """Return the tokens of a text by /tokenize, special ones not counted."""
    body = {"content": text, "add_special": False}
    return len(site.json("/tokenize", body, timeout_s=30.0)["tokens"])


def reset_cache(site: Site) -> bool:
    """Erase what every slot holds."""
    for number in range(len(site.json("/slots"))):
        site.text(f"/slots/{number}?action=erase", {})
    return True


def default_threads() -> int:
    """Return one thread less than the cores this process may use, so that the client has one."""
    return max(1, int(count_cores()) - 1)


def _say_extra_args(params: EngineParams) -> list[str]:
    flags: list[str] = []
    for given, value in params.extra_args.items():
        name = given.lstrip("-")
        if SECRET.search(name.replace("-", "_")):
            raise ParamsError(
                f"expected no secret in engine.extra_args, found {given}: its value would be "
                f"written into the run folder, and labkit calls its own engine without a key; "
                f"leave it out"
            )
        if told := RENAMED.get(name.replace("_", "-")):
            raise ParamsError(
                f"expected attributes of llama.cpp's CommonParams in engine.extra_args, found "
                f"{given}: {told}"
            )
        if name in TAKEN:
            knob = TAKEN[name]
            if knob is None or getattr(params, knob) is not None:
                way = f"set engine.{knob} only" if knob else "leave it out, labkit sets it"
                raise ParamsError(
                    f"expected no engine.extra_args.{given} beside labkit's own; {way}"
                )
        flags += ["--set", f"{name}={json.dumps(value)}"]
    return flags


def _check(command: Sequence[str]) -> str | None:
    if "--set" not in command:
        return None
    done = subprocess.run(
        [*command, "--check"],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode == 0:
        return None
    told = _find_line(done.stdout, MARK_ERROR)
    reason = json.loads(told) if told else " ".join(done.stderr.split())[-300:]
    return f"engine.extra_args: {reason}"


def _find_line(text: str, mark: str) -> str | None:
    """Return what follows the mark in the last whole line that holds it."""
    for line in reversed(text.splitlines(keepends=True)):
        _, found, rest = line.partition(mark)
        if found and line.endswith("\n"):
            return rest.strip()
    return None
