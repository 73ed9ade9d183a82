"""What failed points and requests were told, short enough for a sentence.

Of requests an example of each kind. It must not know how many failures are too many.
"""

import json
from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any

MAX_LENGTH = 200
MAX_ERROR_LENGTH = 320
KINDS = {
    "oom_load": "the device had not the memory that the model needs",
    "oom_profile": "the engine ran out of memory while it tried how much it needs",
    "oom_run": "the engine ran out of memory while it served",
    "kv_too_small": "the KV cache is too small for one request",
    "context_too_long": "max_model_len is more than the model has",
    "unknown_flag": "the engine does not know a setting that it was given",
    "bad_combination": "the engine refuses two settings together",
    "model_not_found": "the model was not found",
    "model_gated": "the model's licence must be accepted first",
    "port_in_use": "the port was taken",
    "no_driver": "no driver of a GPU was found",
}
"""Kinds of a point's error -> what happened, in words."""


def find_examples(failed: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return {error kind: its first message that says anything}, kinds in alphabetic order."""
    found: dict[str, str] = {}
    for request in failed:
        kind, message = str(request.get("error_kind") or "unknown"), request.get("error_message")
        text = " ".join(_unwrap(str(message or "")).split())
        if text and kind not in found:
            found[kind] = cut(text, MAX_LENGTH)
    return dict(sorted(found.items()))


def cut(text: str, most: int) -> str:
    """Return a text of at most so many characters, cut between words, with … where it was."""
    short = shorten(text, most, placeholder=" …")
    # one long word has no place to be cut at
    return short if short != "…" else f"{text[: most - 1]}…"


def tell_failure(kind: Any, error: Any) -> str:
    """Return what ended a point: its kind in words and the beginning of the error; or nothing."""
    told = f", {KINDS[kind]} ({kind})" if kind in KINDS else ""
    return f"{told}: {cut(str(error), MAX_ERROR_LENGTH).rstrip('.')}" if error else told


def _unwrap(message: str) -> str:
    """Return the sentence inside an error that a server sent as JSON, else the text as it is."""
    try:
        document = json.loads(message)
    except ValueError:
        return message
    inner = document.get("error", document) if isinstance(document, dict) else None
    told = inner.get("message") if isinstance(inner, dict) else inner
    return told if isinstance(told, str) and told else message


def tell_examples(examples: Mapping[str, str]) -> str:
    """Return the examples behind a colon, each with its kind; nothing where there is none."""
    told = [
        f"{kind}: \N{LEFT DOUBLE QUOTATION MARK}{text}\N{RIGHT DOUBLE QUOTATION MARK}"
        for kind, text in examples.items()
    ]
    return f": {'; '.join(told)}" if told else ""
