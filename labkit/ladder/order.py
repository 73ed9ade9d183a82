"""The order of a ladder: step after step on one engine, each recorded as soon as it has ended.

A step that needs one which failed is not tried. It must not know how a step is asked or judged,
nor that notebooks exist.
"""

import contextlib
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from labkit.address import make_redact, read_key, tell_source
from labkit.engines import open_engine
from labkit.engines.endpoint import locate
from labkit.engines.failures import ADVICE
from labkit.errors import EndpointError, EngineError, LabkitError, ParamsError, tell
from labkit.ladder.ask import PAGES, ask_text
from labkit.ladder.fire import ask_load
from labkit.ladder.ground import Ground, Outcome
from labkit.ladder.meaning import ENDED
from labkit.ladder.steps import Facts, Step, list_steps
from labkit.ladder.verdict import Judged
from labkit.params import Params, SyntheticParams, load_params
from labkit.records import JsonlWriter, RunFolder, set_aside
from labkit.workload import CountTokens, generate

OnEvent = Callable[[dict[str, Any]], None]
DEATH_S = 1.0
"""How long the death of an engine may take to be known, once a request failed."""
LOOK_S = 0.05


def climb(run: RunFolder, on_event: OnEvent) -> None:
    """Take every step of a run's ladder, unless that was done; a step that fails is a record.

    A ladder that was begun before and did not end is kept beside the new one. Raises RecordsError
    if another process works in the folder.
    """
    params = load_params(run.params_path)
    with run.hold():
        if run.manifest()["status"] == "completed":
            return
        for path in (run.ladder_path, run.path / "ladder"):
            set_aside(path)
        (run.path / "ladder").mkdir()
        run.update_manifest(status="running", error=None)
        try:
            _climb(run, params, on_event)
        except BaseException as error:
            stopped = not isinstance(error, Exception)
            _end(run, "interrupted" if stopped else "failed", tell(error))
            raise
        _end(run, "completed", None)


def _climb(run: RunFolder, params: Params, emit: OnEvent) -> None:
    steps = list_steps(params)
    verdicts: dict[str, str] = {}
    died = ""
    with contextlib.ExitStack() as stack, JsonlWriter(run.ladder_path) as writer:
        ground = prepare(run, params, stack)
        for number, step in enumerate(steps, start=1):
            emit({"event": "step", "number": number, "num_steps": len(steps),
                  "title": step.title, "at_s": time.monotonic()})  # fmt: skip
            sent_at_s = time.monotonic()
            if reason := died or find_missing(step, steps, verdicts):
                outcome = Outcome(Judged("not tried", reason))
            else:
                outcome = _take(step, ground)
                outcome, dead = _look_for_death(outcome, ground)
                died = f"the engine died at the step {step.title}" if dead else ""
            verdicts[step.name] = outcome.judged.verdict
            _learn(step, outcome, ground)
            row = {"number": number, "step": step.name, "title": step.title, "asked": step.asks,
                   "optional": step.optional, "sent_at_s": round(sent_at_s, 6),
                   "ended_at_s": round(time.monotonic(), 6), **outcome.describe()}  # fmt: skip
            writer.write(clean(row, ground))
        emit({"event": "end", "at_s": time.monotonic()})


def prepare(run: RunFolder, params: Params, stack: contextlib.ExitStack) -> Ground:
    """Return what the first step stands on; a key that is missing is told by its own step."""
    engine, workload = params.engine, params.workload
    facts = Facts(workload.endpoint, workload.temperature, workload.seed)
    ground = Ground(params, run.path / "ladder", facts, str, stack, model=engine.model)
    if engine.kind != "endpoint":
        return ground
    ground.url, ground.model = locate(engine)
    try:
        ground.key = read_key(engine.key_source)
    except ParamsError as error:
        ground.key_fault = str(error)
    ground.key_place = tell_source(engine.key_source)
    ground.redact = make_redact(ground.key)
    return ground


def find_missing(step: Step, steps: list[Step], verdicts: dict[str, str]) -> str:
    """Return why a step can't be tried, nothing where all that it needs is there."""
    titles = {one.name: one.title for one in steps}
    for name in step.needs:
        if verdicts.get(name) in ("fails", "not tried"):
            how = "fails" if verdicts[name] == "fails" else "was not tried"
            return f"it needs the step {titles[name]}, which {how}"
    return ""


