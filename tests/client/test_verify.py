from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from scripted import Call, serve

from labkit.client.verify import list_forms, verify_endpoint
from labkit.errors import EndpointError, ParamsError

GOOD = {
    "choices": [{"text": " four", "finish_reason": "length"}],
    "usage": {"prompt_tokens": 6, "completion_tokens": 8},
}
CHAT = {"choices": [{"message": {"content": "1 2 3"}, "finish_reason": "stop"}]}
Routes = dict[str, tuple[int, Any]]


def offering(routes: Routes, models: list[str] | None = None) -> Callable[[Call], Awaitable[None]]:
    async def script(call: Call) -> None:
        if call.path.endswith("/models") and models is not None:
            await call.reply(200, {"data": [{"id": name} for name in models]})
        else:
            status, body = routes.get(call.path, (404, {"error": {"message": "Not Found"}}))
            await call.reply(status, body, "Location: https://x.test/v1\r\n" * (status == 301))

    return script


def test_an_endpoint_that_answers() -> None:
    with serve(offering({"/v1/completions": (200, GOOD)}, ["m"])) as server:
        found = verify_endpoint(server.url)
        assert (found.base_url, found.model, found.endpoint) == (server.url, "m", "completions")
    assert (found.text, found.finish_reason) == (" four", "length")
    assert (found.prompt_tokens, found.completion_tokens) == (6, 8)
    assert 0 < found.latency_s < 5


@pytest.mark.parametrize("tail", ["", "/", "/v1", "/v1/", "/v1/completions"])
def test_the_form_of_the_url_is_found(tail: str) -> None:
    with serve(offering({"/v1/completions": (200, GOOD)}, ["m"])) as server:
        root = server.url.removesuffix("/v1")
        assert verify_endpoint(root + tail).base_url == server.url
    with serve(offering({"/completions": (200, GOOD)}, ["m"])) as server:
        root = server.url.removesuffix("/v1")
        assert verify_endpoint(root + tail).base_url == root


def test_forms_of_a_url_with_a_path_begin_with_it() -> None:
    assert list_forms("https://h/api") == ["https://h/api", "https://h/api/v1"]


def test_chat_is_tried_where_there_are_no_completions() -> None:
    with serve(offering({"/v1/chat/completions": (200, CHAT)}, ["m"])) as server:
        found = verify_endpoint(server.url)
    assert (found.endpoint, found.text, found.prompt_tokens) == ("chat", "1 2 3", None)


@pytest.mark.parametrize("status", [400, 404])
def test_a_model_that_only_chats_is_asked_by_chat(status: int) -> None:
    said = {"error": {"message": "This is a chat model, not supported in v1/completions."}}
    routes: Routes = {"/v1/completions": (status, said), "/v1/chat/completions": (200, CHAT)}
    with serve(offering(routes)) as server:
        assert verify_endpoint(server.url, model="m").endpoint == "chat"


