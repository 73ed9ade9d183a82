"""llama.cpp as an engine: how labkit's knobs become its own, and what it tells while it runs.

The server is a process of its own (llamacpp_server.py under the guard); this module must not
import xllamacpp, so that a report can be built where it is not installed.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from labkit.address import read_key
from labkit.engines.flags import SECRET
from labkit.engines.model import find_model, name_model
from labkit.engines.process import HOST, EngineProcess, check_port, choose_port, start
from labkit.engines.scrape import ERRORS, Sample, count_tokens, get_json, get_text, map_llamacpp
from labkit.environment import count_cores
from labkit.errors import EngineError, ParamsError
from labkit.params import EngineParams

SERVER = Path(__file__).with_name("llamacpp_server.py")
MARK_EFFECTIVE = "labkit-effective "
MARK_ERROR = "labkit-error "

REFUSED = {
    "enable_chunked_prefill": "it always cuts prompts into chunks of engine.max_num_batched_tokens",
    "gpu_memory_utilization": "its KV cache is engine.max_model_len for each of "
    "engine.max_num_seqs, and extra_args n_gpu_layers says what the GPU holds",
    "block_size": "its KV cache has no blocks; engine.max_model_len is its size per sequence",
    "scheduling_policy": "it serves first come first served; engine.static_batching makes its "
    "batching static",
    "executable": "it runs inside labkit's own Python",
}
TAKEN = {
    "model": "model",
    "port": "port",
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
ALWAYS_TAKEN = ("model", "port", "hostnames", "api_prefix", "endpoint_metrics", "endpoint_slots")


class LlamaCppEngine:
    """A llama.cpp server that labkit launched; `base_url` ends with /v1."""

    def __init__(self, process: EngineProcess, command: list[str], port: int, model: str) -> None:
        """Take over a started server; it need not be ready."""
        self.base_url = f"http://{HOST}:{port}/v1"
        self.model = model
        self.command = command
        self.port = port
        self._root = f"http://{HOST}:{port}"
        self._process = process
        self._told: dict[str, Any] = {}

    @property
    def pid(self) -> int | None:
        """The pid of the server."""
        return self._process.pid

    def wait_ready(self, timeout_s: float) -> None:
        """Wait until it answers, and read what it says it works with; raises EngineError."""
        try:
            self._process.wait_ready(self._answers, port=self.port, timeout_s=timeout_s)
        except EngineError:
            if reason := _find_line(self._process.read_log(), MARK_ERROR):
                raise EngineError(
                    f"expected llama.cpp to start, found: {json.loads(reason)}; "
                    f"{self._process.tail()}"
                ) from None
            raise
        effective = _find_line(self._process.read_log(), MARK_EFFECTIVE)
        self._told = json.loads(effective) if effective else {}

    def effective(self) -> dict[str, Any]:
        """Return the knobs as the running server has them; raises EngineError if it can't tell."""
        slots = self._get("/slots")
        return {
            "max_num_seqs": len(slots),
            "max_model_len": min((int(slot["n_ctx"]) for slot in slots), default=None),
            "max_num_batched_tokens": self._told.get("n_batch"),
            "enable_prefix_caching": self._told.get("cache_prompt"),
            "num_threads": self._told.get("n_threads"),
            "static_batching": not self._told.get("cont_batching", True),
        }

    def sample(self) -> Sample:
        """Return one look at /metrics and /slots; raises EngineError if they don't answer."""
        slots = self._get("/slots")
        unified = bool(self._told.get("kv_unified"))
        static = not self._told.get("cont_batching", True)
        try:
            text = get_text(f"{self._root}/metrics")
            return map_llamacpp(text, slots, unified=unified, static=static)
        except ERRORS as error:
            raise self._explain("/metrics", error) from None

    def request_options(self) -> dict[str, Any]:
        """Return what makes a completion exactly max_tokens long."""
        return {"ignore_eos": True}

    def count_tokens(self, text: str) -> int:
        """Return how many tokens a text has for its model; raises EngineError if it can't tell."""
        try:
            return count_tokens(self._root, text, flavour="llamacpp", model=self.model)
        except ERRORS as error:
            raise self._explain("/tokenize", error) from None

    def reset_cache(self) -> bool:
        """Erase what every slot holds; raises EngineError if it can't."""
        for number in range(len(self._get("/slots"))):
            path = f"/slots/{number}?action=erase"
            try:
                get_text(f"{self._root}{path}", body={})
            except ERRORS as error:
                raise self._explain(path, error) from None
        return True

    def pids(self) -> list[int]:
        """Return the pids of the server and its descendants."""
        return self._process.pids()

    def check(self) -> None:
        """Raise EngineError with the end of the log if the server ended."""
        self._process.check()

    def stop(self) -> None:
        """End the server and wait until it is gone and its port is free."""
        self._process.stop(self.port)

    def _answers(self) -> bool:
        # Its own line comes first: before that, whoever answers on the port is somebody else.
        if _find_line(self._process.read_log(), MARK_EFFECTIVE) is None:
            return False
        try:
            return bool(get_json(f"{self._root}/health").get("status") == "ok")
        except ERRORS:
            return False

    def _get(self, path: str) -> Any:
        try:
            return get_json(f"{self._root}{path}")
        except ERRORS as error:
            raise self._explain(path, error) from None

    def _explain(self, path: str, error: Exception) -> EngineError:
        try:
            self.check()
        except EngineError as ended:
            return ended
        return EngineError(f"expected an answer from {self._root}{path}, found: {error}")


