"""GPUs opened for sampling, or the reason why none can be.

It must not know what runs on them, nor how a sample is stored.
"""

import contextlib
import importlib
import os
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from labkit.errors import ParamsError
from labkit.telemetry.gpu.answers import MISSING_DRIVER, ask, is_one_of
from labkit.telemetry.gpu.devices import choose_devices, list_devices
from labkit.telemetry.gpu.neighbours import Neighbours, Pids
from labkit.telemetry.gpu.reading import read_device

NOT_SAMPLED = "GPU memory is not sampled"

Asked = Sequence[int | str] | None
"""Indices as nvidia-smi shows them, or UUIDs; None takes what CUDA_VISIBLE_DEVICES leaves."""


class Gpus:
    """The GPUs that are meant; NVML stays open until `close`."""

    def __init__(
        self,
        nvml: Any,
        environment: Mapping[str, str],
        asked: Asked = None,
        own_pids: Pids | None = None,
    ) -> None:
        """Open NVML. Raises NVMLError if it can't be, LookupError if one asked for isn't there."""
        nvml.nvmlInit()
        self._nvml = nvml
        self.close = weakref.finalize(self, _shut_down, nvml)
        try:
            every = list_devices(nvml)
            self.devices = choose_devices(nvml, every, asked, environment)
        except BaseException:
            self.close()
            raise
        self.hidden = bool(every) and not self.devices
        self._neighbours = Neighbours(own_pids)

    def __len__(self) -> int:
        return len(self.devices)

    def sample(self) -> list[dict[str, Any]]:
        """Return one row a device: bytes, W, J, °C, Hz, and utilization as a share 0..1.

        Utilization is NVML's: the share of its last period, 1/6 s to 1 s, in which any kernel ran.
        Power is the driver's own average, over up to 1 s; energy counts from the driver's start.
        A process has `name` and `foreign`, both None where they can't be told. `error` tells the
        first field that failed for another reason than not being supported, such as a lost GPU.
        """
        rows = [read_device(self._nvml, device) for device in self.devices]
        for row in rows:
            if row["gpu_processes"] is not None:
                row["gpu_processes"] = self._neighbours.mark(row["gpu_processes"])
        return rows

    def describe(self) -> dict[str, Any]:
        """Return {"driver": version, "devices": ["0: name, memory in MiB", ...]}."""
        told = []
        for device in self.devices:
            total = read_device(self._nvml, device)["gpu_memory_total_bytes"]
            memory = "memory not told" if total is None else f"{total // 1024**2} MiB"
            told.append(f"{device.label}: {device.name or 'name not told'}, {memory}")
        driver, _ = ask(self._nvml, self._nvml.nvmlSystemGetDriverVersion)
        return {"driver": driver, "devices": told}

    def untold(self) -> dict[str, str]:
        """Return field -> why none of these devices can tell it."""
        every = [device.untold for device in self.devices]
        return {name: why for name, why in every[0].items() if all(name in one for one in every)}


def open_gpus(
    nvml: Any = None,
    environment: Mapping[str, str] = os.environ,
    asked: Asked = None,
    own_pids: Pids | None = None,
) -> tuple[Gpus | None, str | None]:
    """Return (the GPUs, None), or (None, the reason why none can be sampled)."""
    if nvml is None:
        try:
            nvml = importlib.import_module("pynvml")  # a machine without a GPU may lack it
        except ImportError:
            return None, f"nvidia-ml-py is not installed: {NOT_SAMPLED}"
    try:
        gpus = Gpus(nvml, environment, asked, own_pids)
    except nvml.NVMLError as error:
        if is_one_of(nvml, error, MISSING_DRIVER):
            return None, f"no NVIDIA driver: {NOT_SAMPLED}"
        return None, f"NVML can't be opened ({error}): {NOT_SAMPLED}"
    except LookupError as error:
        return None, f"{error.args[0]}: {NOT_SAMPLED}"
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


def check_gpus(asked: Asked, nvml: Any = None) -> None:
    """Raise ParamsError if GPUs were asked for by name and can't be sampled."""
    if asked is None:
        return
    gpus, reason = open_gpus(nvml, {}, asked)
    if gpus is None:
        raise ParamsError(
            f"sampling.gpus: {reason}; name indices or UUIDs as `nvidia-smi -L` shows them, "
            "or leave it out"
        )
    gpus.close()


def describe_gpus(nvml: Any = None) -> dict[str, Any]:
    """Return {"driver", "devices", "reason"}; devices is empty and reason told where none is."""
    gpus, reason = open_gpus(nvml)
    if gpus is None:
        return {"driver": None, "devices": [], "reason": reason}
    try:
        return {**gpus.describe(), "reason": None}
    finally:
        gpus.close()


def _shut_down(nvml: Any) -> None:
    with contextlib.suppress(nvml.NVMLError):
        nvml.nvmlShutdown()
