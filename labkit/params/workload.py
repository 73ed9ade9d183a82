"""The requests that every point is given, as a params file says them.

Each kind is a section of its own with the fields of `Traffic` in common. It must not know how
requests are made or sent.
"""

from typing import Literal, Self

from pydantic import model_validator

from labkit.params.section import NotNegative, PositiveFloat, PositiveInt, Section


class Distribution(Section):
    """A token count that is drawn per request, seeded, and kept within [low, high]."""

    kind: Literal["uniform", "normal"]
    low: PositiveInt
    high: PositiveInt
    mean: PositiveFloat | None = None
    stddev: PositiveFloat | None = None

    @model_validator(mode="after")
    def _check_bounds(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"low must be at most high, found {self.low} and {self.high}")
        if (self.kind == "normal") != (self.mean is not None and self.stddev is not None):
            raise ValueError("mean and stddev belong to kind normal, which needs both")
        return self


class WorkloadParams(Section):
    """The requests that every point is given."""

    kind: Literal["synthetic"] = "synthetic"
    num_requests: PositiveInt
    seed: int = 0
    prompt_tokens: PositiveInt | Distribution
    completion_tokens: PositiveInt | Distribution
    endpoint: Literal["completions", "chat"] = "completions"
    salt: bool = True
    """Begin each prompt with words of its own, so that no cache serves one from another."""
    temperature: NotNegative = 0.0
