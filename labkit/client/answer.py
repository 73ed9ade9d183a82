"""From the events of one stream to what they say: stamps of text, usage, and whether it is whole.

The first token is the first non-empty text, reasoning or tool delta: not a role, not a comment,
not usage. A stream is an answer only if it told a finish_reason and held something. Pure; it must
not know sockets, clients, or how a latency is derived.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json

from labkit.client.sse import Event

MAX_EVENT_CHARS = 200
MAX_BODY_CHARS = 1800
"""Of what is quoted. A key is taken out before the cut, which could leave a part of it."""


@dataclass(slots=True)
class Answer:
    """What a stream said so far; feed it its events one by one, then ask `find_fault`.

    `redact` takes the key out of what a fault quotes.
    """

    redact: Callable[[str], str] = str
    chunk_at_s: list[float] = field(default_factory=list)
    usage: Mapping[str, Any] = field(default_factory=dict)
    finish_reason: str | None = None
    prefill_s: float | None = None
    """What the engine itself timed for the prompt, where it tells (llama.cpp: `timings`)."""
    num_events: int = 0
    done: bool = False
    fault: tuple[str, str] | None = None
    """The first thing that was wrong: (error_kind, message)."""
    _said: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text that came, without reasoning and tool calls."""
        return "".join(self._said)

    def take(self, event: Event) -> None:
        """Read one event; what is wrong with it is kept in `fault`, never raised."""
        if event.data.strip() == "[DONE]":
            self.done = True
            return
        try:
            chunk = from_json(event.data)
        except ValueError:
            if event.complete:
                self._blame("malformed", f"expected JSON in an event, found {self._quote(event)}")
            return
        self.num_events += 1
        if not isinstance(chunk, dict):
            self._blame("malformed", f"expected a JSON object, found {self._quote(event)}")
            return
        if chunk.get("error"):
            self._blame("stream_error", read_error(chunk["error"]))
            return
        if isinstance(usage := chunk.get("usage"), dict):
            self.usage = usage
        if isinstance(timings := chunk.get("timings"), dict):
            self.prefill_s = read_prefill(timings)
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return
        if has_text(choice):
            self.chunk_at_s.append(event.at_s)
            self._said.append(read_text(choice))
        if choice.get("finish_reason"):
            self.finish_reason = str(choice["finish_reason"])

    def find_fault(self) -> tuple[str, str] | None:
        """Return (error_kind, message) of a stream that ended by itself, None if it is whole."""
        if self.fault:
            return self.fault
        if self.num_events == 0 and not self.done:
            return "bad_body", "expected a stream of events with choices, found none"
        if self.finish_reason is None:
            if self.done:
                return "no_finish_reason", "the stream ended with [DONE] but told no finish_reason"
            return "truncated", "the stream ended without finish_reason and without [DONE]"
        if self.finish_reason == "error":
            return "stream_error", "the stream ended with finish_reason error"
        if not self.chunk_at_s:
            return "empty", f"no text came, finish_reason {self.finish_reason}"
        return None

    def _quote(self, event: Event) -> str:
        return repr(self.redact(event.data)[:MAX_EVENT_CHARS])

    def _blame(self, kind: str, message: str) -> None:
        if self.fault is None:
            self.fault = (kind, message)


def has_text(choice: Mapping[str, Any]) -> bool:
    """Return whether a choice carries generated text, reasoning, or a part of a tool call."""
    if choice.get("text"):
        return True
    delta = choice.get("delta")
    if not isinstance(delta, dict):
        return False
    return any(
        delta.get(key) for key in ("content", "reasoning_content", "reasoning", "refusal")
    ) or any(_has_call(call) for call in (delta.get("tool_calls") or []))


def read_text(choice: Mapping[str, Any]) -> str:
    """Return the text of a choice; reasoning and tool calls are no text."""
    delta = choice.get("delta")
    text = choice.get("text") or (delta.get("content") if isinstance(delta, dict) else None)
    return text if isinstance(text, str) else ""


def _has_call(call: Any) -> bool:
    function = call.get("function") if isinstance(call, dict) else None
    return isinstance(function, dict) and bool(function.get("name") or function.get("arguments"))


def read_body(body: bytes, redact: Callable[[str], str]) -> tuple[str, str]:
    """Return (error_kind, message) of a body without events: an error object, or something else.

    `redact` takes the key out of what is quoted.
    """
    text = body.decode("utf-8", errors="replace")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, dict) and document.get("error"):
        return "stream_error", read_error(document["error"])
    quoted = repr(redact(text)[:MAX_BODY_CHARS])
    return "bad_body", f"expected a stream of events with choices, found {quoted}"


def read_error(error: Any) -> str:
    """Return the text of an error object, whatever its shape."""
    if isinstance(error, dict):
        for key in ("message", "detail", "error"):
            if error.get(key):
                return read_error(error[key])
        return json.dumps(error)
    return str(error)


def read_prefill(timings: Mapping[str, Any]) -> float | None:
    """Return the time in prefill in s from llama.cpp's `prompt_ms`, None where it was not told."""
    value = timings.get("prompt_ms")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        return None
    return float(value) / 1000


def read_count(usage: Mapping[str, Any], *path: str) -> int | None:
    """Return a token count somewhere in a usage object, None where it was not told."""
    value: Any = usage
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
