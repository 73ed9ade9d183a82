"""An engine that labkit launches: started, waited for, asked, watched and stopped, whichever it is.

What differs between engines is in their adapters; this module must not know any of them.
"""

import os
import shutil
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from labkit.address import read_key
from labkit.engines.adapter import Adapter, Launch
from labkit.engines.failures import find_cause
from labkit.engines.flags import SECRET
from labkit.engines.process import HOST, EngineProcess, check_port, choose_port, start
from labkit.engines.scrape import ERRORS, Sample, Site
from labkit.errors import EngineError, ParamsError
from labkit.params import EngineParams

T = TypeVar("T")


class LaunchedEngine:
    """A server that labkit launched; `base_url` ends with /v1."""

    def __init__(
        self, adapter: Adapter, process: EngineProcess, launch: Launch, port: int, model: str
    ) -> None:
        """Take over a started server; it need not be ready."""
        self.base_url = f"http://{HOST}:{port}/v1"
        self.model = model
        self.command = [*(f"{name}={value}" for name, value in launch.env.items()), *launch.command]
        self.port = port
        self._adapter = adapter
        self._process = process
        self._site = Site(f"http://{HOST}:{port}")
        self._told: dict[str, Any] = {}

    @property
    def pid(self) -> int | None:
        """The pid of the server."""
        return self._process.pid

    def wait_ready(self, timeout_s: float) -> None:
        """Wait until it answers, and learn what it tells of itself; raises EngineError."""
        try:
            self._process.wait_ready(self._answers, port=self.port, timeout_s=timeout_s)
            self._told = self._adapter.learn(self._site, self._process.read_log())
        except ERRORS as error:
            raise EngineError(f"expected {self._adapter.TITLE} to tell of itself, found: {error}") \
                from None  # fmt: skip
        except EngineError as error:
            raise self._classify(error) from None

    def effective(self) -> dict[str, Any]:
        """Return the knobs as the running server has them; raises EngineError if it can't tell."""
        return self._ask(lambda: self._adapter.read_effective(self._site, self._told))

    def sample(self) -> Sample:
        """Return one look at it; raises EngineError if it does not answer."""
        return self._ask(lambda: self._adapter.sample(self._site, self._told))

    def request_options(self) -> dict[str, Any]:
        """Return what makes a completion exactly max_tokens long."""
        return self._adapter.request_options()

    @property
    def count_tokens(self) -> Callable[[str], int] | None:
        """What counts the tokens of a text, None where the engine has no way to ask."""
        if self._ask(lambda: self._adapter.count_tokens(self._site, "a", self.model)) is None:
            return None
        return self._count

    def reset_cache(self) -> bool:
        """Forget every cached prefix; False where it has no way to."""
        return self._ask(lambda: self._adapter.reset_cache(self._site))

    def pids(self) -> list[int]:
        """Return the pids of the server and its descendants."""
        return self._process.pids()

    def check(self) -> None:
        """Raise EngineError with the cause and the end of the log if the server ended."""
        try:
            self._process.check()
        except EngineError as error:
            raise self._classify(error) from None

    def stop(self) -> None:
        """End the server and wait until it is gone and its port is free."""
        self._process.stop(self.port)

    def _answers(self) -> bool:
        line = self._adapter.READY_LINE
        if line is not None and line not in self._process.read_log():
            return False
        try:
            self._site.text(self._adapter.READY)
        except ERRORS:
            return False
        return True

    def _count(self, text: str) -> int:
        found = self._ask(lambda: self._adapter.count_tokens(self._site, text, self.model))
        return int(found or 0)

    def _ask(self, question: Callable[[], T]) -> T:
        try:
            return question()
        except ERRORS as error:
            self.check()
            raise EngineError(
                f"expected an answer from {self._site.root}, found: {error}"
            ) from None

    def _classify(self, error: EngineError) -> EngineError:
        cause = find_cause(self._process.read_log(), self._adapter.FAILURES)
        if cause is None:
            return error
        return EngineError(
            f"expected {self._adapter.TITLE} to run, found {cause.kind}: {cause.found}; "
            f"{cause.advice}; {error}",
            kind=cause.kind,
        )


def launch(adapter: Adapter, params: EngineParams, *, folder: Path) -> LaunchedEngine:
    """Start a server and return it once it is ready; nothing is left of one that fails.

    Raises ParamsError for wrong params and EngineError if it does not come up.
    """
    port = params.port or choose_port()
    check_port(params.port)
    plan = adapter.build_launch(params, port, find_program(adapter, params), folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in plan.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    env = {**os.environ, **plan.env}
    process = start(plan.command, log=folder / "engine.log", env=env)
    try:
        engine = LaunchedEngine(adapter, process, plan, port, adapter.name_served(params))
        engine.wait_ready(params.start_timeout_s)
    except BaseException:
        process.stop()
        raise
    return engine


def is_installed(adapter: Adapter, params: EngineParams) -> bool:
    """Return whether the engine's program is here, with the package that it needs."""
    if adapter.REQUIRES and not params.executable:
        return find_spec(adapter.REQUIRES) is not None
    return shutil.which(Path(params.executable or adapter.PROGRAM).expanduser()) is not None


def find_program(adapter: Adapter, params: EngineParams) -> str:
    """Return the path of the engine's program; raises ParamsError if it is not installed."""
    asked = params.executable or adapter.PROGRAM
    found = shutil.which(Path(asked).expanduser())
    if found is not None and adapter.REQUIRES and not is_installed(adapter, params):
        raise ParamsError(
            f"expected the package {adapter.REQUIRES} for {adapter.TITLE}, found it not installed; "
            f"run `make setup` or use engine.kind endpoint"
        )
    if found is None:
        raise ParamsError(
            f"expected {adapter.TITLE} at {asked}, found no such program; install it and set "
            f"engine.executable to its path, or use engine.kind endpoint for one that runs already"
        )
    return str(Path(found).absolute())


def explain(adapter: Adapter, params: EngineParams) -> list[str]:
    """Return the command of a launch, the variables that it adds before it; launches nothing."""
    program = params.executable or adapter.PROGRAM
    plan = adapter.build_launch(params, params.port or 0, program, Path())
    return [*(f"{name}={value}" for name, value in plan.env.items()), *plan.command]


def check_launches(adapter: Adapter, engines: Sequence[EngineParams]) -> None:
    """Raise ParamsError for what the params or the installed engine's own parser refuse.

    All of them are checked in one go, as starting a parser may take many seconds.
    """
    launches, program = [], ""
    for params in engines:
        check_port(params.port)
        read_key(params.api_key_env)
        program = find_program(adapter, params)
        launches.append(adapter.build_launch(params, params.port or 0, program, Path()))
    for told in adapter.check_launches(program, launches):
        if told is not None:
            raise ParamsError(f"expected settings that {adapter.TITLE} takes, found: {told}")


def check_env(params: EngineParams) -> None:
    """Raise ParamsError for a secret among the environment variables, which a record would hold."""
    for name in params.env:
        if SECRET.search(name.lower()):
            raise ParamsError(
                f"expected no secret in engine.env, found {name}: its value would be written into "
                f"the run folder; set it in the environment of labkit instead"
            )
