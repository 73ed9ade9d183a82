"""GPU rows from a scripted NVML that raises the real package's own errors."""

import sys
from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

from labkit.telemetry.gpu import describe_gpus, open_gpus, probe

MIB = 1024**2


class Nvml:
    """Two GPUs with hand-made numbers; a function named in `failing` raises what it maps to."""

    def __init__(self, failing: dict[str, int] | None = None, count: int = 2) -> None:
        self.failing = failing or {}
        self.count = count
        self.num_open = 0
        self.answers = {
            "nvmlDeviceGetCount": lambda: self.count,
            "nvmlDeviceGetHandleByIndex": lambda index: index,
            "nvmlDeviceGetName": lambda handle: "NVIDIA Test",
            "nvmlDeviceGetUUID": lambda handle: f"GPU-{handle}",
            "nvmlSystemGetDriverVersion": lambda: "580.1",
            "nvmlDeviceGetMemoryInfo": self.memory,
            "nvmlDeviceGetUtilizationRates": lambda handle: SimpleNamespace(gpu=37, memory=5),
            "nvmlDeviceGetPowerUsage": lambda handle: 250_500,
            "nvmlDeviceGetTemperatureV": lambda handle, sensor: 61,
            "nvmlDeviceGetTemperature": lambda handle, sensor: 60,
            "nvmlDeviceGetClockInfo": lambda handle, kind: {1: 1980, 2: 3201}[kind],
            "nvmlDeviceGetComputeRunningProcesses": lambda handle: [
                SimpleNamespace(pid=11, usedGpuMemory=700 * MIB),
                SimpleNamespace(pid=12, usedGpuMemory=None),
            ],
            "nvmlInit": lambda: self.count_open(1),
            "nvmlShutdown": lambda: self.count_open(-1),
        }

    def count_open(self, change: int) -> None:
        self.num_open += change

    def memory(self, handle: int, version: int | None = None) -> Any:
        if version is not None and "v2" in self.failing:
            raise pynvml.NVMLError(self.failing["v2"])
        reserved = 0 if version is not None else 500 * MIB
        return SimpleNamespace(used=1000 * MIB * (handle + 1) + reserved, total=80_000 * MIB)

    def __getattr__(self, name: str) -> Any:
        if name not in self.answers:
            return getattr(pynvml, name)
        if name in self.failing:

            def fail(*arguments: Any, **options: Any) -> Any:
                raise pynvml.NVMLError(self.failing[name])

            return fail
        return self.answers[name]


def sample(nvml: Nvml) -> list[dict[str, Any]]:
    gpus, reason = open_gpus(nvml, {})
    assert gpus is not None
    assert reason is None
    try:
        return gpus.sample()
    finally:
        gpus.close()


def test_every_field_of_every_gpu() -> None:
    nvml = Nvml()
    first, second = sample(nvml)
    assert first == {
        "gpu_index": 0,
        "gpu_name": "NVIDIA Test",
        "gpu_memory_used_bytes": 1000 * MIB,
        "gpu_memory_total_bytes": 80_000 * MIB,
        "gpu_utilization": 0.37,
        "gpu_power_w": 250.5,
        "gpu_temperature_c": 61,
        "gpu_sm_clock_hz": 1_980_000_000,
        "gpu_memory_clock_hz": 3_201_000_000,
        "gpu_processes": [
            {"pid": 11, "gpu_memory_used_bytes": 700 * MIB},
            {"pid": 12, "gpu_memory_used_bytes": None},
        ],
        "error": None,
    }
    assert (second["gpu_index"], second["gpu_memory_used_bytes"]) == (1, 2000 * MIB)
    assert nvml.num_open == 0


