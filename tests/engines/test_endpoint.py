import pytest

from labkit.engines import check_engines, explain_command, open_engine
from labkit.engines.process import choose_port
from labkit.engines.scrape import empty_sample
from labkit.errors import EndpointError, EngineError, ParamsError
from labkit.params import EngineParams

ONE = {"data": [{"id": "alpha"}]}
TWO = {"data": [{"id": "alpha"}, {"id": "beta"}]}


def make_params(base_url: str, **values: object) -> EngineParams:
    return EngineParams.model_validate({"kind": "endpoint", "base_url": base_url, **values})


@pytest.mark.parametrize("tail", ["", "/", "/v1", "/v1/", "/v1/v1", "/v1/completions"])
def test_v1_is_found_however_it_is_written(pages, tmp_path, tail: str) -> None:
    pages.pages["/v1/models"] = ONE
    params = make_params(pages.root + tail)
    with open_engine(params, folder=tmp_path) as engine:
        assert engine.base_url == f"{pages.root}/v1"
        assert (engine.model, engine.pid, engine.command, engine.pids()) == ("alpha", None, [], [])
        assert engine.effective() == {}
        assert engine.sample() == empty_sample()
        assert engine.request_options() == {}
        engine.check()
    assert explain_command(params) == []


def test_place_without_v1_is_found(pages, tmp_path) -> None:
    pages.pages["/openai/models"] = ONE
    with open_engine(make_params(f"{pages.root}/openai"), folder=tmp_path) as engine:
        assert engine.base_url == f"{pages.root}/openai"


def test_model_is_chosen_or_asked_for(pages, tmp_path) -> None:
    pages.pages["/v1/models"] = TWO
    with open_engine(make_params(pages.root, model="beta"), folder=tmp_path) as engine:
        assert engine.model == "beta"
    for model, told in ((None, "found alpha, beta; set"), ("betta", "did you mean beta")):
        with (
            pytest.raises(EndpointError, match=told),
            open_engine(make_params(pages.root, model=model), folder=tmp_path),
        ):
            pass


def test_metrics_of_vllm_and_llamacpp_are_read(pages, tmp_path) -> None:
    pages.pages["/v1/models"] = ONE
    pages.pages["/metrics"] = (
        "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 2\n"
    )
    with open_engine(make_params(pages.root), folder=tmp_path) as engine:
        assert engine.sample()["num_requests_running"] == 2
        assert engine.request_options() == {"ignore_eos": True}
        del pages.pages["/metrics"]
        with pytest.raises(EngineError, match="found: HTTP Error 404"):
            engine.sample()
    pages.pages["/metrics"] = "llamacpp:requests_deferred 3\n"
    pages.pages["/slots"] = [{"n_ctx": 256, "is_processing": False}]
    with open_engine(make_params(pages.root), folder=tmp_path) as engine:
        assert engine.sample()["num_requests_waiting"] == 3


def test_key_comes_from_the_environment(pages, tmp_path, monkeypatch) -> None:
    pages.pages["/v1/models"] = ONE
    pages.key = "secret"
    params = make_params(pages.root, api_key_env="TEST_KEY")
    monkeypatch.delenv("TEST_KEY", raising=False)
    with pytest.raises(ParamsError, match="TEST_KEY, found it unset"):
        check_engines([params])
    monkeypatch.setenv("TEST_KEY", "wrong")
    with (
        pytest.raises(EndpointError, match=r"found HTTP 401; see that the variable TEST_KEY"),
        open_engine(params, folder=tmp_path),
    ):
        pass
    monkeypatch.setenv("TEST_KEY", "secret")
    with open_engine(params, folder=tmp_path) as engine:
        assert "secret" not in str(vars(engine))


def test_nothing_there(tmp_path) -> None:
    with (
        pytest.raises(EndpointError, match=r"OpenAI-compatible .* refused.*; start it"),
        open_engine(make_params(f"http://127.0.0.1:{choose_port()}"), folder=tmp_path),
    ):
        pass


def test_something_else_there(pages, tmp_path) -> None:
    pages.pages["/v1/models"] = "<html>"
    with (
        pytest.raises(EndpointError, match="expected an OpenAI-compatible server"),
        open_engine(make_params(pages.root), folder=tmp_path),
    ):
        pass


def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(monkeypatch) -> None:
    monkeypatch.setenv("TEST_KEY", "canary\r")
    with pytest.raises(ParamsError, match="TEST_KEY, found a line break") as caught:
        check_engines([make_params("http://127.0.0.1:1", api_key_env="TEST_KEY")])
    assert "canary" not in str(caught.value)


def test_a_server_that_echoes_the_key_does_not_get_it_told(pages, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TEST_KEY", "canary")
    pages.pages["/v1/models"] = {"data": [{"id": "canary-1"}, {"id": "b\nc"}]}
    params = make_params(pages.root, api_key_env="TEST_KEY")
    with (
        pytest.raises(EndpointError, match=r"found \[redacted\]-1, b c; set") as caught,
        open_engine(params, folder=tmp_path),
    ):
        pass
    assert "canary" not in str(caught.value)


def test_models_nested_too_deep(pages, tmp_path) -> None:
    pages.pages["/v1/models"] = "[" * 100_000
    with (
        pytest.raises(EndpointError, match=r"expected an OpenAI-compatible server .* recursion"),
        open_engine(make_params(pages.root), folder=tmp_path),
    ):
        pass


@pytest.mark.parametrize("url", ["http://[::1", "http://127.0.0.1:abc", "http://u:canary@x"])
def test_wrong_address(url: str) -> None:
    with pytest.raises(ParamsError, match=r"expected engine\.base_url such as") as caught:
        check_engines([make_params(url)])
    assert "canary" not in str(caught.value)


def test_a_proxy_that_is_none_is_refused(monkeypatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ALL_PROXY", "foo://bar")
    check_engines([make_params("http://127.0.0.1:1")])
    with pytest.raises(ParamsError, match="ALL_PROXY"):
        check_engines([make_params("http://x.test")])


def test_wrong_request() -> None:
    with pytest.raises(ParamsError, match=r"engine\.max_num_seqs for an endpoint"):
        check_engines([make_params("http://x", max_num_seqs=2)])
    with pytest.raises(ParamsError, match="extra_args for an endpoint"):
        check_engines([make_params("http://x", extra_args={"a": 1})])
    with pytest.raises(ParamsError, match="such as http://127"):
        check_engines([make_params("localhost:8000")])