def launch(params: EngineParams, *, folder: Path) -> LlamaCppEngine:
    """Start a server and return it once it is ready; nothing is left of one that fails.

    Raises ParamsError for wrong params and EngineError if it does not come up.
    """
    check(params)
    port = params.port or choose_port()
    command = build_command(params, port)
    process = start(command, log=folder / "engine.log", env={**os.environ, **params.env})
    try:
        engine = LlamaCppEngine(process, command, port, name_model(params.model))
        engine.wait_ready(params.start_timeout_s)
    except BaseException:
        process.stop()
        raise
    return engine


def build_command(params: EngineParams, port: int) -> list[str]:
    """Return the command of the server; raises ParamsError for a knob that it does not have."""
    _check_knobs(params)
    command = [sys.executable, "-P", str(SERVER), "--model", str(find_model(params.model))]
    command += ["--alias", name_model(params.model), "--port", str(port)]
    command += ["--threads", str(params.num_threads or default_threads())]
    for option, value in (
        ("--parallel", params.max_num_seqs),
        ("--batch-size", params.max_num_batched_tokens),
        ("--ctx-per-slot", params.max_model_len),
    ):
        if value is not None:
            command += [option, str(value)]
    if params.enable_prefix_caching is not None:
        command += ["--cache-prompt", str(params.enable_prefix_caching).lower()]
    if params.static_batching is not None:
        command += ["--set", f"cont_batching={json.dumps(not params.static_batching)}"]
    for name, value in params.extra_args.items():
        command += ["--set", f"{name}={json.dumps(value)}"]
    return command


def check(params: EngineParams) -> None:
    """Raise ParamsError for what can be known beforehand: knobs, model, xllamacpp, port."""
    command = build_command(params, 0)
    if not is_installed():
        raise ParamsError(
            "expected the package xllamacpp for engine.kind llamacpp, found it not installed; "
            "run `make setup` or use engine.kind endpoint"
        )
    check_port(params.port)
    read_key(params.api_key_env)
    if params.extra_args:
        done = subprocess.run(
            [*command, "--check"],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode != 0:
            told = _find_line(done.stdout, MARK_ERROR)
            reason = json.loads(told) if told else " ".join(done.stderr.split())[-300:]
            raise ParamsError(f"engine.extra_args: {reason}")


def is_installed() -> bool:
    """Return whether the package with the server is here."""
    return importlib.util.find_spec("xllamacpp") is not None


def default_threads() -> int:
    """Return one thread less than the cores this process may use, so that the client has one."""
    return max(1, int(count_cores()) - 1)


def _check_knobs(params: EngineParams) -> None:
    for knob, nearest in REFUSED.items():
        if (found := getattr(params, knob)) is not None:
            raise ParamsError(
                f"expected no engine.{knob} for llamacpp, found {found!r}: {nearest}; leave it out"
            )
    for name in params.extra_args:
        if SECRET.search(name):
            raise ParamsError(
                f"expected no secret in engine.extra_args, found {name}: its value would be "
                f"written into the run folder, and labkit calls its own engine without a key; "
                f"leave it out"
            )
        own = TAKEN.get(name)
        if name in ALWAYS_TAKEN or (own is not None and getattr(params, own) is not None):
            way = f"set engine.{own} only" if own else "leave it out, labkit sets it"
            raise ParamsError(f"expected no engine.extra_args.{name} beside labkit's own; {way}")


def _find_line(text: str, mark: str) -> str | None:
    """Return what follows the mark in the last whole line that holds it."""
    for line in reversed(text.splitlines(keepends=True)):
        _, found, rest = line.partition(mark)
        if found and line.endswith("\n"):
            return rest.strip()
    return None
