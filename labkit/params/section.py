"""What every section of a params file is: strict and frozen; and the kinds of number in it."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

PositiveInt = Annotated[int, Field(ge=1)]
PositiveFloat = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Fraction = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]


class Section(BaseModel):
    """A part of the params file: unknown keys are refused, values are never converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
