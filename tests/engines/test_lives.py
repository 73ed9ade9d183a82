"""One contract for every engine that labkit launches: its life, its death, and who else listens."""

import json
import os
import re
import signal
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from last_words import LAST_WORDS
from lives import DATA, LIVES, make_params

from labkit.engines import ADAPTERS, launched, open_engine
from labkit.engines.process import is_port_free
from labkit.engines.scrape import FIELDS
from labkit.errors import EngineError, ParamsError
from labkit.params import EngineParams

Install = Callable[..., EngineParams]


@pytest.fixture
def install(kind: str, tmp_path: Path) -> Install:
    """Installs a program that plays this engine, and returns params that launch it."""

    def write(*, env: dict[str, str] | None = None, **script: Any) -> EngineParams:
        folder = tmp_path / "bin"
        folder.mkdir()
        program = folder / "engine"
        text = (DATA / "scripted_engine.py").read_text()
        program.write_text(f"#!{sys.executable}\n{text}")
        program.chmod(0o755)
        life = LIVES[kind]
        (folder / "script.json").write_text(
            json.dumps(
                {
                    "pages": life.pages,
                    "ready": ADAPTERS[kind].READY,
                    "log": life.log,
                    "start_s": 0.0,
                    "last_words": "",
                    "dies": False,
                    "child": False,
                    "listens": True,
                    **script,
                }
            )
        )
        return make_params(kind, executable=str(program), start_timeout_s=20, env=env or {})

    return write


def test_a_whole_life(kind: str, install: Install, tmp_path: Path) -> None:
    life, begin_s = LIVES[kind], time.monotonic()
    params = install(start_s=0.5, child=True, env={"SEEN": "1"})
    with open_engine(params, folder=tmp_path) as engine:
        assert time.monotonic() - begin_s >= 0.5
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1", engine.base_url)
        port = int(engine.base_url.split(":")[2].removesuffix("/v1"))
        assert engine.model == ADAPTERS[kind].name_served(params)
        assert "SEEN=1" in engine.command
        effective, sample = engine.effective(), engine.sample()
        assert {name: effective.get(name) for name in life.effective} == life.effective
        assert set(sample) == set(FIELDS)
        assert {name: sample[name] for name in life.sample} == life.sample
        assert engine.reset_cache() is life.resets
        count = engine.count_tokens
        assert (count and count("one two")) == life.num_tokens
        assert set(engine.request_options()) <= {"ignore_eos"}
        engine.check()
        pids = engine.pids()
        assert len(pids) == 2
        assert engine.pid == pids[0]
    assert is_port_free(port)
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert life.log.splitlines()[0] in (tmp_path / "engine.log").read_text()


def test_a_death_is_classified_at_once(kind: str, install: Install, tmp_path: Path) -> None:
    words = next(words for cause, words in LAST_WORDS[kind] if cause == "oom_run")
    params = install(last_words=words)
    with open_engine(params, folder=tmp_path) as engine:
        url = engine.base_url.removesuffix("/v1") + "/last-words"
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url):
            pass
        assert engine.pid is not None
        os.kill(engine.pid, signal.SIGKILL)
        killed_s = time.monotonic()
        while True:
            try:
                engine.sample()
                engine.check()
            except EngineError as error:
                if error.kind is not None:
                    told = error
                    break
            assert time.monotonic() - killed_s < 2
        assert told.kind == "oom_run"
        assert re.search(r"found oom_run: .*out of memory.*exit code 137", str(told), re.IGNORECASE)
        assert "\n" not in str(told)


def test_one_that_ends_while_it_starts_says_why(
    kind: str, install: Install, tmp_path: Path
) -> None:
    cause, words = LAST_WORDS[kind][0]
    with (
        pytest.raises(EngineError, match=f"found {cause}: .*exit code 1") as error,
        open_engine(install(last_words=words, dies=True), folder=tmp_path),
    ):
        raise AssertionError("it must not be ready")
    assert error.value.kind == cause


def test_a_foreign_server_on_its_port_is_never_used(
    kind: str, install: Install, tmp_path: Path, pages: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages.pages.update(LIVES[kind].pages)
    params = install(listens=False)
    taken = params.model_copy(update={"port": pages.port})
    with (
        pytest.raises(ParamsError, match=f"found {pages.port} in use"),
        open_engine(taken, folder=tmp_path),
    ):
        raise AssertionError("it must not start")
    monkeypatch.setattr(launched, "choose_port", lambda: pages.port)
    with (
        pytest.raises(EngineError, match=f"behind port {pages.port}, found another process"),
        open_engine(params, folder=tmp_path),
    ):
        raise AssertionError("it must not be used")
    assert not [each for each in psutil.process_iter(["cmdline"])
                if params.executable in (each.info["cmdline"] or [])]  # fmt: skip
