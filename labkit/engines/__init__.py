"""Engines: launched or found, asked for their effective settings, looked at, stopped.

An engine must not know the load, the plan or the records; whoever opens one gets it ready.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from labkit.engines import endpoint, launched, llamacpp, sglang, tensorrt_llm, tgi, vllm
from labkit.engines.adapter import Adapter
from labkit.engines.flags import Absent
from labkit.params import EngineParams

ADAPTERS: Mapping[str, Adapter] = {
    "vllm": vllm,
    "sglang": sglang,
    "tensorrt_llm": tensorrt_llm,
    "tgi": tgi,
    "llamacpp": llamacpp,
}
"""engine.kind -> the module that knows it; what runs already (endpoint) stands beside."""


class Engine(Protocol):
    """A ready engine, launched by labkit or found running."""

    @property
    def base_url(self) -> str:
        """Where the OpenAI API is; of a launched engine it ends with /v1."""

    @property
    def model(self) -> str:
        """The name that it serves the model under."""

    @property
    def command(self) -> list[str]:
        """What it was launched with; empty for one that already ran."""

    @property
    def pid(self) -> int | None:
        """Its process, or None for one that labkit did not launch."""

    def effective(self) -> dict[str, Any]:
        """Return canonical knob -> value as read back from the running engine."""

    def sample(self) -> dict[str, float | int | None]:
        """Return one look at it under labkit's names, None for unknown; raises EngineError."""

    def request_options(self) -> dict[str, Any]:
        """Return the fields of a request body that fix the length of a completion."""

    @property
    def count_tokens(self) -> Callable[[str], int] | None:
        """What counts the tokens of a text in the model's vocabulary, None where it can't tell."""

    def reset_cache(self) -> bool:
        """Forget every cached prefix and return True; False where it isn't labkit's to forget."""

    def pids(self) -> list[int]:
        """Return its whole process tree."""

    def check(self) -> None:
        """Raise EngineError with the end of its log if the process died."""


@contextmanager
def open_engine(params: EngineParams, *, folder: Path) -> Iterator[Engine]:
    """Yield a ready engine, and stop it whatever happens; its log is folder/engine.log.

    Raises ParamsError for a wrong request, EngineError if it doesn't start or isn't ours, and
    EndpointError if a running one doesn't answer.
    """
    if params.kind == "endpoint":
        yield endpoint.connect(params, list(ADAPTERS.values()))
        return
    engine = launched.launch(ADAPTERS[params.kind], params, folder=folder)
    try:
        yield engine
    finally:
        engine.stop()


def explain_command(params: EngineParams) -> list[str]:
    """Return the command that would launch the engine, with port 0 for one to be chosen.

    It is empty for an endpoint; nothing is launched. Raises ParamsError.
    """
    if params.kind == "endpoint":
        return []
    return launched.explain(ADAPTERS[params.kind], params)


def check_engines(engines: Sequence[EngineParams], *, dry_run: bool = False) -> None:
    """Raise ParamsError for what can be known before a launch: knobs, model, program, port.

    For a dry run the program need not be installed; what it alone could tell is then not asked.
    Those of one kind and program are checked together, as an engine's own parser is slow to start.
    """
    groups: dict[tuple[str, str | None], list[EngineParams]] = {}
    for params in engines:
        launched.check_env(params)
        if dry_run and find_absent(params):
            explain_command(params)
        elif params.kind == "endpoint":
            endpoint.check(params)
        else:
            group = groups.setdefault((params.kind, params.executable), [])
            if params not in group:
                group.append(params)
    for (kind, _), group in groups.items():
        launched.check_launches(ADAPTERS[kind], group)


def check_asked(params: EngineParams, *, dry_run: bool = False) -> None:
    """Raise what `check_engines` does, but for the proxy and the key of an endpoint.

    They are left to be told when it is asked.
    """
    if params.kind != "endpoint":
        check_engines([params], dry_run=dry_run)
        return
    launched.check_env(params)
    endpoint.check_place(params)


def list_absent(kind: str) -> list[str]:
    """Return the knobs that an engine does not have, whatever their value."""
    if kind == "endpoint":
        return list(endpoint.UNSETTABLE)
    return [name for name, knob in ADAPTERS[kind].KNOBS.items() if isinstance(knob, Absent)]


def find_absent(params: EngineParams) -> str | None:
    """Return, in words, what isn't installed here of what would launch the engine, or None."""
    if params.kind == "endpoint":
        return None
    adapter = ADAPTERS[params.kind]
    program = params.executable or adapter.REQUIRES or adapter.PROGRAM
    return None if launched.is_installed(adapter, params) else f"{adapter.TITLE} ({program})"
