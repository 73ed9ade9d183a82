"""Clock limits, memory errors and strangers on a GPU by hand: a load from 10 to 14 s."""

from typing import Any

import pytest
from analysis.facts import records, request

from labkit.analysis.metrics import summarize_point

GIB = 2**30


def summarize(processes: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """Four samples inside the load, of which one is held back by power; 2 errors come."""
    samples = [
        {
            "source": "gpu",
            "at_s": 10.5 + number,
            "gpu_index": 0,
            "error": None,
            "gpu_throttle_reasons": ["sw_power_cap"] if number == 1 else [],
            "gpu_ecc_errors_total": 5 if number < 2 else 7,
            "gpu_processes": there,
        }
        for number, there in enumerate(processes)
    ]
    gpu = {"available": True, "reason": None, "devices": ["0: H200, 8 MiB"]}
    return summarize_point(records([request()], samples, gpu=gpu))


def process(size: int, foreign: bool | None = True) -> dict[str, Any]:
    return {"pid": 7, "name": "train", "gpu_memory_used_bytes": size, "foreign": foreign}


@pytest.mark.parametrize(("size", "doubted"), [(3 * GIB, True), (GIB, False)])
def test_a_stranger_is_shown_and_doubted_above_a_gibibyte(size: int, doubted: bool) -> None:
    row = summarize([[], [process(size)], [process(5)], []])
    assert row["gpu_state"] == {
        "devices": ["0: H200, 8 MiB"],
        "throttle_reasons": {"sw_power_cap": 0.25},
        "ecc_errors": 2,
        "foreign_processes": [{"pid": 7, "name": "train", "gpu_memory_used_bytes": size}],
    }
    told = "another process (train, pid 7) held 3 GiB of GPU memory"
    assert (told in row["validity_reasons"]) == doubted


def test_nobody_is_accused_where_it_cannot_be_told() -> None:
    row = summarize([[process(3 * GIB, None)]] * 4)
    assert row["gpu_state"]["foreign_processes"] is None
    assert "can't be told" in row["null_reasons"]["gpu_state.foreign_processes"]
    assert not [one for one in row["validity_reasons"] if "another process" in one]
    assert summarize([[process(3 * GIB, False)]] * 4)["gpu_state"]["foreign_processes"] == []


def test_without_a_gpu_there_is_a_reason() -> None:
    row = summarize_point(records([request()]))
    assert row["gpu_state"] is None
    assert row["null_reasons"]["gpu_state"] == "no NVIDIA driver"
