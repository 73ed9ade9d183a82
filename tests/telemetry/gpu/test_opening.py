"""GPU rows by the real nvidia-ml-py, from a library in the place of NVIDIA's."""

import sys
from typing import Any

import pynvml
import pytest
from telemetry.gpu.library import MIB, Board, Library

from labkit.errors import ParamsError
from labkit.telemetry.gpu import check_gpus, describe_gpus, open_gpus, probe

Patch = pytest.MonkeyPatch


def sample(
    library: Library, patch: Patch, *, asked: list[int | str] | None = None, visible: str = ""
) -> list[dict[str, Any]]:
    environment = {"CUDA_VISIBLE_DEVICES": visible} if visible else {}
    gpus, reason = open_gpus(library.load(patch), environment, asked)
    assert gpus is not None, reason
    try:
        return gpus.sample()
    finally:
        gpus.close()


def test_every_field_of_every_gpu(monkeypatch: Patch) -> None:
    library = Library()
    first, second = sample(library, monkeypatch)
    assert first == {
        "gpu_index": 0,
        "mig_index": None,
        "gpu_name": "NVIDIA Test",
        "gpu_memory_used_bytes": 1000 * MIB,
        "gpu_memory_total_bytes": 80_000 * MIB,
        "gpu_utilization": 0.37,
        "gpu_power_w": 250.5,
        "gpu_energy_total_j": 5000.0,
        "gpu_temperature_c": 61,
        "gpu_sm_clock_hz": 1_980_000_000,
        "gpu_memory_clock_hz": 3_201_000_000,
        "gpu_throttle_reasons": ["hw_thermal_slowdown", "sw_power_cap"],
        "gpu_ecc_errors_total": 3,
        "gpu_processes": [
            {"pid": 11, "gpu_memory_used_bytes": 700 * MIB, "name": None, "foreign": None},
            {"pid": 12, "gpu_memory_used_bytes": None, "name": None, "foreign": None},
        ],
        "error": None,
    }
    assert (second["gpu_index"], second["gpu_memory_used_bytes"]) == (1, 2000 * MIB)
    assert library.num_open == 0


FIELDS = {
    "nvmlDeviceGetName": {"gpu_name"},
    "nvmlDeviceGetUUID": set(),
    "nvmlDeviceGetMigMode": set(),
    "nvmlDeviceGetUtilizationRates": {"gpu_utilization"},
    "nvmlDeviceGetPowerUsage": {"gpu_power_w"},
    "nvmlDeviceGetTotalEnergyConsumption": {"gpu_energy_total_j"},
    "nvmlDeviceGetClockInfo": {"gpu_sm_clock_hz", "gpu_memory_clock_hz"},
    "nvmlDeviceGetTotalEccErrors": {"gpu_ecc_errors_total"},
}


@pytest.mark.parametrize(("function", "fields"), FIELDS.items())
@pytest.mark.parametrize(
    "code", [None, pynvml.NVML_ERROR_NOT_SUPPORTED, pynvml.NVML_ERROR_NO_PERMISSION]
)
def test_what_is_not_supported_is_none_and_the_rest_is_there(
    function: str, fields: set[str], code: int | None, monkeypatch: Patch
) -> None:
    """Without a code the driver is so old that it lacks the symbol."""
    failing = {} if code is None else {function: code}
    missing = {function} if code is None else set()
    row = sample(Library(failing=failing, missing=missing), monkeypatch)[0]
    assert {field for field, value in row.items() if value is None} == fields | {
        "error",
        "mig_index",
    }


def test_a_lost_gpu_says_so(monkeypatch: Patch) -> None:
    lost = {"nvmlDeviceGetPowerUsage": pynvml.NVML_ERROR_GPU_IS_LOST}
    row = sample(Library(failing=lost), monkeypatch)[0]
    assert row["gpu_power_w"] is None
    assert row["gpu_utilization"] == 0.37
    assert row["error"] == "gpu_power_w: GPU is lost"


def test_an_older_driver_is_asked_in_the_older_way(monkeypatch: Patch) -> None:
    missing = {
        "nvmlDeviceGetMemoryInfo_v2",
        "nvmlDeviceGetTemperatureV",
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetComputeRunningProcesses_v3",
    }
    row = sample(Library(missing=missing), monkeypatch)[0]
    assert row["gpu_memory_used_bytes"] == 1500 * MIB
    assert row["gpu_temperature_c"] == 60
    assert row["gpu_throttle_reasons"] == ["hw_thermal_slowdown", "sw_power_cap"]
    assert [one["pid"] for one in row["gpu_processes"]] == [11, 12]


def test_a_driver_with_neither_way_tells_nothing(monkeypatch: Patch) -> None:
    missing = {f"nvmlDeviceGetCurrentClocks{kind}Reasons" for kind in ("Event", "Throttle")}
    row = sample(Library(missing=missing), monkeypatch)[0]
    assert (row["gpu_throttle_reasons"], row["error"]) == (None, None)


def test_a_reason_that_has_no_name_yet_is_kept(monkeypatch: Patch) -> None:
    library = Library([Board("GPU-a", reasons=0x1 | 0x8000)])
    assert sample(library, monkeypatch)[0]["gpu_throttle_reasons"] == ["idle", "other_0x8000"]


