"""A whole OpenAI endpoint for the ladder, good in all that it is not told to be bad in."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from scripted import DONE, Call, delta, text, usage

from labkit.ladder import climb
from labkit.params.read import parse_params
from labkit.records import RunFolder
from labkit.request import create_run

ROOM_TOKENS = 256
Twist = Callable[[Call], Awaitable[bool]]
"""Answers a call and returns True, or leaves it to the good endpoint."""


async def leave(call: Call) -> bool:
    return False


def offer(twist: Twist = leave, prefix: str = "/v1") -> Callable[[Call], Awaitable[None]]:
    """Return a script that answers well below `prefix`, but for what `twist` answers."""

    async def script(call: Call) -> None:
        if await twist(call):
            return
        if call.path == f"{prefix}/models":
            await call.reply(200, {"data": [{"id": "m", "max_model_len": ROOM_TOKENS}]})
        elif call.path == f"{prefix}/completions":
            await answer(call, chat=False)
        elif call.path == f"{prefix}/chat/completions":
            await answer(call, chat=True)
        else:
            await call.reply(404, {"error": {"message": "Not Found"}})

    return script


async def answer(call: Call, *, chat: bool) -> None:
    body = call.body
    if "max_tokens" not in body:
        await call.reply(400, {"error": {"message": "max_tokens is missing"}})
        return
    prompt = body["messages"][0]["content"] if chat else body["prompt"]
    num_prompt, limit = len(prompt.split()), body["max_tokens"]
    if num_prompt + limit > ROOM_TOKENS:
        message = f"This model's maximum context length is {ROOM_TOKENS} tokens."
        await call.reply(400, {"error": {"message": message}})
        return
    words = [f" {number}" for number in range(limit)]
    if "response_format" in body:
        words = ['{"answer"', ': "yes"}']
    ended = "length"
    if stop := (body.get("stop") or [None])[0]:
        words, ended = ["".join(words).partition(stop)[0]], "stop"
    counts = {"prompt_tokens": num_prompt, "completion_tokens": len(words)}
    if not body.get("stream"):
        said = "".join(words)
        choice = {"message": {"content": said}} if chat else {"text": said}
        await call.reply(200, {"choices": [{**choice, "finish_reason": ended}], "usage": counts})
        return
    if chat:
        pieces = [*(delta({"content": word}) for word in words), delta({}, ended)]
    else:
        pieces = [*(text(word) for word in words), text("", ended)]
    if body.get("stream_options"):
        pieces.append(usage(num_prompt, len(words)))
    await call.stream(*pieces, DONE)


def take_steps(folder: Path, engine: dict[str, Any], **sections: Any) -> dict[str, dict[str, Any]]:
    """Climb the ladder of an endpoint and return its records by step."""
    data = {
        "name": "small",
        "notebook": "verify",
        "engine": {"kind": "endpoint", **engine},
        "workload": {
            "kind": "synthetic", "num_requests": 4, "prompt_tokens": 8, "completion_tokens": 4
        },
        "load": {"max_concurrency": 2, "request_timeout_s": 10.0},
        **sections,
    }  # fmt: skip
    run = create_run(parse_params(json.loads(json.dumps(data)), source="test"), [], folder)
    climb(run, lambda event: None)
    return {one["step"]: one for one in RunFolder.open(run.path).ladder()}
