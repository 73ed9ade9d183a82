"""One sample of each GPU through NVML, the library behind nvidia-smi.

A field that a GPU or its driver can't tell is None; nothing is estimated. NVML comes in as an
argument, so that a test hands over a scripted one. It must not know what runs on the GPU.
"""

import contextlib
import importlib
import os
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from labkit.telemetry.visible import choose_visible

NOT_SAMPLED = "GPU memory is not sampled"
NOT_TOLD = ("NOT_SUPPORTED", "FUNCTION_NOT_FOUND", "NO_PERMISSION", "ARGUMENT_VERSION_MISMATCH")
MISSING_DRIVER = ("LIBRARY_NOT_FOUND", "DRIVER_NOT_LOADED")


class Gpus:
    """The GPUs that CUDA_VISIBLE_DEVICES leaves visible; NVML stays open until `close`."""

    def __init__(self, nvml: Any, environment: Mapping[str, str]) -> None:
        """Open NVML. Raises NVMLError if it can't be opened."""
        nvml.nvmlInit()
        self._nvml = nvml
        self.close = weakref.finalize(self, _shut_down, nvml)
        every = [nvml.nvmlDeviceGetHandleByIndex(n) for n in range(nvml.nvmlDeviceGetCount())]
        names = [self._ask(nvml.nvmlDeviceGetName, handle)[0] for handle in every]
        uuids = [self._ask(nvml.nvmlDeviceGetUUID, handle)[0] for handle in every]
        self._devices = [
            (index, names[index], every[index])
            for index in choose_visible(environment, names, uuids)
        ]
        self.hidden = bool(every) and not self._devices

    def __len__(self) -> int:
        return len(self._devices)

    def sample(self) -> list[dict[str, Any]]:
        """Return one row a GPU: bytes, W, °C, Hz, and utilization as a share 0..1.

        Utilization is NVML's: the share of its last period, 1/6 s to 1 s, in which any kernel ran.
        Power is the driver's own average, over up to 1 s. A process is named by its pid on the
        host, which differs from the one that a container sees. `error` tells the first field that
        failed for another reason than not being supported, such as a GPU that was lost.
        """
        return [self._sample(*device) for device in self._devices]

    def describe(self) -> dict[str, Any]:
        """Return {"driver": version, "devices": ["0: name, memory in MiB", ...]}."""
        devices = []
        for row in self.sample():
            total = row["gpu_memory_total_bytes"]
            memory = "memory not told" if total is None else f"{total // 1024**2} MiB"
            devices.append(f"{row['gpu_index']}: {row['gpu_name'] or 'name not told'}, {memory}")
        return {"driver": self._ask(self._nvml.nvmlSystemGetDriverVersion)[0], "devices": devices}

    def _sample(self, index: int, name: str | None, handle: Any) -> dict[str, Any]:
        row: dict[str, Any] = {"gpu_index": index, "gpu_name": name}
        errors = []
        for read in (_memory, _utilization, _power, _temperature, _clocks, _processes):
            for field, ask in read(self._nvml, handle).items():
                row[field], error = self._ask(ask)
                if error is not None:
                    errors.append(f"{field}: {error}")
        for kind in ("used", "total"):
            info = row["gpu_memory"]
            row[f"gpu_memory_{kind}_bytes"] = None if info is None else int(getattr(info, kind))
        del row["gpu_memory"]
        row["error"] = errors[0] if errors else None
        return row

    def _ask(self, ask: Callable[..., Any], *arguments: Any) -> tuple[Any, str | None]:
        """Return (answer, None), or (None, why) where why is None for what can't be told at all."""
        try:
            return ask(*arguments), None
        except self._nvml.NVMLError as error:
            untold = _is_one_of(self._nvml, error, NOT_TOLD)
            return None, None if untold else str(error)


