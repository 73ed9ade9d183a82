"""The fields of an engine's sample."""

import math

import pytest

from labkit.errors import EngineError
from labkit.telemetry.engine import FIELDS, read_engine


def test_what_is_not_told_is_none() -> None:
    row = read_engine(lambda: {"num_requests_running": 3, "kv_cache_usage": 0.25, "other": 1})
    assert tuple(row) == FIELDS
    assert row["num_requests_running"] == 3
    assert row["kv_cache_usage"] == 0.25
    assert [name for name, value in row.items() if value is not None] == [
        "num_requests_running",
        "kv_cache_usage",
    ]


@pytest.mark.parametrize("value", [math.nan, math.inf, "3", True, None])
def test_what_is_no_number_is_none(value: object) -> None:
    assert read_engine(lambda: {"num_preemptions": value})["num_preemptions"] is None


def test_zero_is_a_number() -> None:
    assert read_engine(lambda: {"num_requests_waiting": 0})["num_requests_waiting"] == 0


def test_an_error_is_passed_on() -> None:
    def fail() -> dict[str, int]:
        raise EngineError("expected metrics, found nothing; look at the log")

    with pytest.raises(EngineError, match="expected metrics"):
        read_engine(fail)
