"""A library in the place of libnvidia-ml.so.1, below the real nvidia-ml-py.

Its functions take what ctypes passes and fill the structs of NVIDIA's C header, so that the real
package runs against it. A function named in `missing` is a symbol that the driver does not have,
one in `failing` returns an error code.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pynvml
import pytest

MIB = 1024**2
NOT_AVAILABLE = 2**64 - 1
"""NVML_VALUE_NOT_AVAILABLE as an unsigned long long."""


@dataclass
class Board:
    """A GPU with numbers of its own, and its MIG instances if it is in that mode."""

    uuid: str
    name: str = "NVIDIA Test"
    used: int = 1000 * MIB
    total: int = 80_000 * MIB
    energy_mj: int = 5_000_000
    reasons: int = 0x4 | 0x40  # SwPowerCap, HwThermalSlowdown
    ecc: int = 3
    processes: list[tuple[int, int]] = field(
        default_factory=lambda: [(11, 700 * MIB), (12, NOT_AVAILABLE)]
    )
    instances: "list[Board | None]" = field(default_factory=list)
    """A None is a place without an instance."""


class Library:
    """Two GPUs of one kind, unless told otherwise."""

    def __init__(
        self,
        boards: list[Board] | None = None,
        *,
        failing: dict[str, int] | None = None,
        missing: set[str] | None = None,
    ) -> None:
        self.boards = (
            boards
            if boards is not None
            else [Board("GPU-aa11"), Board("GPU-bb22", used=2000 * MIB)]
        )
        self.failing, self.missing = failing or {}, missing or set()
        self.num_open = 0

    def load(self, patch: pytest.MonkeyPatch) -> Any:
        """Put this library into the place of NVIDIA's, and return the package that calls it."""
        patch.setattr(pynvml, "nvmlLib", self)
        patch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
        return pynvml

    def __getattr__(self, name: str) -> Callable[..., int]:
        if name.startswith("__") or name in self.missing or name not in CALLS:
            raise AttributeError(name)

        def call(*arguments: Any) -> int:
            if name in self.failing:
                return self.failing[name]
            return CALLS[name](self, *arguments) or pynvml.NVML_SUCCESS

        return call

    def find(self, handle: Any) -> Board:
        """Return what a handle stands for: (index + 1) * 16 + place of the instance + 1."""
        index, place = divmod(ctypes.cast(handle, ctypes.c_void_p).value or 0, 16)
        board = self.boards[index - 1]
        if place:
            instance = board.instances[place - 1]
            assert instance is not None
            return instance
        return board


def point_at(reference: Any, number: int) -> None:
    """Write an address into the handle that byref() was called with."""
    address = ctypes.c_void_p(number)
    size = ctypes.sizeof(ctypes.c_void_p)
    ctypes.memmove(ctypes.addressof(reference._obj), ctypes.addressof(address), size)


def count(change: int) -> Callable[..., None]:
    def call(library: Library, *flags: int) -> None:
        library.num_open += change

    return call


def fill(read: Callable[[Board], int]) -> Callable[..., None]:
    """Return a function whose last argument takes a number of the board."""

    def call(library: Library, handle: Any, *arguments: Any) -> None:
        arguments[-1]._obj.value = read(library.find(handle))

    return call


def write(read: Callable[[Board], str]) -> Callable[..., None]:
    def call(library: Library, handle: Any, buffer: Any, size: Any) -> None:
        buffer.value = read(library.find(handle)).encode()

    return call


def count_boards(library: Library, reference: Any) -> None:
    reference._obj.value = len(library.boards)


def get_board(library: Library, index: Any, reference: Any) -> int | None:
    if index.value >= len(library.boards):
        return pynvml.NVML_ERROR_INVALID_ARGUMENT
    point_at(reference, (index.value + 1) * 16)
    return None


def get_instance(library: Library, handle: Any, place: Any, reference: Any) -> int | None:
    instances = library.find(handle).instances
    if place.value >= len(instances) or instances[place.value] is None:
        return pynvml.NVML_ERROR_NOT_FOUND
    own = ctypes.cast(handle, ctypes.c_void_p).value or 0
    point_at(reference, own + place.value + 1)
    return None


def get_memory(library: Library, handle: Any, reference: Any) -> None:
    board, told = library.find(handle), reference._obj
    # the old function counts 500 MiB that the driver reserves for itself as used
    reserved = 0 if hasattr(told, "reserved") else 500 * MIB
    told.total, told.used = board.total, board.used + reserved
    told.free = told.total - told.used


def get_utilization(library: Library, handle: Any, reference: Any) -> int | None:
    if library.find(handle).instances:
        return pynvml.NVML_ERROR_NOT_SUPPORTED
    reference._obj.gpu, reference._obj.memory = 37, 5
    return None


def get_mig_mode(library: Library, handle: Any, current: Any, pending: Any) -> None:
    current._obj.value = pending._obj.value = int(bool(library.find(handle).instances))


def get_clock(library: Library, handle: Any, kind: Any, reference: Any) -> None:
    reference._obj.value = {1: 1980, 2: 3201}[kind.value]


def get_temperature(library: Library, handle: Any, reference: Any) -> None:
    reference._obj.temperature = 61


def get_processes(library: Library, handle: Any, number: Any, array: Any) -> int | None:
    found = library.find(handle).processes
    room, number._obj.value = number._obj.value, len(found)
    if room < len(found):
        return pynvml.NVML_ERROR_INSUFFICIENT_SIZE
    for place, (pid, used) in enumerate(found):
        array[place].pid, array[place].usedGpuMemory = pid, used
    return None


def get_driver(library: Library, buffer: Any, size: Any) -> None:
    buffer.value = b"580.1"


CALLS: dict[str, Callable[..., int | None]] = {
    "nvmlInitWithFlags": count(1),
    "nvmlShutdown": count(-1),
    "nvmlSystemGetDriverVersion": get_driver,
    "nvmlDeviceGetCount_v2": count_boards,
    "nvmlDeviceGetHandleByIndex_v2": get_board,
    "nvmlDeviceGetName": write(lambda board: board.name),
    "nvmlDeviceGetUUID": write(lambda board: board.uuid),
    "nvmlDeviceGetMigMode": get_mig_mode,
    "nvmlDeviceGetMaxMigDeviceCount": fill(lambda board: 7),
    "nvmlDeviceGetMigDeviceHandleByIndex": get_instance,
    "nvmlDeviceGetMemoryInfo": get_memory,
    "nvmlDeviceGetMemoryInfo_v2": get_memory,
    "nvmlDeviceGetUtilizationRates": get_utilization,
    "nvmlDeviceGetPowerUsage": fill(lambda board: 250_500),
    "nvmlDeviceGetTotalEnergyConsumption": fill(lambda board: board.energy_mj),
    "nvmlDeviceGetTemperature": fill(lambda board: 60),
    "nvmlDeviceGetTemperatureV": get_temperature,
    "nvmlDeviceGetClockInfo": get_clock,
    "nvmlDeviceGetCurrentClocksEventReasons": fill(lambda board: board.reasons),
    "nvmlDeviceGetCurrentClocksThrottleReasons": fill(lambda board: board.reasons),
    "nvmlDeviceGetTotalEccErrors": fill(lambda board: board.ecc),
    "nvmlDeviceGetComputeRunningProcesses_v2": get_processes,
    "nvmlDeviceGetComputeRunningProcesses_v3": get_processes,
}
