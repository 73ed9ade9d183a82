"""Engines: launched or found, asked for their effective settings, looked at, stopped.

An engine must not know the load, the plan or the records; whoever opens one gets it ready.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from labkit.params import EngineParams


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
        from labkit.engines.endpoint import connect

        yield connect(params)
        return
    from labkit.engines.llamacpp import launch

    engine = launch(params, folder=folder)
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
    from labkit.engines.llamacpp import build_command

    return build_command(params, params.port or 0)


def check_engine(params: EngineParams) -> None:
    """Raise ParamsError for what can be known before a launch: knobs, model, package, port."""
    if params.kind == "endpoint":
        from labkit.engines.endpoint import check

        check(params)
        return
    from labkit.engines.llamacpp import check as check_llamacpp

    check_llamacpp(params)
