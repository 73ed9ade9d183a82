"""The steps below the first request: address, port, HTTP, form of the URL, key, served name."""

import json
import re
from pathlib import Path

import pytest
from ladder.endpoint import offer, take_steps
from scripted import Call, serve

from labkit.ladder import order
from labkit.ladder.ask import choose_model
from labkit.ladder.steps import list_steps


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


def closed_port() -> str:
    with serve(offer()) as server:
        return server.url


def expect_break(steps: dict[str, dict[str, str]], step: str, *texts: str) -> None:
    """The step fails with these texts, and all after it are not tried."""
    told = {name: one["verdict"] for name, one in steps.items()}
    names = list(told)
    later = names[names.index(step) + 1 :]
    assert [name for name in names if told[name] == "fails"] == [step]
    assert {told[name] for name in later} == {"not tried"}
    one = steps[step]
    for text, name in zip(texts, ("found", "meaning", "advice"), strict=True):
        assert re.search(text, one[name]), (name, one[name])


def test_a_port_where_nothing_listens(tmp_path: Path) -> None:
    steps = take_steps(tmp_path, {"base_url": closed_port()})
    expect_break(steps, "address", "connection refused at 127.0.0.1 port", "nothing listens",
                 "start the server")  # fmt: skip
    assert steps["http"]["found"] == "it needs the step The address, which fails"


def test_a_name_that_is_not_known(tmp_path: Path) -> None:
    steps = take_steps(tmp_path, {"base_url": "http://no-such-host.invalid:8000/v1"})
    expect_break(steps, "address", "no address for no-such-host.invalid", "can't be looked up",
                 "how it is spelt")  # fmt: skip


def test_a_proxy_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = closed_port().removesuffix("/v1").replace("http://", "http://user:canary@")
    monkeypatch.setenv("HTTP_PROXY", proxy)
    steps = take_steps(tmp_path, {"base_url": "http://api.test/v1"})
    expect_break(steps, "address", "refused .* of the proxy that the environment names",
                 "nothing listens", "unset the proxy, or name .* in NO_PROXY")  # fmt: skip
    assert "canary" not in json.dumps(steps)


def test_a_proxy_that_answers_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(call: Call) -> None:
        await call.reply(503, "<html>no route to api.test</html>")

    with serve(script) as server:
        monkeypatch.setenv("HTTP_PROXY", server.url.removesuffix("/v1"))
        steps = take_steps(tmp_path, {"base_url": "http://api.test/v1"})
    expect_break(steps, "http", "HTTP 503", "the proxy of the environment answers", "NO_PROXY")


def test_a_proxy_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "foo://bar")
    steps = take_steps(tmp_path, {"base_url": "http://api.test/v1"})
    expect_break(steps, "address", "'foo://bar'", "a proxy that can't be one", "")


def test_a_port_that_speaks_something_else(tmp_path: Path) -> None:
    async def script(call: Call) -> None:
        await call.write(b"220 mail.test ESMTP\r\n")

    with serve(script) as server:
        steps = take_steps(tmp_path, {"base_url": server.url})
    expect_break(steps, "http", "RemoteProtocolError", "no HTTP answer", "https://")


@pytest.mark.parametrize(
    ("tail", "how"),
    [
        ("/v1", "as it was given"),
        ("", "with /v1 added"),
        ("/", "with /v1 added"),
        ("/v1/", "without the slash at its end"),
        ("/v1/v1", "with one /v1, which stood there twice"),
        ("/v1/chat/completions", "without /chat/completions, which is put there"),
    ],
)
def test_the_form_of_the_url_is_found_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tail: str, how: str
) -> None:
    monkeypatch.setattr(order, "list_steps", lambda params: list_steps(params)[:3])
    with serve(offer()) as server:
        root = server.url.removesuffix("/v1")
        steps = take_steps(tmp_path, {"base_url": root + tail})
    form = steps["base_url"]
    assert (form["verdict"], form["found"].startswith(f"{server.url}, {how}")) == ("works", True)
    assert (form["advice"] == "") == (how == "as it was given")


