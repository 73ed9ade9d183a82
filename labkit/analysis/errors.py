"""What failed requests were told, an example of each kind, short enough for a sentence.

It must not know how many failures are too many.
"""

import json
from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any

MAX_LENGTH = 200


def find_examples(failed: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return {error kind: its first message that says anything}, kinds in alphabetic order."""
    found: dict[str, str] = {}
    for request in failed:
        kind, message = str(request.get("error_kind") or "unknown"), request.get("error_message")
        text = " ".join(_unwrap(str(message or "")).split())
        if text and kind not in found:
            short = shorten(text, MAX_LENGTH, placeholder=" …")
            # one long word has no place to be cut at
            found[kind] = short if short != "…" else f"{text[: MAX_LENGTH - 1]}…"
    return dict(sorted(found.items()))


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
