"""What one GPU or MIG instance tells at a moment: a field -> the question that answers it.

Functions and units are those of NVIDIA's NVML API reference. It must not know who asks.
"""

from collections.abc import Callable
from typing import Any

from labkit.telemetry.gpu.answers import ask, ask_first
from labkit.telemetry.gpu.devices import Device

REASONS = {
    "GpuIdle": "idle",
    "ApplicationsClocksSetting": "applications_clocks_setting",
    "SwPowerCap": "sw_power_cap",
    "HwSlowdown": "hw_slowdown",
    "SyncBoost": "sync_boost",
    "SwThermalSlowdown": "sw_thermal_slowdown",
    "HwThermalSlowdown": "hw_thermal_slowdown",
    "HwPowerBrakeSlowdown": "hw_power_brake_slowdown",
    "DisplayClockSetting": "display_clock_setting",
}
"""NVML's name of a bit, after nvmlClocksEventReason -> labkit's."""

Questions = dict[str, Callable[[], Any]]


def read_device(nvml: Any, device: Device) -> dict[str, Any]:
    """Return one row: bytes, a share 0..1, W, J, °C, Hz, names of clock limits and a count.

    `error` tells the first field that failed for another reason than not being supported.
    """
    row: dict[str, Any] = {
        "gpu_index": device.index,
        "mig_index": device.mig_index,
        "gpu_name": device.name,
    }
    errors = []
    for field, question in _list_questions(nvml, device).items():
        row[field] = None
        if field not in device.untold:
            row[field], error = ask(nvml, question)
            if error is not None:
                errors.append(f"{field}: {error}")
    info = row.pop("gpu_memory")
    for kind in ("used", "total"):
        row[f"gpu_memory_{kind}_bytes"] = None if info is None else int(getattr(info, kind))
    row["error"] = errors[0] if errors else None
    return row


def name_reasons(nvml: Any, bits: int) -> list[str]:
    """Return the names of the limits on the clocks that are set in NVML's bits, sorted."""
    names = []
    for end, name in REASONS.items():
        bit: int = getattr(nvml, f"nvmlClocksEventReason{end}", 0)
        if bits & bit:
            names.append(name)
            bits &= ~bit
    return sorted([*names, *([f"other_{bits:#x}"] if bits else [])])


def _list_questions(nvml: Any, device: Device) -> Questions:
    """Memory and processes are those of the instance, all else is the board's."""
    own, board = device.handle, device.board
    return {
        # the first counts what the driver reserves for itself apart, as nvidia-smi does
        "gpu_memory": lambda: ask_first(
            nvml,
            lambda: nvml.nvmlDeviceGetMemoryInfo(own, version=nvml.nvmlMemory_v2),
            lambda: nvml.nvmlDeviceGetMemoryInfo(own),
        ),
        "gpu_utilization": lambda: nvml.nvmlDeviceGetUtilizationRates(board).gpu / 100,
        "gpu_power_w": lambda: nvml.nvmlDeviceGetPowerUsage(board) / 1000,
        "gpu_energy_total_j": lambda: nvml.nvmlDeviceGetTotalEnergyConsumption(board) / 1000,
        # the second is deprecated, but the only one that older drivers have
        "gpu_temperature_c": lambda: ask_first(
            nvml,
            lambda: nvml.nvmlDeviceGetTemperatureV(board, nvml.NVML_TEMPERATURE_GPU),
            lambda: nvml.nvmlDeviceGetTemperature(board, nvml.NVML_TEMPERATURE_GPU),
        ),
        "gpu_sm_clock_hz": lambda: _read_clock(nvml, board, nvml.NVML_CLOCK_SM),
        "gpu_memory_clock_hz": lambda: _read_clock(nvml, board, nvml.NVML_CLOCK_MEM),
        "gpu_throttle_reasons": lambda: name_reasons(
            nvml,
            ask_first(
                nvml,
                lambda: nvml.nvmlDeviceGetCurrentClocksEventReasons(board),
                lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(board),
            ),
        ),
        "gpu_ecc_errors_total": lambda: nvml.nvmlDeviceGetTotalEccErrors(
            board, nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC
        ),
        "gpu_processes": lambda: [
            {"pid": int(one.pid), "gpu_memory_used_bytes": one.usedGpuMemory}
            for one in ask_first(
                nvml,
                # not the one without a version: on an older driver it raises no NVMLError
                lambda: nvml.nvmlDeviceGetComputeRunningProcesses_v3(own),
                lambda: nvml.nvmlDeviceGetComputeRunningProcesses_v2(own),
            )
        ],
    }


def _read_clock(nvml: Any, board: Any, kind: int) -> int:
    return int(nvml.nvmlDeviceGetClockInfo(board, kind)) * 1_000_000