@pytest.mark.parametrize(
    ("function", "fields"),
    [
        ("nvmlDeviceGetName", {"gpu_name"}),
        ("nvmlDeviceGetUUID", set()),
        ("nvmlDeviceGetMemoryInfo", {"gpu_memory_used_bytes", "gpu_memory_total_bytes"}),
        ("nvmlDeviceGetUtilizationRates", {"gpu_utilization"}),
        ("nvmlDeviceGetPowerUsage", {"gpu_power_w"}),
        ("nvmlDeviceGetClockInfo", {"gpu_sm_clock_hz", "gpu_memory_clock_hz"}),
        ("nvmlDeviceGetComputeRunningProcesses", {"gpu_processes"}),
    ],
)
@pytest.mark.parametrize(
    "code",
    [
        pynvml.NVML_ERROR_NOT_SUPPORTED,
        pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
        pynvml.NVML_ERROR_NO_PERMISSION,
    ],
)
def test_what_is_not_supported_is_none_and_the_rest_is_there(
    function: str, fields: set[str], code: int
) -> None:
    row = sample(Nvml({function: code}))[0]
    assert {field for field, value in row.items() if value is None} == fields | {"error"}


def test_a_lost_gpu_says_so() -> None:
    row = sample(Nvml({"nvmlDeviceGetPowerUsage": pynvml.NVML_ERROR_GPU_IS_LOST}))[0]
    assert row["gpu_power_w"] is None
    assert row["gpu_utilization"] == 0.37
    assert row["error"] == "gpu_power_w: GPU is lost"


def test_an_older_driver_is_asked_in_the_older_way() -> None:
    missing = pynvml.NVML_ERROR_FUNCTION_NOT_FOUND
    row = sample(Nvml({"v2": missing, "nvmlDeviceGetTemperatureV": missing}))[0]
    assert row["gpu_memory_used_bytes"] == 1500 * MIB
    assert row["gpu_temperature_c"] == 60


def test_only_visible_gpus_are_sampled() -> None:
    gpus, _ = open_gpus(Nvml(), {"CUDA_VISIBLE_DEVICES": "1"})
    assert gpus is not None
    assert [row["gpu_index"] for row in gpus.sample()] == [1]


@pytest.mark.parametrize(
    ("nvml", "environment", "reason"),
    [
        (Nvml({"nvmlInit": pynvml.NVML_ERROR_LIBRARY_NOT_FOUND}), {}, "no NVIDIA driver"),
        (Nvml({"nvmlInit": pynvml.NVML_ERROR_DRIVER_NOT_LOADED}), {}, "no NVIDIA driver"),
        (
            Nvml({"nvmlInit": pynvml.NVML_ERROR_NO_PERMISSION}),
            {},
            "NVML can't be opened (Insufficient Permissions)",
        ),
        (Nvml(count=0), {}, "NVML sees no GPU"),
        (Nvml(), {"CUDA_VISIBLE_DEVICES": ""}, "CUDA_VISIBLE_DEVICES hides every GPU"),
    ],
)
def test_the_reason_why_none_is_sampled(
    nvml: Nvml, environment: dict[str, str], reason: str
) -> None:
    expected = f"{reason}: GPU memory is not sampled"
    assert open_gpus(nvml, environment) == (None, expected)
    assert nvml.num_open == 0


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert probe() == (False, "nvidia-ml-py is not installed: GPU memory is not sampled")


def test_probe_and_description(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    nvml = Nvml()
    assert probe(nvml) == (True, None)
    assert describe_gpus(nvml) == {
        "driver": "580.1",
        "devices": ["0: NVIDIA Test, 80000 MiB", "1: NVIDIA Test, 80000 MiB"],
        "reason": None,
    }
    nothing = describe_gpus(Nvml(count=0))
    assert nothing["devices"] == []
    assert nothing["reason"] == "NVML sees no GPU: GPU memory is not sampled"
    assert nvml.num_open == 0


def test_the_machine_at_hand_is_told_the_same_way_twice() -> None:
    available, reason = probe()
    assert (reason is None) == available
    assert describe_gpus()["reason"] == reason


@pytest.mark.gpu
def test_a_real_gpu() -> None:
    gpus, reason = open_gpus()
    assert gpus is not None, reason
    row = gpus.sample()[0]
    assert row["gpu_name"]
    assert row["gpu_memory_total_bytes"] > 0
    assert 0 <= row["gpu_utilization"] <= 1
