"""The GPUs and MIG instances of a machine, and which of them are meant.

It must not know what is read from a device.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.telemetry.gpu.answers import ask
from labkit.telemetry.gpu.visible import choose_visible, list_instances

NO_UTILIZATION = "NVML tells no utilization of a GPU that is in MIG mode"
NO_POWER = "a MIG instance has no power of its own: the board's is that of all its instances"


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU, or one MIG instance of it; `board` is the GPU's own handle."""

    index: int
    """NVML's index of the GPU, which nvidia-smi shows."""
    name: str | None
    uuid: str | None
    handle: Any
    board: Any
    mig_index: int | None = None
    """Which of the GPU's instances it is, None for a whole GPU."""
    is_mig_on: bool = False

    @property
    def untold(self) -> dict[str, str]:
        """Field -> why such a device can't tell it."""
        reasons = {"gpu_utilization": NO_UTILIZATION} if self.is_mig_on else {}
        if self.mig_index is not None:
            reasons |= dict.fromkeys(("gpu_power_w", "gpu_energy_total_j"), NO_POWER)
        return reasons

    @property
    def label(self) -> str:
        """What it is called in words: "0", or "0 MIG 1"."""
        return str(self.index) if self.mig_index is None else f"{self.index} MIG {self.mig_index}"


def list_devices(nvml: Any) -> list[Device]:
    """Return every GPU of the machine in NVML's order; raises NVMLError."""
    return [
        _look(nvml, index, nvml.nvmlDeviceGetHandleByIndex(index))
        for index in range(nvml.nvmlDeviceGetCount())
    ]


def choose_devices(
    nvml: Any,
    every: Sequence[Device],
    asked: Sequence[int | str] | None,
    environment: Mapping[str, str],
) -> list[Device]:
    """Return the devices asked for by index or UUID; without such, those that CUDA would use.

    A UUID may be of a MIG instance, and may be cut short where it stays unique. Raises LookupError
    with what was not found.
    """
    if asked is not None:
        return [_find(nvml, every, one) for one in dict.fromkeys(asked)]
    named = list_instances(environment)
    if named:
        try:
            return [_find(nvml, every, one) for one in named]
        except LookupError:
            return list(every)  # CUDA names it otherwise, as older drivers did
    names, uuids = [one.name for one in every], [one.uuid for one in every]
    return [every[index] for index in choose_visible(environment, names, uuids)]


def _find(nvml: Any, every: Sequence[Device], asked: int | str) -> Device:
    if isinstance(asked, int):
        found = [one for one in every if one.index == asked]
    else:
        is_instance = asked.upper().startswith("MIG-")
        among = list(_list_mig(nvml, every)) if is_instance else every
        found = [one for one in among if (one.uuid or "").lower().startswith(asked.lower())]
    if len(found) != 1:
        known = ", ".join(f"{one.label} ({one.uuid or 'UUID not told'})" for one in every)
        many = "more than one" if found else "none"
        raise LookupError(f"expected a GPU {asked}, found {many} among {known or 'no GPU at all'}")
    return found[0]


def _list_mig(nvml: Any, every: Sequence[Device]) -> Iterator[Device]:
    for gpu in every:
        if not gpu.is_mig_on:
            continue
        places = ask(nvml, nvml.nvmlDeviceGetMaxMigDeviceCount, gpu.board)[0] or 0
        for place in range(places):
            handle, _ = ask(nvml, nvml.nvmlDeviceGetMigDeviceHandleByIndex, gpu.board, place)
            if handle is None:  # no instance in this place
                continue
            name, uuid = _identify(nvml, handle)
            yield Device(gpu.index, name or gpu.name, uuid, handle, gpu.board, place, True)


def _look(nvml: Any, index: int, handle: Any) -> Device:
    name, uuid = _identify(nvml, handle)
    mode, _ = ask(nvml, nvml.nvmlDeviceGetMigMode, handle)
    is_mig_on = mode is not None and mode[0] == nvml.NVML_DEVICE_MIG_ENABLE
    return Device(index, name, uuid, handle, handle, None, is_mig_on)


def _identify(nvml: Any, handle: Any) -> tuple[str | None, str | None]:
    name, _ = ask(nvml, nvml.nvmlDeviceGetName, handle)
    uuid, _ = ask(nvml, nvml.nvmlDeviceGetUUID, handle)
    return name, uuid