def open_gpus(
    nvml: Any = None, environment: Mapping[str, str] = os.environ
) -> tuple[Gpus | None, str | None]:
    """Return (the GPUs, None), or (None, the reason why none can be sampled)."""
    if nvml is None:
        try:
            nvml = importlib.import_module("pynvml")  # a machine without a GPU may lack it
        except ImportError:
            return None, f"nvidia-ml-py is not installed: {NOT_SAMPLED}"
    try:
        gpus = Gpus(nvml, environment)
    except nvml.NVMLError as error:
        if _is_one_of(nvml, error, MISSING_DRIVER):
            return None, f"no NVIDIA driver: {NOT_SAMPLED}"
        return None, f"NVML can't be opened ({error}): {NOT_SAMPLED}"
    if len(gpus):
        return gpus, None
    gpus.close()
    why = "CUDA_VISIBLE_DEVICES hides every GPU" if gpus.hidden else "NVML sees no GPU"
    return None, f"{why}: {NOT_SAMPLED}"


def probe(nvml: Any = None) -> tuple[bool, str | None]:
    """Return (whether a GPU can be sampled, the reason if not)."""
    gpus, reason = open_gpus(nvml)
    if gpus is not None:
        gpus.close()
    return gpus is not None, reason


def describe_gpus(nvml: Any = None) -> dict[str, Any]:
    """Return {"driver", "devices", "reason"}; devices is empty and reason told where none is."""
    gpus, reason = open_gpus(nvml)
    if gpus is None:
        return {"driver": None, "devices": [], "reason": reason}
    try:
        return {**gpus.describe(), "reason": None}
    finally:
        gpus.close()


def _memory(nvml: Any, handle: Any) -> dict[str, Callable[[], Any]]:
    def ask() -> Any:
        try:  # the first counts what the driver reserves for itself apart, as nvidia-smi does
            return nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2)
        except nvml.NVMLError as error:
            if not _is_one_of(nvml, error, NOT_TOLD):
                raise
            return nvml.nvmlDeviceGetMemoryInfo(handle)

    return {"gpu_memory": ask}


def _utilization(nvml: Any, handle: Any) -> dict[str, Callable[[], Any]]:
    return {"gpu_utilization": lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100}


def _power(nvml: Any, handle: Any) -> dict[str, Callable[[], Any]]:
    return {"gpu_power_w": lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1000}


def _temperature(nvml: Any, handle: Any) -> dict[str, Callable[[], Any]]:
    def ask() -> Any:
        try:  # the second is deprecated, but the only one that older drivers have
            return nvml.nvmlDeviceGetTemperatureV(handle, nvml.NVML_TEMPERATURE_GPU)
        except nvml.NVMLError as error:
            if not _is_one_of(nvml, error, NOT_TOLD):
                raise
            return nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)

    return {"gpu_temperature_c": ask}


def _clocks(nvml: Any, handle: Any) -> dict[str, Callable[[], Any]]:
    def ask(kind: int) -> Any:
        return nvml.nvmlDeviceGetClockInfo(handle, kind) * 1_000_000

    return {
        "gpu_sm_clock_hz": lambda: ask(nvml.NVML_CLOCK_SM),
        "gpu_memory_clock_hz": lambda: ask(nvml.NVML_CLOCK_MEM),
    }


def _processes(nvml: Any, handle: Any) -> dict[str, Callable[[], Any]]:
    def ask() -> Any:
        return [
            {"pid": int(process.pid), "gpu_memory_used_bytes": process.usedGpuMemory}
            for process in nvml.nvmlDeviceGetComputeRunningProcesses(handle)
        ]

    return {"gpu_processes": ask}


def _is_one_of(nvml: Any, error: Any, names: tuple[str, ...]) -> bool:
    return error.value in [getattr(nvml, f"NVML_ERROR_{name}", None) for name in names]


def _shut_down(nvml: Any) -> None:
    with contextlib.suppress(nvml.NVMLError):
        nvml.nvmlShutdown()
