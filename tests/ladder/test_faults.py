"""Each fault that people are told to look for breaks its own step, and is explained."""

import re
from pathlib import Path
from typing import Any

import pytest
from ladder.endpoint import Twist, offer, take_steps
from scripted import DONE, Call, serve, text, usage

from labkit.ladder import order
from labkit.ladder.steps import list_steps

STEPS = [
    "address", "http", "base_url", "key", "models", "smallest", "stream", "usage", "temperature",
    "seed", "max_tokens", "exact_length", "stop", "long_prompt", "over_context", "over_prompt",
    "other_endpoint",
    "json_schema", "own_request", "few",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_a_good_endpoint_passes_every_step(tmp_path: Path) -> None:
    with serve(offer()) as server:
        steps = take_steps(tmp_path, {"base_url": server.url})
        bodies = [call.body for call in server.calls if call.body is not None]
    assert list(steps) == STEPS
    told = {name: one["verdict"] for name, one in steps.items()}
    assert told.pop("exact_length") == "not tried"
    assert set(told.values()) == {"works"}
    assert (
        "refused, as it should be: HTTP 400 (This model's maximum context"
        in (steps["over_context"]["found"])
    )
    assert steps["over_prompt"]["found"].startswith("refused, as it should be: HTTP 400")
    assert bodies[:2] == [{}, {"model": "m", "prompt": "One, two, three,", "max_tokens": 1}]
    assert bodies[2] == {**bodies[1], "stream": True}
    assert bodies[3] == {**bodies[2], "stream_options": {"include_usage": True}}
    assert bodies[4] == {**bodies[3], "temperature": 0.0}
    assert bodies[5] == {**bodies[4], "seed": 0}
    assert bodies[6] == {**bodies[4], "max_tokens": 16}
    assert steps["own_request"]["sent"]["body"] == bodies[-3]
    assert [len(body["prompt"].split()) for body in bodies[-3:]] == [8, 8, 8]


def answer_all(status: int, body: Any, headers: str = "") -> Twist:
    async def twist(call: Call) -> bool:
        await call.reply(status, body, headers)
        return True

    return twist


def answer_where(field: str, status: int, body: Any) -> Twist:
    """Answer so as soon as a body has this field."""

    async def twist(call: Call) -> bool:
        if not call.body or field not in call.body:
            return False
        await call.reply(status, body)
        return True

    return twist


def say(message: str) -> dict[str, Any]:
    return {"error": {"message": message}}


async def unlisted(call: Call) -> bool:
    if call.path.endswith("/models"):
        await call.reply(404, say("Not Found"))
    elif "max_tokens" in call.body:
        await call.reply(404, say("The model `x` does not exist."))
    else:
        await call.reply(400, say("model is missing"))
    return True


async def deaf_to_stream(call: Call) -> bool:
    if call.body and "max_tokens" in call.body:
        choices = [{"text": " four", "finish_reason": "length"}]
        await call.reply(200, {"choices": choices})
        return True
    return False


async def silent_on_usage(call: Call) -> bool:
    if call.body and call.body.get("stream"):
        await call.stream(text(" four"), text("", "length"), DONE)
        return True
    return False


async def talkative(call: Call) -> bool:
    if call.body and call.body.get("stream_options"):
        await call.stream(*[text(" a")] * 20, text("", "length"), usage(4, 20), DONE)
        return True
    return False


async def full(call: Call) -> bool:
    if call.body and call.body.get("max_tokens") == 16:
        await call.reply(500, say("CUDA out of memory. Tried to allocate 20.00 MiB"))
        return True
    return False


async def small(call: Call) -> bool:
    if call.body and call.body.get("max_tokens") == 4:
        await call.reply(400, say("request (401 tokens) exceeds the available context size"))
        return True
    return False


def take_one() -> Twist:
    """Answer one request of the workload, whose prompts have 8 words, and no more."""
    taken: list[Call] = []

    async def twist(call: Call) -> bool:
        if len(str((call.body or {}).get("prompt")).split()) == 8:
            taken.append(call)
            if len(taken) > 1:
                await call.reply(429, say("too many"))
                return True
        return False

    return twist


BAD_HEADER = say("Access denied: missing header api-key")


@pytest.mark.parametrize(
    ("twist", "step", "found", "means", "advice"),
    [
        pytest.param(answer_all(200, "<!doctype html><p>hi"), "base_url",
                     "a web page", "no OpenAI API at this path", "without /chat/completions",
                     id="web page"),
        pytest.param(answer_all(404, say("no")), "base_url",
                     r"/v1/models: HTTP 404 \(no\); http", "no OpenAI API", "HOST:PORT/v1",
                     id="wrong path"),
        pytest.param(answer_all(401, say("no key")), "key",
                     r"HTTP 401 \(no key\)", "it wants a key, none was sent", "api_key_env",
                     id="401 without a key"),
        pytest.param(answer_all(401, "", "WWW-Authenticate: Basic realm=x\r\n"), "key",
                     "HTTP 401", "it wants a key", "asks for Basic where labkit sends Bearer",
                     id="another scheme"),
        pytest.param(answer_all(403, BAD_HEADER), "key",
                     "HTTP 403", "it wants a key", "the key in the header api-key",
                     id="another header"),
        pytest.param(unlisted, "smallest",
                     "The model `x` does not exist", "not a name that it serves", "that it serves",
                     id="wrong model, no list"),
        pytest.param(answer_where("max_tokens", 200, say("model x not found")), "smallest",
                     "an error in HTTP 200", r"not a name that it serves; an error inside a suc",
                     "/v1/models lists", id="error in 200"),
        pytest.param(answer_where("max_tokens", 200, {"result": "four"}), "smallest",
                     "without choices, with keys result", "another form than OpenAI's",
                     "OpenAI-compatible", id="no choices"),
        pytest.param(answer_where("max_tokens", 404, "Not Found"), "smallest",
                     "HTTP 404", "does not offer completions", "set workload.endpoint to chat",
                     id="no such route"),
        pytest.param(deaf_to_stream, "stream",
                     "one whole answer", "", "does not stream, which TTFT needs", id="no stream"),
        pytest.param(answer_where("stream_options", 400, say("Extra inputs are not permitted")),
                     "usage", "Extra inputs are not permitted", "does not take this field",
                     "always asks for usage", id="no stream_options"),
        pytest.param(answer_where("temperature", 400, say("Unsupported value: temperature")),
                     "temperature", "Unsupported value", "does not take this field",
                     "set workload.temperature", id="no temperature"),
        pytest.param(talkative, "max_tokens", "20 completion tokens where max_tokens was 16",
                     "does not keep to max_tokens", "max_completion_tokens", id="too much"),
        pytest.param(full, "max_tokens", "CUDA out of memory", "memory of the device is full",
                     "set engine.max_num_seqs to 16, then", id="out of memory"),
        pytest.param(small, "own_request", r"HTTP 400 \(request \(401 tokens\) exceeds",
                     "do not fit into its context", "workload.completion_tokens", id="context"),
        pytest.param(take_one(), "few", "2 of 2 requests failed, first with HTTP 429",
                     "limits how many", "lower load.max_concurrency", id="rate limit"),
    ],
)  # fmt: skip
def test_a_fault_breaks_its_step(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    twist: Twist,
    step: str,
    found: str,
    means: str,
    advice: str,
) -> None:
    upto = STEPS.index(step) + 1  # what comes later costs time and says nothing of it
    monkeypatch.setattr(order, "list_steps", lambda params: list_steps(params)[:upto])
    with serve(offer(twist)) as server:
        steps = take_steps(tmp_path, {"base_url": server.url, "model": "m"})
    failed = [name for name, one in steps.items() if one["verdict"] == "fails"]
    assert failed == [step]
    one = steps[step]
    assert re.search(found, one["found"])
    assert re.search(means, one["meaning"])
    assert re.search(advice, one["advice"])