def test_a_bad_request_of_a_served_model_is_not_called_a_wrong_model() -> None:
    reply = (400, {"error": {"message": "the model's context is 4 tokens"}})
    with (
        serve(offering({"/v1/completions": reply}, ["m"])) as server,
        pytest.raises(EndpointError, match=r"HTTP 400 .the model's context is 4 tokens.; see"),
    ):
        verify_endpoint(server.url, model="m")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        pytest.param((401, {"error": "no"}), r"HTTP 401 \(no\); name the key's", id="401"),
        pytest.param((404, {"error": "nope"}), r"found HTTP 404 \(nope\); check host", id="404"),
        pytest.param((500, "boom"), r"HTTP 500 \(boom\); see its log", id="500"),
        pytest.param((301, ""), r"HTTP 301 \(moved to https://x.test/v1\)", id="moved"),
        pytest.param((200, {"error": {"message": "bad"}}), r"error in HTTP 200 \(bad\)", id="200"),
        pytest.param((200, {"hello": 1}), "choices .* found keys hello", id="no-choices"),
        pytest.param((200, {"choices": []}), "expected choices", id="empty-choices"),
        pytest.param((200, "<html>"), "an OpenAI API at .* found a web page", id="html"),
        pytest.param((200, "[1]"), "expected JSON", id="list"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(reply: tuple[int, Any], said: str) -> None:
    routes = {"/v1/completions": reply}
    with (
        serve(offering(routes, ["m"])) as server,
        pytest.raises(EndpointError, match=said) as caught,
    ):
        verify_endpoint(server.url)
    assert "\n" not in str(caught.value)


def test_a_wrong_model_is_told_the_served_ones() -> None:
    with (
        serve(offering({"/v1/completions": (200, GOOD)}, ["a", "b"])) as server,
        pytest.raises(EndpointError, match="serve 'x', found that it serves a, b"),
    ):
        verify_endpoint(server.url, model="x")


def test_a_404_about_the_model_is_no_missing_route() -> None:
    reply = (404, {"error": {"message": "The model `x` does not exist."}})
    with (
        serve(offering({"/v1/completions": reply})) as server,
        pytest.raises(EndpointError, match="serve 'x', found The model `x` does not exist"),
    ):
        verify_endpoint(server.url, model="x")


def test_no_model_named_and_none_listed() -> None:
    with (
        serve(offering({"/v1/completions": (400, "model is required")})) as server,
        pytest.raises(EndpointError, match="name the model"),
    ):
        verify_endpoint(server.url)


def test_a_server_that_is_not_there() -> None:
    with serve(offering({})) as server:
        url = server.url
    with pytest.raises(EndpointError, match=r"expected a server at .* check that it is running"):
        verify_endpoint(url)


def test_a_silent_server_is_not_waited_for() -> None:
    async def script(call: Call) -> None:
        await call.closed.wait()

    with serve(script) as server, pytest.raises(EndpointError, match="none in time"):
        verify_endpoint(server.url, model="m", timeout_s=0.1)


def test_the_key_is_sent_and_never_told() -> None:
    async def script(call: Call) -> None:
        await call.reply(401, {"error": f"wrong {call.headers['authorization']}"})

    with serve(script) as server, pytest.raises(EndpointError, match="check the key") as caught:
        verify_endpoint(server.url, model="m", api_key="sk-canary-123")
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8000", "", "http://", "http://[::1", "http://x:99999", "http://a b"]
)
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(ParamsError, match="expected a URL such as"):
        verify_endpoint(url)


def test_a_secret_in_the_url_or_a_key_that_cannot_be_sent_is_refused() -> None:
    with pytest.raises(ParamsError, match="user or a password") as caught:
        list_forms("http://user:canary@x/v1")
    assert "canary" not in str(caught.value)
    with pytest.raises(ParamsError, match="an API key of printable ASCII") as caught:
        verify_endpoint("http://x/v1", api_key="canary\r")
    assert "canary" not in str(caught.value)


def test_a_proxy_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ALL_PROXY", "foo://bar")
    with pytest.raises(ParamsError, match="in ALL_PROXY, found 'foo://bar'"):
        verify_endpoint("http://x.test/v1")


@pytest.mark.parametrize("status", [200, 404, 501])
def test_a_server_of_web_pages_is_no_openai_api(status: int) -> None:
    async def script(call: Call) -> None:
        await call.reply(status, "<!DOCTYPE html><title>Hello</title>")

    said = rf"expected an OpenAI API at .*, found a web page \(HTTP {status}\); check host"
    with serve(script) as server:
        for model in (None, "m"):
            with pytest.raises(EndpointError, match=said):
                verify_endpoint(server.url, model=model)


def test_a_gateway_that_tells_its_fault_in_a_page_is_believed() -> None:
    with (
        serve(offering({"/v1/completions": (502, "<html>Bad Gateway</html>")}, ["m"])) as server,
        pytest.raises(EndpointError, match=r"HTTP 502 \(<html>Bad Gateway</html>\); see its log"),
    ):
        verify_endpoint(server.url)


def test_json_that_is_nested_too_deep_is_no_answer() -> None:
    async def script(call: Call) -> None:
        await call.reply(200, "[" * 100_000)

    with serve(script) as server, pytest.raises(EndpointError, match="expected JSON"):
        verify_endpoint(server.url, model="m")
