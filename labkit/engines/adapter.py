"""What labkit must know of an engine that it launches: tables, and a few functions beside them.

An adapter is a module with the names below; `labkit/engines/__init__.py` lists them. Launching,
waiting, watching and stopping are the same for all and are not an adapter's business. It must not
know processes, plans or records.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from labkit.engines.failures import Failure
from labkit.engines.flags import Knob
from labkit.engines.scrape import Sample, Site
from labkit.params import EngineParams


@dataclass(frozen=True, slots=True)
class Launch:
    """How an engine is started: its command, what is added to the environment, and files."""

    command: list[str]
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    """Name -> text; written into the folder of the log before the start."""


class Adapter(Protocol):
    """One engine in labkit's words."""

    @property
    def TITLE(self) -> str:
        """Its name as its makers write it."""

    @property
    def PROGRAM(self) -> str:
        """The program on the PATH that starts it, unless `engine.executable` names another."""

    @property
    def REQUIRES(self) -> str | None:
        """The package that PROGRAM needs where it is labkit's own Python; None for any other."""

    @property
    def KNOBS(self) -> Mapping[str, Knob]:
        """labkit's knob -> how this engine is told, or what it has instead."""

    @property
    def RENAMED(self) -> Mapping[str, str]:
        """A flag that people still write, without dashes before it -> what to write today."""

    @property
    def FAILURES(self) -> Sequence[Failure]:
        """What its log says when it fails; the first that matches is the cause."""

    @property
    def READY(self) -> str:
        """A path that answers 200 once requests are served, and never generates anything."""

    @property
    def READY_LINE(self) -> str | None:
        """What its log must hold by then; None where the page alone tells."""

    @property
    def METRIC_PREFIX(self) -> str:
        """How the names of its metrics begin, so that one that runs already is recognised."""

    def build_launch(self, params: EngineParams, port: int, program: str, folder: Path) -> Launch:
        """Return what starts it on the loopback; raises ParamsError for what it can't do.

        `folder` is where `files` will lie; nothing is written or looked up here.
        """

    def check_launches(self, program: str, launches: Sequence[Launch]) -> list[str | None]:
        """Return, for each, what the installed engine's own parser says against it, or None."""

    def name_served(self, params: EngineParams) -> str:
        """Return the name that it serves the model under."""

    def learn(self, site: Site, log: str) -> dict[str, Any]:
        """Return, once it is ready, what it tells of itself that later calls need."""

    def read_effective(self, site: Site, told: Mapping[str, Any]) -> dict[str, Any]:
        """Return knob -> value as the running engine has it, only those that it tells."""

    def sample(self, site: Site, told: Mapping[str, Any]) -> Sample:
        """Return one look at it; raises one of scrape.ERRORS."""

    def request_options(self) -> dict[str, Any]:
        """Return the fields of a request body that fix the length of a completion."""

    def count_tokens(self, site: Site, text: str, model: str) -> int | None:
        """Return the tokens of a text, special ones not counted; None where it can't tell."""

    def reset_cache(self, site: Site) -> bool:
        """Forget every cached prefix and return True; False where it has no way to."""
