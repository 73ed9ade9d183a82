"""Which of a machine's GPUs a CUDA program can use, as CUDA_VISIBLE_DEVICES says it.

NVML ignores that variable, and the GPUs of other people would be added to one's own. It must not
know NVML.
"""

from collections.abc import Mapping, Sequence


def choose_visible(
    environment: Mapping[str, str], names: Sequence[str | None], uuids: Sequence[str | None]
) -> list[int]:
    """Return the NVML indices of the visible GPUs, in ascending order.

    Unset means all. Like CUDA, the list is read up to its first entry that names no GPU. Numbers
    follow NVML's order only if CUDA_DEVICE_ORDER is PCI_BUS_ID or all GPUs are of one kind;
    otherwise, and for MIG instances, the GPUs can't be told apart and all are returned.
    """
    every = list(range(len(names)))
    text = environment.get("CUDA_VISIBLE_DEVICES")
    if text is None:
        return every
    by_bus = environment.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID" or len(set(names)) == 1
    chosen: set[int] = set()
    for entry in (part.strip() for part in text.split(",")):
        if entry.startswith("MIG") or (entry.isdecimal() and not by_bus):
            return every
        if entry.isdecimal():
            found = [int(entry)] if int(entry) in every else []
        else:
            found = [n for n in every if entry.startswith("GPU-") and _is(uuids[n], entry)]
        if len(found) != 1:
            break
        chosen.update(found)
    return sorted(chosen)


def list_instances(environment: Mapping[str, str]) -> list[str]:
    """Return the UUIDs of MIG instances, if CUDA_VISIBLE_DEVICES names nothing else.

    CUDA uses one instance at most, but a program may be told several and share them out.
    """
    entries = [part.strip() for part in environment.get("CUDA_VISIBLE_DEVICES", "").split(",")]
    return entries if all(entry.startswith("MIG-") for entry in entries) else []


def _is(uuid: str | None, entry: str) -> bool:
    return uuid is not None and uuid.lower().startswith(entry.lower())
