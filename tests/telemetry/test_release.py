"""GPU memory after a stop, from a library in the place of NVIDIA's."""

import pytest
from telemetry.gpu.library import MIB, Board, Library

from labkit.telemetry.release import read_used, wait_released


@pytest.fixture(autouse=True)
def every_gpu_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_what_is_used_now(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = Library().load(monkeypatch)
    assert read_used(nvml) == {0: 1000 * MIB, 1: 2000 * MIB}
    assert read_used(nvml, {"CUDA_VISIBLE_DEVICES": "1"}) == {1: 2000 * MIB}
    assert read_used(Library([]).load(monkeypatch)) is None


def test_the_instances_of_a_gpu_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    instances: list[Board | None] = [Board("MIG-1", used=3), Board("MIG-2", used=4)]
    nvml = Library([Board("GPU-a", instances=instances)]).load(monkeypatch)
    assert read_used(nvml, {"CUDA_VISIBLE_DEVICES": "MIG-1,MIG-2"}) == {0: 7}


def test_memory_that_is_back_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = Library().load(monkeypatch)
    assert wait_released({0: 900 * MIB, 1: 2000 * MIB}, timeout_s=0, nvml=nvml) == {}


def test_memory_that_stays_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = Library().load(monkeypatch)
    held = wait_released({0: 1000 * MIB, 1: 500 * MIB}, timeout_s=0, nvml=nvml)
    assert held == {1: 1500 * MIB}


def test_without_a_gpu_there_is_nothing_to_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = Library().load(monkeypatch)
    assert wait_released(None, nvml=nvml) == {}
