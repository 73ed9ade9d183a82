"""How the requests are sent, as a params file says it."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from labkit.params.section import NotNegative, PositiveFloat, PositiveInt, Section

BELONGS = {
    "request_rate_per_s": ("open",),
    "burstiness": ("open",),
    "arrival": ("open",),
    "ramp_to_per_s": ("open",),
    "ramp_up_s": ("closed",),
    "speed": ("trace",),
}
"""Fields that mean something in some modes only."""


class LoadParams(Section):
    """How the requests are sent."""

    mode: Literal["closed", "open", "static_batch", "trace"] = "closed"
    """closed: so many in flight, the next is sent when one ends. open: sent on a schedule, however
    the engine fares. static_batch: so many at once, the next ones when all have ended. trace: sent
    when the workload's own time stamps say so."""
    max_concurrency: PositiveInt | None = None
    """Requests in flight; in static_batch the size of a batch. In open and trace a request that is
    due waits for its turn, and its latency from the intended time holds the wait."""
    request_rate_per_s: PositiveFloat | None = None
    """Mean arrivals per second of an open load."""
    arrival: Literal["gamma", "constant"] = "gamma"
    """Gaps between arrivals: drawn from a gamma distribution, or all the same."""
    burstiness: PositiveFloat = 1.0
    """Shape of the gamma distribution: 1 is a Poisson process, less comes in bursts."""
    ramp_to_per_s: PositiveFloat | None = None
    """The rate at the end of an open load, reached linearly from request_rate_per_s."""
    ramp_up_s: NotNegative = 0.0
    """Seconds over which a closed load reaches max_concurrency."""
    speed: PositiveFloat = 1.0
    """How much faster than recorded a trace is sent."""
    request_timeout_s: PositiveFloat = 120.0
    num_warmup_requests: Annotated[int, Field(ge=0)] | None = None
    """Sent before the measurement, with other prompts, and not counted; unset sends as many as
    are in flight at once, 8 where that is not limited."""
    num_workers: PositiveInt | None = None
    """Processes that send; unset takes as many as the load seems to need."""

    @model_validator(mode="after")
    def _check_mode(self) -> Self:
        for name, modes in BELONGS.items():
            if (
                self.mode not in modes
                and getattr(self, name) != type(self).model_fields[name].default
            ):
                raise ValueError(f"{name} belongs to mode {' or '.join(modes)}, not to {self.mode}")
        if self.mode in ("closed", "static_batch") and self.max_concurrency is None:
            raise ValueError(f"mode {self.mode} needs max_concurrency")
        if self.mode == "open" and self.request_rate_per_s is None:
            raise ValueError("mode open needs request_rate_per_s")
        if self.mode == "static_batch" and (self.num_workers or 1) > 1:
            raise ValueError("mode static_batch sends from one process; leave num_workers out")
        return self
