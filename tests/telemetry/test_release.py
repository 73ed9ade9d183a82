"""GPU memory after a stop, from the scripted NVML of test_gpu."""

from telemetry.test_gpu import MIB, Nvml

from labkit.telemetry.release import read_used, wait_released


def test_what_is_used_now() -> None:
    assert read_used(Nvml()) == {0: 1000 * MIB, 1: 2000 * MIB}
    assert read_used(Nvml(count=0)) is None


def test_memory_that_is_back_ends_the_wait() -> None:
    assert wait_released({0: 900 * MIB, 1: 2000 * MIB}, timeout_s=0, nvml=Nvml()) == {}


def test_memory_that_stays_is_told() -> None:
    held = wait_released({0: 1000 * MIB, 1: 500 * MIB}, timeout_s=0, nvml=Nvml())
    assert held == {1: 1500 * MIB}


def test_without_a_gpu_there_is_nothing_to_wait_for() -> None:
    assert wait_released(None, nvml=Nvml()) == {}
