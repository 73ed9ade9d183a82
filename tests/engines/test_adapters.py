"""One contract for every engine that labkit launches: what a row of ADAPTERS promises."""

import json
import os
import re
import signal
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import psutil
import pytest
from lives import DATA, GENERAL_LAST_WORDS, LAST_WORDS, LIVES

from labkit.engines import ADAPTERS, check_engines, explain_command, launched, open_engine
from labkit.engines.adapter import Launch
from labkit.engines.failures import ADVICE, find_cause
from labkit.engines.flags import Absent
from labkit.engines.process import is_port_free
from labkit.engines.scrape import FIELDS
from labkit.errors import EngineError, ParamsError
from labkit.params import EngineParams

VALUES: dict[str, list[Any]] = {
    "max_num_seqs": [7],
    "max_num_batched_tokens": [777],
    "max_model_len": [7777],
    "enable_chunked_prefill": [True, False],
    "enable_prefix_caching": [True, False],
    "gpu_memory_utilization": [0.77],
    "block_size": [64],
    "scheduling_policy": ["fcfs"],
    "num_threads": [3],
}
POLICIES = {"tensorrt_llm": "MAX_UTILIZATION"}
"""Kind -> a scheduling policy, where an engine has none that is called fcfs."""
WITHOUT_STATIC_BATCHING = {"tgi"}
MODELS = {"llamacpp": str(DATA / "tiny.gguf")}
"""Kind -> a model that it takes, where a name of the hub is none; llama.cpp ships one, too."""
EXTRA_ARGS = {"llamacpp": '--set some-new-flag="two words" --set other_flag=7 --set alone=true'}
"""Kind -> how it is told what labkit does not know, where not as flags."""
RENAMED = [(kind, name) for kind, adapter in ADAPTERS.items() for name in adapter.RENAMED]
WORDS = [(kind, *words) for kind in ADAPTERS
         for words in (*LAST_WORDS[kind], *GENERAL_LAST_WORDS)]  # fmt: skip
NOISE = "INFO loading shards 100% 2/2\nWARNING this may be slow\n"


