"""What goes over the wire for one request, and where the transport finds it.

The openai client hands a transport nothing but the HTTP request, so the exchange that the present
task is in is kept in a context variable. It must not know HTTP or what the bytes mean.
"""

from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass(slots=True)
class Exchange:
    """Stamps in monotonic seconds and the bytes of the answer's body, untouched.

    intended_at_s   when the schedule wants it sent.
    released_at_s   when schedule and free slot allow it; the transport waits until then.
    sent_at_s       when its first bytes were handed to the socket.
    """

    request_id: str
    intended_at_s: float
    released_at_s: float
    sent_at_s: float | None = None
    headers_at_s: float | None = None
    finished_at_s: float | None = None
    http_status: int | None = None
    pieces: list[tuple[float, bytes]] = field(default_factory=list)
    fault: tuple[str, str] | None = None
    """(error_kind, message) where the transport already knows that it went wrong."""
    task_id: str | None = None
    step: int | None = None
    wants_json: bool = False


current: ContextVar[Exchange] = ContextVar("exchange")
