"""The order of a ladder: what an engine's death does to it, and what is kept of one that ended."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ladder.endpoint import offer
from scripted import Call, serve

from labkit.errors import EngineError
from labkit.ladder import climb
from labkit.params.read import parse_params
from labkit.records import RunFolder
from labkit.request import create_run


class Mortal:
    """A launched engine, as the ladder sees it, that may die."""

    model, pid, command = "m", 1, ["serve"]

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self.dead = False
        self.stopped = False

    def effective(self) -> dict[str, Any]:
        return {"max_model_len": 128}

    def request_options(self) -> dict[str, Any]:
        return {"ignore_eos": True}

    count_tokens = None

    def check(self) -> None:
        if self.dead:
            raise EngineError(
                "expected vLLM to run, found oom_run: CUDA out of memory; advice; log ends",
                kind="oom_run",
            )


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    data = {
        "name": "small",
        "notebook": "verify",
        "engine": {"kind": "vllm", "model": "m"},
        "workload": {"num_requests": 4, "prompt_tokens": 8, "completion_tokens": 4},
        "load": {"max_concurrency": 1, "request_timeout_s": 10.0},
    }
    return create_run(parse_params(data, source="test"), [], tmp_path)


def launch(monkeypatch: pytest.MonkeyPatch, engine: Mortal) -> None:
    @contextlib.contextmanager
    def open_engine(params: Any, *, folder: Path) -> Iterator[Mortal]:
        try:
            yield engine
        finally:
            engine.stopped = True

    monkeypatch.setattr("labkit.ladder.order.open_engine", open_engine)


def test_an_engine_that_dies_is_told_by_its_cause(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def die(call: Call) -> bool:
        if call.body and call.body.get("ignore_eos"):
            engine.dead = True
            call.writer.close()
            return True
        return False

    with serve(offer(die)) as server:
        engine = Mortal(server.url)
        launch(monkeypatch, engine)
        climb(run, lambda event: None)
    steps = {one["step"]: one for one in run.ladder()}
    assert steps["max_tokens"]["verdict"] == "works"
    broken = steps["exact_length"]
    assert broken["verdict"] == "fails"
    assert broken["found"].endswith("; then oom_run: CUDA out of memory")
    assert broken["meaning"] == "its memory was full while it served"
    assert broken["advice"].startswith("set engine.max_num_seqs to 16, then")
    assert {one["verdict"] for one in run.ladder()[-7:]} == {"not tried"}
    assert steps["few"]["found"] == "the engine died at the step An exact length"
    assert engine.stopped
    assert run.manifest()["status"] == "completed"


def test_an_engine_that_does_not_start(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def open_engine(params: Any, *, folder: Path) -> None:
        raise EngineError(
            "expected vLLM to run, found kv_too_small: No available memory; try less; its log ends "
            "with: x",
            kind="kv_too_small",
        )

    monkeypatch.setattr("labkit.ladder.order.open_engine", open_engine)
    climb(run, lambda event: None)
    first, *others = run.ladder()
    assert (first["verdict"], first["found"]) == ("fails", "kv_too_small: No available memory")
    assert first["meaning"] == "no memory is left for its KV cache"
    assert first["advice"].startswith("lower engine.max_model_len")
    assert first["answer"].endswith("its log ends with: x")
    assert {one["verdict"] for one in others} == {"not tried"}


def test_a_ladder_is_climbed_once_and_a_stopped_one_again(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(event: dict[str, Any]) -> None:
        if event.get("number") == 4:
            raise KeyboardInterrupt

    with serve(offer()) as server:
        engine = Mortal(server.url)
        launch(monkeypatch, engine)
        with pytest.raises(KeyboardInterrupt):
            climb(run, stop)
        assert (run.manifest()["status"], len(run.ladder())) == ("interrupted", 3)
        assert engine.stopped
        climb(run, lambda event: None)
        num_calls = len(server.calls)
        climb(run, lambda event: None)
        assert len(server.calls) == num_calls
    assert run.manifest()["status"] == "completed"
    assert {one["verdict"] for one in run.ladder()} == {"works", "not tried"}
    assert len(list(run.path.glob("ladder.attempt1*"))) == 2
    assert json.loads((run.path / "ladder.attempt1.jsonl").read_text().splitlines()[0])