def clean(value: Any, ground: Ground) -> Any:
    """Return a record without the key in any of its texts."""
    if isinstance(value, str):
        return ground.redact(value)
    if isinstance(value, dict):
        return {ground.redact(str(name)): clean(one, ground) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [clean(one, ground) for one in value]
    return value


def _take(step: Step, ground: Ground) -> Outcome:
    """Take one step; whatever labkit raises is the step's failure."""
    try:
        if step.name == "engine":
            return _start(ground)
        if step.name in PAGES:
            return PAGES[step.name](ground)
        if step.name in ("own_request", "few"):
            return ask_load(ground, step)
        return ask_text(ground, step, choose_endpoint(step, ground.facts))
    except (LabkitError, OSError) as error:
        return _blame(error)


def choose_endpoint(step: Step, facts: Facts) -> str:
    """Return by which endpoint a step asks: a schema by chat, where the load does not ask for it.

    Some engines keep to a schema in chat alone.
    """
    if step.name == "other_endpoint":
        return "chat" if facts.endpoint == "completions" else "completions"
    if step.name == "json_schema" and step.optional and facts.chat_works:
        return "chat"
    return facts.endpoint


def _start(ground: Ground) -> Outcome:
    opened = open_engine(ground.params.engine, folder=ground.folder.parent)
    engine = ground.stack.enter_context(opened)
    ground.url, ground.engine, ground.model = engine.base_url, engine, engine.model
    return Outcome(Judged("works", f"it serves {engine.model!r} at {engine.base_url}"))


def _blame(error: Exception) -> Outcome:
    """Return what an error means; where the engine's log told a cause, that is the advice."""
    kind = error.kind if isinstance(error, EngineError) else None
    head, _, rest = tell(error).partition("; ")
    found = head.partition(", found ")[2] or head
    if kind in ADVICE:
        told = rest.removeprefix(f"{ADVICE[kind]}; ")
        judged = Judged("fails", found, ENDED[kind], ADVICE[kind])
        return Outcome(judged, said=told)
    return Outcome(Judged("fails", found, "", rest))


def _look_for_death(outcome: Outcome, ground: Ground) -> tuple[Outcome, bool]:
    """Return the outcome with the engine's own last words, and whether it died."""
    if ground.engine is None or outcome.judged.verdict in ("works", "not tried"):
        return outcome, False
    mortal = outcome.sent and ground.engine.pid is not None  # others' servers can't be watched
    deadline_s = time.monotonic() + (DEATH_S if mortal else 0.0)
    while True:
        try:
            ground.engine.check()
        except EngineError as error:
            blamed = _blame(error)
            found = f"{outcome.judged.found}; then {blamed.judged.found}"
            meaning = blamed.judged.meaning or "the engine ended"
            judged = replace(blamed.judged, found=found, meaning=meaning)
            return replace(outcome, judged=judged, said=blamed.said), True
        if time.monotonic() >= deadline_s or outcome.judged.verdict == "not offered":
            return outcome, False
        time.sleep(LOOK_S)


def _learn(step: Step, outcome: Outcome, ground: Ground) -> None:
    """Keep what a step found for those after it."""
    if outcome.judged.verdict not in ("works", "not offered"):
        return
    if step.name == "models":
        _meet(ground)
    if step.name == "other_endpoint":
        ground.facts.chat_works = outcome.judged.verdict == "works"
    if outcome.judged.verdict == "works" and outcome.heard is not None and step.kept:
        ground.facts.kept |= outcome.added
        ground.facts.text = outcome.heard.text or ground.facts.text


def _meet(ground: Ground) -> None:
    """Learn of the engine what a load learns before it begins: lengths, tokens, its options."""
    facts, params = ground.facts, ground.params.engine
    if ground.engine is None:
        try:
            with open_engine(params, folder=ground.folder) as engine:  # found, never launched
                ground.engine = engine
        except (EndpointError, EngineError) as error:
            ground.engine_fault = ground.redact(str(error))
            return
    facts.options = ground.engine.request_options()
    told = ground.engine.effective().get("max_model_len") or params.max_model_len
    facts.room_tokens = facts.room_tokens if told is None else int(told)
    count = ground.engine.count_tokens
    facts.write_prompt = lambda num_tokens: _write(num_tokens, count, facts.seed)


def _write(num_tokens: int, count: CountTokens | None, seed: int) -> str:
    workload = SyntheticParams(num_requests=1, prompt_tokens=num_tokens, completion_tokens=1)
    traffic = generate(workload, seed=seed, salt="ladder, long", count=count)
    return traffic.requests[0].messages[0][1]


def _end(run: RunFolder, status: str, error: str | None) -> None:
    ended_at = datetime.now(UTC).isoformat(timespec="seconds")
    run.update_manifest(status=status, error=error, ended_at=ended_at)
