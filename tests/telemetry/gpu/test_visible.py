"""CUDA_VISIBLE_DEVICES, read as CUDA reads it."""

import pytest

from labkit.telemetry.gpu.visible import choose_visible

UUIDS = ["GPU-aa11", "GPU-bb22", "GPU-bb33"]


@pytest.mark.parametrize(
    ("text", "indices"),
    [
        (None, [0, 1, 2]),
        ("", []),
        ("-1", []),
        ("2", [2]),
        ("2, 0", [0, 2]),
        ("1,7,0", [1]),
        ("GPU-bb22", [1]),
        ("gpu-bb22", []),
        ("GPU-AA", [0]),
        ("GPU-bb", []),
        ("MIG-cc44", [0, 1, 2]),
    ],
)
def test_of_one_kind(text: str | None, indices: list[int]) -> None:
    environment = {} if text is None else {"CUDA_VISIBLE_DEVICES": text}
    assert choose_visible(environment, ["H200"] * 3, UUIDS) == indices


def test_numbers_mean_nothing_where_kinds_differ_unless_the_order_is_told() -> None:
    names, asked = ["L4", "H200", "L4"], {"CUDA_VISIBLE_DEVICES": "0"}
    assert choose_visible(asked, names, UUIDS) == [0, 1, 2]
    assert choose_visible({**asked, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, names, UUIDS) == [0]
    assert choose_visible({"CUDA_VISIBLE_DEVICES": "GPU-bb33"}, names, UUIDS) == [2]


def test_a_uuid_that_is_not_told_is_never_met() -> None:
    assert choose_visible({"CUDA_VISIBLE_DEVICES": "GPU-aa"}, ["L4"], [None]) == []
