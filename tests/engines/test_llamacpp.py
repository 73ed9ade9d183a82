import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import psutil
import pytest

from labkit.engines import Engine, check_engines, explain_command, launched, open_engine
from labkit.engines.llamacpp import default_threads
from labkit.engines.process import EngineProcess, is_port_free
from labkit.errors import EngineError, ParamsError
from labkit.params import EngineParams

HOLD = """
import signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
from pathlib import Path
from labkit.engines import open_engine
from labkit.params import EngineParams
params = EngineParams(kind="llamacpp", max_num_seqs=1, max_model_len=256)
with open_engine(params, folder=Path(sys.argv[1])) as engine:
    print(engine.pid, flush=True)
    threading.Event().wait()
"""


def make_params(**values: object) -> EngineParams:
    values = {"max_num_seqs": 2, "max_model_len": 256, **values}
    return EngineParams.model_validate({"kind": "llamacpp", **values})


def complete(base_url: str, body: dict) -> dict:
    request = urllib.request.Request(
        f"{base_url}/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=60) as answer:
        return json.load(answer)


def watch(engine: Engine) -> None:
    """Look after the engine for up to 10 s; the guard may take a moment to tell its end."""
    deadline_s = time.monotonic() + 10
    while time.monotonic() < deadline_s:
        engine.check()
        time.sleep(0.01)


def test_launch_effective_sample_and_stop(model: Path, tmp_path: Path) -> None:
    params = make_params(max_num_batched_tokens=64, enable_prefix_caching=False, num_threads=1)
    with open_engine(params, folder=tmp_path) as engine:
        assert engine.effective() == {
            "max_num_seqs": 2,
            "max_model_len": 256,
            "max_num_batched_tokens": 64,
            "enable_prefix_caching": False,
            "num_threads": 1,
            "static_batching": False,
        }
        assert engine.model == "smollm2"
        assert engine.pid in engine.pids()
        before = engine.sample()
        body = {"model": engine.model, "prompt": "Once", "max_tokens": 5}
        answer = complete(engine.base_url, body | engine.request_options())
        assert answer["usage"]["completion_tokens"] == 5
        after = engine.sample()
        assert after["generation_tokens_total"] - before["generation_tokens_total"] == 5
        assert after["prompt_tokens_total"] == answer["usage"]["prompt_tokens"]
        assert after["kv_cache_capacity_tokens"] == 512
        assert after["num_requests_running"] == after["num_requests_waiting"] == 0
        assert after["num_preemptions"] is None
        pid, port = engine.pid, int(engine.base_url.split(":")[2].split("/")[0])
    assert not psutil.pid_exists(pid)
    assert is_port_free(port)
    assert "labkit-effective" in (tmp_path / "engine.log").read_text()


def test_a_budget_above_the_context_is_read_back_as_what_it_is(model: Path, tmp_path: Path) -> None:
    params = make_params(max_num_seqs=1, max_num_batched_tokens=4096)
    with open_engine(params, folder=tmp_path) as engine:
        assert engine.effective()["max_num_batched_tokens"] == 256


def test_no_engine_is_left_after_an_exception(model: Path, tmp_path: Path) -> None:
    pids = []

    def fail() -> None:
        with open_engine(make_params(), folder=tmp_path) as engine:
            pids.extend(engine.pids())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert pids
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_interrupted_start_leaves_nothing(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids = []

    def interrupt(process: EngineProcess, *_: object, **__: object) -> None:
        pids.extend(process.pids())
        raise KeyboardInterrupt

    monkeypatch.setattr(EngineProcess, "wait_ready", interrupt)
    with pytest.raises(KeyboardInterrupt), open_engine(make_params(), folder=tmp_path):
        pass
    assert pids
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_foreign_server_on_the_chosen_port_is_never_used(
    model: Path, tmp_path: Path, pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages.pages["/health"] = {"status": "ok"}
    monkeypatch.setattr(launched, "choose_port", lambda: pages.port)
    with (
        pytest.raises(EngineError, match=r"found port_in_use: .*llama\.cpp did not start"),
        open_engine(make_params(), folder=tmp_path),
    ):
        pass
    assert pages.seen == []


def test_death_is_told_with_the_end_of_the_log(model: Path, tmp_path: Path) -> None:
    with open_engine(make_params(), folder=tmp_path) as engine:
        os.kill(engine.pid, signal.SIGKILL)
        with pytest.raises(EngineError, match=r"\(SIGKILL\); its log .*engine.log ends with"):
            watch(engine)
        with pytest.raises(EngineError, match="exit code 137"):
            engine.sample()


@pytest.mark.parametrize("name", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_engine_outlives_its_parent(model: Path, tmp_path: Path, name: signal.Signals) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        assert parent.stdout is not None
        engine = psutil.Process(int(parent.stdout.readline()))
        parent.send_signal(name)
        parent.wait(20)
    assert psutil.wait_procs([engine], timeout=10)[1] == []


def test_start_that_fails_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(64))
    children = psutil.Process().children(recursive=True)
    with (
        pytest.raises(EngineError, match=r"found model_not_found: .*engine\.log"),
        open_engine(make_params(model=str(broken)), folder=tmp_path),
    ):
        pass
    assert psutil.Process().children(recursive=True) == children


def test_port_in_use_is_the_users_mistake(model: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(ParamsError, match="in use"),
    ):
        check_engines([make_params(port=taken.getsockname()[1])])


def test_missing_model_names_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    with pytest.raises(ParamsError, match="make setup"):
        check_engines([make_params()])
    with pytest.raises(ParamsError, match=r"path of a \.gguf file .*'org/name'"):
        check_engines([make_params(model="org/name")])


@pytest.mark.parametrize(
    ("extra_args", "told"),
    [
        ({"n_ubatc": 8}, "n_ubatc is not an attribute .* did you mean n_ubatch?"),
        ({"cpuparams.pol": 8}, "did you mean poll?"),
        ({"n_ubatch": "many"}, "n_ubatch does not take 'many'"),
        ({"port": 8}, "leave it out|engine.port"),
        ({"n_parallel": 8}, "set engine.max_num_seqs only"),
    ],
)
def test_wrong_extra_args(model: Path, extra_args: dict, told: str) -> None:
    with pytest.raises(ParamsError, match=told):
        check_engines([make_params(extra_args=extra_args)])


@pytest.mark.parametrize(
    ("knob", "value", "nearest"),
    [
        ("enable_chunked_prefill", True, "max_num_batched_tokens"),
        ("gpu_memory_utilization", 0.5, "max_model_len"),
        ("block_size", 16, "max_model_len"),
        ("scheduling_policy", "fcfs", "static_batching"),
    ],
)
def test_knob_that_it_does_not_have(knob: str, value: object, nearest: str) -> None:
    with pytest.raises(ParamsError, match=f"engine.{knob} for llama.cpp.*{nearest}"):
        check_engines([make_params(**{knob: value})])


def test_command_is_explained_without_a_launch(model: Path) -> None:
    command = explain_command(make_params(max_num_seqs=4, extra_args={"cont_batching": False}))
    assert command[command.index("--parallel") + 1] == "4"
    assert command[command.index("--ctx-per-slot") + 1] == "256"
    assert command[command.index("--port") + 1] == "0"
    assert command[-1] == "cont_batching=false"
    assert "--batch-size" not in command


def test_one_core_is_left_to_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    assert default_threads() == 3
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    assert default_threads() == 1


@pytest.mark.parametrize("name", ["api_keys", "api_key_file", "ssl_file_key", "hf_token"])
def test_a_secret_among_the_extra_args_is_refused_and_not_shown(name: str) -> None:
    with pytest.raises(ParamsError, match=f"no secret in engine.extra_args, found {name}") as told:
        explain_command(make_params(extra_args={name: "canary"}))
    assert "canary" not in str(told.value)


def test_a_number_of_tokens_is_no_secret(model: Path) -> None:
    extra_args = {"image_max_tokens": 9, "sampling.timing_per_token": False}
    assert "image_max_tokens=9" in explain_command(make_params(extra_args=extra_args))


def test_a_reset_makes_it_forget_what_it_cached(model: Path, tmp_path: Path) -> None:
    with open_engine(make_params(), folder=tmp_path) as engine:
        body = {"model": engine.model, "prompt": "one two three four five six", "max_tokens": 1}

        def cached_tokens() -> int:
            told = complete(engine.base_url, body)["usage"]["prompt_tokens_details"]
            return int(told["cached_tokens"])

        assert cached_tokens() == 0
        assert cached_tokens() > 3
        assert engine.reset_cache()
        assert cached_tokens() == 0
