"""One request, as a workload asks for it. It must know nothing else of labkit."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent once; `prompt_tokens` and `max_tokens` are what was asked, not what came."""

    request_id: str
    prompt: str
    prompt_tokens: int
    max_tokens: int