def test_a_load_finds_the_same_form(tmp_path: Path) -> None:
    alone = {"max_concurrency": 1, "request_timeout_s": 10.0}
    with serve(offer()) as server:
        steps = take_steps(tmp_path, {"base_url": f"{server.url}/v1"}, load=alone)
    assert steps["own_request"]["verdict"] == "works"
    assert steps["own_request"]["sent"]["url"] == f"{server.url}/completions"
    assert steps["few"]["found"] == "the load never has two requests in flight"


def test_an_api_below_another_path(tmp_path: Path) -> None:
    with serve(offer(prefix="/api")) as server:
        url = server.url.replace("/v1", "/api/v1")
        steps = take_steps(tmp_path, {"base_url": url})
    assert "/api, without /v1" in steps["base_url"]["found"]


def test_a_variable_that_is_not_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    with serve(offer()) as server:
        steps = take_steps(tmp_path, {"base_url": server.url, "api_key_env": "MY_KEY"})
    expect_break(steps, "key", "it unset", "no key that could be sent", "export MY_KEY=")


@pytest.mark.parametrize(
    ("key", "found"),
    [(" sk-canary", "blanks around it"), ("Bearer sk-canary", "the word Bearer before it")],
)
def test_a_key_that_is_written_wrongly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, found: str
) -> None:
    monkeypatch.setenv("MY_KEY", key)
    with serve(offer()) as server:
        steps = take_steps(tmp_path, {"base_url": server.url, "api_key_env": "MY_KEY"})
    expect_break(steps, "key", found, "no key that could be sent", "set it again without")
    assert "canary" not in json.dumps(steps)


def test_a_key_of_another_endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(call: Call) -> bool:
        await call.reply(401, {"error": f"wrong key {call.headers['authorization']}"})
        return True

    monkeypatch.setenv("MY_KEY", "sk-canary-1")
    with serve(offer(refuse)) as server:
        steps = take_steps(tmp_path, {"base_url": server.url, "api_key_env": "MY_KEY"})
    expect_break(steps, "key", r"HTTP 401 \(wrong key Bearer \[redacted\]\)", "is not accepted",
                 "check the key in the variable MY_KEY: .* of this endpoint rather")  # fmt: skip
    assert "canary" not in json.dumps(steps)


def test_a_provider_tells_url_key_and_model(tmp_path: Path) -> None:
    with serve(offer()) as server:
        root = server.url.removesuffix("/v1")
        provider = {"base_url": root, "api_key": "sk-canary-2", "model_id": "m"}
        file = tmp_path / "providers.json"
        file.write_text(json.dumps({"providers": {"a": provider}, "default_provider": "a"}))
        steps = take_steps(tmp_path, {"provider": "a", "providers_file": str(file)})
        keys = {call.headers.get("authorization") for call in server.calls if call.body is not None}
    assert keys == {"Bearer sk-canary-2"}
    assert steps["key"]["found"].startswith("the key is accepted")
    assert steps["own_request"]["verdict"] == "works"
    assert "canary" not in json.dumps(steps)


def test_a_model_that_is_not_served(tmp_path: Path) -> None:
    with serve(offer()) as server:
        steps = take_steps(tmp_path, {"base_url": server.url, "model": "qwen"})
    expect_break(steps, "models", "it serves m, not 'qwen'", "not a name that it serves",
                 "set engine.model to a name that it serves")  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "served", "verdict", "model"),
    [
        (None, ("a",), "works", "a"),
        ("b", ("a", "b"), "works", "b"),
        (None, ("a", "b"), "fails", None),
        (None, (), "fails", None),
        ("b", (), "not offered", "b"),
    ],
)
def test_the_model_is_chosen(
    asked: str | None, served: tuple[str, ...], verdict: str, model: str | None
) -> None:
    judged, chosen = choose_model(asked, served, "HTTP 404")
    assert (judged.verdict, chosen) == (verdict, model)
