"""What one answer means, by its status, body and headers, whatever its content type."""

from typing import Any

import pytest
from scripted import Call, serve

from labkit.client.reply import NoRoute, Refused, Reply, check_status, read_reply
from labkit.client.verify import verify_endpoint
from labkit.errors import EndpointError

GOOD = {"choices": [{"text": " four", "finish_reason": "length"}]}


def make_reply(status: int, body: Any = None, text: str = "", **headers: str) -> Reply:
    return Reply(status, text, body, 0.1, headers.get("scheme", ""), headers.get("wait", ""))


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (make_reply(429), r"found HTTP 429; it limits requests: wait and try again"),
        (make_reply(429, {"error": "slow"}, wait="20"), r"HTTP 429 \(slow\); it asks to wait 20 s"),
        (make_reply(503, text="busy", wait="3"), r"HTTP 503 \(busy\); it asks to wait 3 s"),
        (make_reply(503, text="busy"), r"HTTP 503 \(busy\); see its log"),
        (make_reply(307, text="moved to /x"), r"\(moved to /x\); use the address it names"),
        (make_reply(422, {"detail": "no model x"}), "serve 'm', found no model x; name a model"),
    ],
)
def test_a_status_that_is_an_error(reply: Reply, told: str) -> None:
    with pytest.raises(EndpointError, match=told):
        check_status(reply, "http://h/v1", "m", [])


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_carries_what_it_asks_for(status: int) -> None:
    reply = make_reply(status, {"message": "no"}, scheme="Basic")
    with pytest.raises(Refused, match="accept the API key") as caught:
        check_status(reply, "http://h/v1", "m", [])
    assert (caught.value.said, caught.value.scheme) == ("no", "Basic")


@pytest.mark.parametrize(
    ("reply", "is_page"),
    [
        (make_reply(404), False),
        (make_reply(405), False),
        (make_reply(400, {"error": "use chat, not completions"}), False),
        (make_reply(200, text="\n<!DOCTYPE HTML>"), True),
    ],
)
def test_an_address_that_leads_nowhere(reply: Reply, is_page: bool) -> None:
    with pytest.raises(NoRoute) as caught:
        check_status(reply, "http://h/v1", "", [])
    assert caught.value.is_page is is_page


@pytest.mark.parametrize("status", [200, 201, 299])
def test_a_status_that_is_none(status: int) -> None:
    check_status(make_reply(status), "http://h/v1", "m", [])


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": "a"}, "a"),
        ({"reasoning_content": "b"}, "b"),
        ({"content": None, "reasoning_content": "c"}, "c"),
        ({}, ""),
        ("d", ""),
    ],
)
def test_the_text_of_a_chat(message: Any, text: str) -> None:
    found = read_reply(make_reply(200, {"choices": [{"message": message}]}), "u", "m", "chat")
    assert (found.text, found.finish_reason, found.prompt_tokens) == (text, None, None)


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("WWW-Authenticate: Basic realm=x", "it asks for Basic where labkit sends Bearer"),
        ("WWW-Authenticate: Bearer error=x", "check the key in the variable K"),
        ("X-Other: y", "check the key in the variable K"),
    ],
)
def test_the_scheme_comes_from_the_header(header: str, told: str) -> None:
    async def script(call: Call) -> None:
        await call.reply(401, {"error": "no"}, f"{header}\r\n")

    with serve(script) as server, pytest.raises(EndpointError, match=told):
        verify_endpoint(server.url, model="m", api_key="sk-canary", key_place="the variable K")


def test_how_long_to_wait_comes_from_the_header() -> None:
    async def script(call: Call) -> None:
        await call.reply(429, {"error": "slow"}, "Retry-After: 7\r\n")

    with serve(script) as server, pytest.raises(EndpointError, match="it asks to wait 7 s"):
        verify_endpoint(server.url, model="m")


@pytest.mark.parametrize("kind", ["text/html", "text/plain", "application/json", ""])
def test_the_body_and_not_its_content_type_tells_what_it_is(kind: str) -> None:
    header = f"Content-Type: {kind}\r\n" if kind else ""
    bodies: list[Any] = [GOOD, "<html>"]

    async def script(call: Call) -> None:
        await call.reply(200, bodies[0], header)

    with serve(script) as server:
        assert verify_endpoint(server.url, model="m").text == " four"
        bodies.pop(0)
        with pytest.raises(EndpointError, match=r"found a web page \(HTTP 200\)"):
            verify_endpoint(server.url, model="m")
