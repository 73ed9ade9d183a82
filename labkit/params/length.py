"""How many tokens a prompt or a completion has: a number, or a distribution to draw it from."""

from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from labkit.params.section import PositiveFloat, PositiveInt, Section

MAX_TOKENS = 10_000_000
"""Longer than any model reads: a larger count is a slip, and its text would fill the memory."""

Number = TypeVar("Number", int, float)


def _check_most(count: Number) -> Number:
    if count > MAX_TOKENS:
        raise ValueError(f"must be at most {MAX_TOKENS:,} tokens, longer than any model reads")
    return count


TokenCount = Annotated[PositiveInt, AfterValidator(_check_most)]
TokenCountOrZero = Annotated[int, Field(ge=0), AfterValidator(_check_most)]
"""0 leaves it out."""
Spread = Annotated[PositiveFloat, AfterValidator(_check_most)]

NUMBER, DISTRIBUTION = "a number", "a distribution"


class Distribution(Section):
    """A token count that is drawn per request, seeded, and kept within [low, high]."""

    kind: Literal["uniform", "normal"]
    low: TokenCount
    high: TokenCount
    mean: Spread | None = None
    stddev: Spread | None = None

    @model_validator(mode="after")
    def _check_bounds(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"low must be at most high, found {self.low} and {self.high}")
        if (self.kind == "normal") != (self.mean is not None and self.stddev is not None):
            raise ValueError("mean and stddev belong to kind normal, which needs both")
        return self


def _name_form(data: Any) -> str:
    return DISTRIBUTION if isinstance(data, dict | Distribution) else NUMBER


Length = Annotated[
    Annotated[TokenCount, Tag(NUMBER)] | Annotated[Distribution, Tag(DISTRIBUTION)],
    Discriminator(_name_form),
]
"""A token count, or a distribution of it."""
