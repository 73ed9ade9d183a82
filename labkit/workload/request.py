"""One request, as a workload asks for it, and all of them. It must know nothing else of labkit."""

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent once; `prompt_tokens` and `max_tokens` are what was asked, not what came."""

    request_id: str
    messages: tuple[tuple[str, str], ...]
    """(role, content), at least one; the last one's role is "user"."""
    max_tokens: int
    prompt_tokens: int | None
    """Of the whole prompt; None where nobody counted. With `carry` it takes the answers before
    it to be as long as they were asked."""
    task_id: str | None = None
    """The conversation or agent task; requests of one task stand in order, one after the other."""
    carry: bool = False
    """Whether the messages follow the whole conversation of the request before it in the task,
    the answer that really came included."""
    think_time_s: float = 0.0
    """Pause after the request before it in the task."""
    offset_s: float | None = None
    """When a trace sent it, from the first record of the trace that was kept."""
    response_format: dict[str, Any] | None = None


LengthsFrom = Literal["engine", "words", "file"]
"""Who counted prompt tokens: `engine` in the model's own vocabulary, `words` took one word for one
token, `file` left the texts as they are and nobody counted."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """The requests of a workload, and where they came from."""

    requests: list[Request]
    skipped: dict[str, int]
    """Reason -> records of the source that were left out."""
    source_sha256: str | None
    """Of the file that it was read from."""
    lengths_from: LengthsFrom
