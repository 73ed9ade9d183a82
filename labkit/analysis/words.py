"""Numbers as a reader wants them: three significant digits, a unit, plain English.

It formats and never computes; it knows nothing about points or runs.
"""

import json
import math
from collections.abc import Sequence
from typing import Any


def number(value: float) -> str:
    """Return the number with three significant digits, thousands apart, no idle zeros."""
    if value == 0:
        return "0"
    digits = 2 - math.floor(math.log10(abs(value)))
    rounded = round(value, digits)
    if digits <= 0:
        return f"{rounded:,.0f}"
    return f"{rounded:,.{digits}f}".rstrip("0").rstrip(".")


def seconds(value: float) -> str:
    """Return a duration given in seconds as "1.2 s", or as "12 ms" below one second."""
    return f"{number(value)} s" if abs(value) >= 0.9995 else f"{number(value * 1000)} ms"


def percent(share: float) -> str:
    """Return a share (0..1) as "41 %"."""
    return f"{number(share * 100)} %"


def per_second(value: float, unit: str) -> str:
    """Return a rate as "142 tokens/s"."""
    return f"{number(value)} {unit}/s"


def tokens_per_second(value: float) -> str:
    """Return a rate as "142 tokens/s"."""
    return per_second(value, "tokens")


def gibibytes(value: float) -> str:
    """Return bytes as "1.23 GiB", or as "45 MiB" below one GiB."""
    if value >= 2**30:
        return f"{number(value / 2**30)} GiB"
    return f"{number(value / 2**20)} MiB"


def setting(value: Any) -> str:
    """Return a swept value as text: on, off, default, a plain number, or the text itself."""
    if value is None:
        return "default"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int | str):
        return str(value)
    if isinstance(value, float):
        return f"{value:g}"
    return json.dumps(value, sort_keys=True)


def short(variable: str | None) -> str:
    """Return the last dotted part of a swept variable ("engine.max_num_seqs" -> max_num_seqs)."""
    return variable.rsplit(".", 1)[-1] if variable else "setting"


def place(variable: str | None, value: Any) -> str:
    """Return a setting as "max_concurrency 8", a rate of requests as "5.66 requests/s"."""
    if variable is not None and variable.endswith("request_rate_per_s"):
        return per_second(float(value), "request" if value == 1 else "requests")
    return f"{short(variable)} {setting(value)}"


def places(variable: str | None, low: Any, high: Any) -> str:
    """Return two settings as "max_concurrency 4 and 8", two rates as "4 and 5.66 requests/s"."""
    if place(variable, high).endswith("/s"):
        return f"{number(float(low))} and {place(variable, high)}"
    return f"{place(variable, low)} and {setting(high)}"


def join(parts: Sequence[str]) -> str:
    """Return "a", "a and b" or "a, b and c"."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def count(amount: int, noun: str) -> str:
    """Return "1 request", "2 requests"."""
    return f"{amount:,} {noun}" if amount == 1 else f"{amount:,} {noun}s"
