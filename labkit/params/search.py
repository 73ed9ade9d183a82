"""A search over one variable, as a params file says it: where to look, for what, how closely.

It must not know how the next value is chosen.
"""

from typing import Annotated, Self

from pydantic import Field, model_validator

from labkit.params.section import Fraction, PositiveFloat, PositiveInt, Section


class SearchParams(Section):
    """In place of values: find the highest one at which the SLO holds."""

    low: PositiveInt | PositiveFloat
    """Measured first: the SLO should hold there, best with hardly any load."""
    high: PositiveInt | PositiveFloat
    """Measured next: the SLO should not hold there."""
    share: Fraction = 0.9
    """The least share of the requests that must keep the SLO; a failed one does not."""
    steps: Annotated[int, Field(ge=1, le=50)] = 6
    """At most so many values between low and high."""
    tolerance: Annotated[float, Field(ge=0.01, le=1, allow_inf_nan=False)] = 0.1
    """It ends where the value that misses is at most this share above the one that holds."""
    duration_s: PositiveFloat | None = None
    """How long requests come at least, at any rate: where the workload's number of them would be
    over sooner, more are sent. A burst that ends before its queue has grown keeps any SLO."""

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.low >= self.high:
            raise ValueError(f"low must be below high, found {self.low:g} and {self.high:g}")
        return self