@pytest.fixture(params=ADAPTERS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def make_params(kind: str, **values: Any) -> EngineParams:
    model = MODELS.get(kind, "org/name")
    return EngineParams.model_validate({"kind": kind, "model": model, **values})


def build(params: EngineParams) -> Launch:
    return ADAPTERS[params.kind].build_launch(params, 8123, "/bin/engine", Path("/run"))


def test_it_knows_every_knob_of_the_params(kind: str) -> None:
    assert set(ADAPTERS[kind].KNOBS) == set(VALUES)
    knobs = {name for name in EngineParams.model_fields if name in VALUES}
    assert knobs == set(VALUES)
    assert kind in get_args(EngineParams.model_fields["kind"].annotation)


@pytest.mark.parametrize("knob", VALUES)
def test_a_knob_is_told_or_refused_with_the_nearest(kind: str, knob: str) -> None:
    asked = ADAPTERS[kind].KNOBS[knob]
    if isinstance(asked, Absent):
        with pytest.raises(ParamsError, match=rf"no engine\.{knob} for.*leave it out") as error:
            build(make_params(kind, **{knob: VALUES[knob][0]}))
        assert asked.nearest in str(error.value)
        return
    values = [POLICIES.get(kind, "fcfs")] if knob == "scheduling_policy" else VALUES[knob]
    plain = build(make_params(kind))
    told = [build(make_params(kind, **{knob: value})) for value in values]
    assert any(launch != plain for launch in told)
    if len(values) == 2:
        assert told[0] != told[1]
    else:
        assert str(values[0]) in str(told[0])


def test_static_batching_is_told_or_refused_with_the_nearest(kind: str) -> None:
    build(make_params(kind, static_batching=False))
    params = make_params(kind, static_batching=True, max_num_seqs=4)
    if kind in WITHOUT_STATIC_BATCHING:
        with pytest.raises(ParamsError, match=r"no engine\.static_batching.*nearest.*leave it out"):
            build(params)
    else:
        assert build(params) != build(make_params(kind, max_num_seqs=4))


@pytest.mark.parametrize(("kind", "name"), RENAMED)
@pytest.mark.parametrize("style", ["--{}", "{}"])
def test_a_word_of_yesterday_is_answered(kind: str, name: str, style: str) -> None:
    with pytest.raises(ParamsError) as error:
        build(make_params(kind, extra_args={style.format(name): "1"}))
    assert ADAPTERS[kind].RENAMED[name] in str(error.value)
    assert "\n" not in str(error.value)


def test_it_listens_on_the_loopback_only(kind: str) -> None:
    launch = build(make_params(kind))
    assert launch.command[0] == "/bin/engine"
    assert "127.0.0.1" in launch.command
    assert launch.command[launch.command.index("--port") + 1] == "8123"
    assert "0.0.0.0" not in str(launch)
    for name in [name for name, knob in ADAPTERS[kind].TAKEN.items() if knob is None]:
        with pytest.raises(ParamsError, match="labkit sets it"):
            build(make_params(kind, extra_args={f"--{name}": "1"}))


def test_extra_args_pass_through_untouched(kind: str) -> None:
    extra_args = {"--some-new-flag": "two words", "--other_flag": 7, "--alone": True}
    command = " ".join(build(make_params(kind, extra_args=extra_args)).command)
    told = EXTRA_ARGS.get(kind, "--some-new-flag two words --other_flag 7 --alone")
    assert told in command


def test_a_knob_is_not_said_twice(kind: str) -> None:
    adapter = ADAPTERS[kind]
    taken = [(name, knob) for name, knob in adapter.TAKEN.items() if knob in VALUES]
    assert taken
    for name, knob in taken:
        if name not in adapter.RENAMED and not isinstance(adapter.KNOBS[knob], Absent):
            value = POLICIES.get(kind, "fcfs") if knob == "scheduling_policy" else VALUES[knob][-1]
            values = {knob: value, "extra_args": {f"--{name}": "1"}}
            with pytest.raises(ParamsError, match=f"set engine.{knob} only"):
                build(make_params(kind, **values))


@pytest.mark.parametrize("name", ["--api-key", "api_key", "hf_token", "ssl.password"])
def test_secrets_are_refused(kind: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(ParamsError, match="no secret") as error:
        build(make_params(kind, extra_args={name: "canary"}))
    assert "canary" not in str(error.value)
    with pytest.raises(ParamsError, match=r"no secret in engine\.env, found HF_TOKEN"):
        check_engines([make_params(kind, env={"HF_TOKEN": "canary"})])


def test_a_model_is_needed_and_a_program(kind: str) -> None:
    title = ADAPTERS[kind].TITLE
    if kind not in MODELS:
        with pytest.raises(ParamsError, match=rf"engine\.model for {title}"):
            build(make_params(kind, model=None))
    with pytest.raises(ParamsError, match=rf"expected {title} at .*no-such.*kind endpoint"):
        check_engines([make_params(kind, executable="/no-such")])


def test_its_command_is_explained_with_what_it_adds_to_the_environment(kind: str) -> None:
    words = explain_command(make_params(kind, env={"CUDA_VISIBLE_DEVICES": "1"}))
    assert "CUDA_VISIBLE_DEVICES=1" in words
    assert ADAPTERS[kind].PROGRAM in words


@pytest.mark.parametrize(("kind", "cause", "words"), WORDS)
def test_last_words_are_classified(kind: str, cause: str, words: str) -> None:
    found = find_cause(NOISE + words + "\n" + NOISE, ADAPTERS[kind].FAILURES)
    assert found is not None
    assert found.kind == cause
    assert found.advice == ADVICE[found.kind]


def test_every_failure_pattern_has_last_words(kind: str) -> None:
    for failure in ADAPTERS[kind].FAILURES:
        lines = [words for cause, words in LAST_WORDS[kind] if cause == failure.kind]
        assert any(re.search(failure.pattern, line) for line in lines), failure
    assert find_cause(NOISE, ADAPTERS[kind].FAILURES) is None


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
