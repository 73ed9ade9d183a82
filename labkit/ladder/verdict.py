"""What a step is judged to be, what it is judged by, and what an answer said.

It must not know any step.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Verdict = Literal["works", "fails", "not offered", "not tried"]
SHOWN_CHARS = 60


@dataclass(frozen=True, slots=True)
class Judged:
    """One step's verdict; `meaning` and `advice` are empty where there is nothing to say."""

    verdict: Verdict
    found: str
    meaning: str = ""
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """What an answer is held against."""

    base_url: str
    model: str
    served: tuple[str, ...]
    endpoint: str
    body: Mapping[str, Any]
    key_place: str | None = None
    """Where the key is, in words."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What an answer said."""

    text: str
    finish_reason: str | None
    prompt_tokens: int | None
    completion_tokens: int | None


def works(heard: Heard, *, meaning: str = "", advice: str = "") -> Judged:
    """Return that a step works, and what came in a few words."""
    counts = [
        f"{count} {name}"
        for count, name in (
            (heard.prompt_tokens, "prompt"),
            (heard.completion_tokens, "completion"),
        )
        if count is not None
    ]
    tokens = f"{' and '.join(counts)} tokens" if counts else "no usage"
    text = heard.text if len(heard.text) <= SHOWN_CHARS else f"{heard.text[:SHOWN_CHARS]}..."
    return Judged(
        "works", f"{text!r}, {tokens}, finish_reason {heard.finish_reason}", meaning, advice
    )