@pytest.mark.parametrize(
    ("asked", "visible", "indices"),
    [
        (None, "1", [1]),
        (None, "GPU-bb22", [1]),
        ([1, 0, 1], "0", [1, 0]),  # what is asked goes before what CUDA would use
        (["GPU-BB"], "", [1]),
    ],
)
def test_only_the_gpus_that_are_meant(
    asked: list[int | str] | None, visible: str, indices: list[int], monkeypatch: Patch
) -> None:
    rows = sample(Library(), monkeypatch, asked=asked, visible=visible)
    assert [row["gpu_index"] for row in rows] == indices


def split_board() -> Board:
    """A GPU in MIG mode: instances in its places 0 and 2."""
    own = [Board("MIG-11", used=10 * MIB, total=10_000 * MIB, processes=[(7, 5 * MIB)]), None]
    return Board("GPU-cc33", instances=[*own, Board("MIG-22", used=20 * MIB, processes=[])])


@pytest.mark.parametrize(("asked", "visible"), [(["MIG-22"], ""), (None, "MIG-22")])
def test_a_mig_instance_has_its_own_memory_and_no_power(
    asked: list[int | str] | None, visible: str, monkeypatch: Patch
) -> None:
    library = Library([Board("GPU-aa11"), split_board()])
    (row,) = sample(library, monkeypatch, asked=asked, visible=visible)
    assert (row["gpu_index"], row["mig_index"]) == (1, 2)
    assert row["gpu_memory_used_bytes"] == 20 * MIB
    assert row["gpu_temperature_c"] == 61
    untold = ("gpu_utilization", "gpu_power_w", "gpu_energy_total_j", "error")
    assert [row[name] for name in untold] == [None] * 4


def test_why_a_device_in_mig_mode_tells_less(monkeypatch: Patch) -> None:
    nvml = Library([Board("GPU-aa11"), split_board()]).load(monkeypatch)
    reasons = {}
    for asked in ("MIG-11", 1, 0):
        gpus, _ = open_gpus(nvml, {}, [asked])
        assert gpus is not None
        reasons[asked] = sorted(gpus.untold())
    assert reasons["MIG-11"] == ["gpu_energy_total_j", "gpu_power_w", "gpu_utilization"]
    assert reasons[1] == ["gpu_utilization"]
    assert reasons[0] == []
    both, _ = open_gpus(nvml, {}, [0, 1])
    assert both is not None
    assert both.untold() == {}


def test_a_name_of_older_drivers_leaves_every_gpu(monkeypatch: Patch) -> None:
    library = Library([Board("GPU-aa11"), split_board()])
    rows = sample(library, monkeypatch, visible="MIG-GPU-cc33/1/0")
    assert [row["gpu_index"] for row in rows] == [0, 1]


@pytest.mark.parametrize(
    ("library", "environment", "asked", "reason"),
    [
        ({"nvmlInitWithFlags": pynvml.NVML_ERROR_DRIVER_NOT_LOADED}, {}, None, "no NVIDIA driver"),
        (
            {"nvmlInitWithFlags": pynvml.NVML_ERROR_NO_PERMISSION},
            {},
            None,
            "NVML can't be opened (Insufficient Permissions)",
        ),
        (
            {"nvmlDeviceGetHandleByIndex_v2": pynvml.NVML_ERROR_GPU_IS_LOST},
            {},
            None,
            "NVML can't be opened (GPU is lost)",
        ),
        ([], {}, None, "NVML sees no GPU"),
        ({}, {"CUDA_VISIBLE_DEVICES": "-1"}, None, "CUDA_VISIBLE_DEVICES hides every GPU"),
        (
            {},
            {},
            [2],
            "expected a GPU 2, found none among 0 (GPU-aa11), 1 (GPU-bb22)",
        ),
        (
            {},
            {},
            ["GPU-"],
            "expected a GPU GPU-, found more than one among 0 (GPU-aa11), 1 (GPU-bb22)",
        ),
    ],
)
def test_the_reason_why_none_is_sampled(
    library: dict[str, int] | list[Board],
    environment: dict[str, str],
    asked: list[int | str] | None,
    reason: str,
    monkeypatch: Patch,
) -> None:
    fake = Library(library) if isinstance(library, list) else Library(failing=library)
    expected = f"{reason}: GPU memory is not sampled"
    assert open_gpus(fake.load(monkeypatch), environment, asked) == (None, expected)
    assert fake.num_open == 0


def test_without_the_library(monkeypatch: Patch) -> None:
    def refuse(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(pynvml, "nvmlLib", None)
    monkeypatch.setattr(pynvml, "CDLL", refuse)
    assert probe() == (False, "no NVIDIA driver: GPU memory is not sampled")


def test_without_the_package(monkeypatch: Patch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert probe() == (False, "nvidia-ml-py is not installed: GPU memory is not sampled")


def test_gpus_named_in_the_params_must_be_there(monkeypatch: Patch) -> None:
    nvml = Library().load(monkeypatch)
    check_gpus(None, nvml)
    check_gpus([0, "GPU-bb22"], nvml)
    with pytest.raises(ParamsError, match=r"^sampling.gpus: expected a GPU 5, found none among"):
        check_gpus([5], nvml)


def test_probe_and_description(monkeypatch: Patch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    library = Library()
    nvml = library.load(monkeypatch)
    assert probe(nvml) == (True, None)
    assert describe_gpus(nvml) == {
        "driver": "580.1",
        "devices": ["0: NVIDIA Test, 80000 MiB", "1: NVIDIA Test, 80000 MiB"],
        "reason": None,
    }
    assert library.num_open == 0


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
