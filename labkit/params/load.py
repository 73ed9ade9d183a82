"""How the requests are sent, as a params file says it."""

from typing import Annotated, Literal

from pydantic import Field

from labkit.params.section import PositiveFloat, PositiveInt, Section


class LoadParams(Section):
    """How the requests are sent."""

    mode: Literal["closed"] = "closed"
    max_concurrency: PositiveInt
    """Requests in flight; the next one is sent when one ends."""
    request_timeout_s: PositiveFloat = 120.0
    num_warmup_requests: Annotated[int, Field(ge=0)] = 2
    """Sent before the measurement, with other prompts, and not recorded."""
