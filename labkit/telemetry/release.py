"""Whether an engine that was stopped gave its GPU memory back: the next one needs it.

It must not know engines.
"""

import time
from typing import Any

from labkit.telemetry.gpu import open_gpus

SLACK_BYTES = 256 * 1024**2
TIMEOUT_S = 30.0
LOOK_S = 0.2

Used = dict[int, int]


def read_used(nvml: Any = None) -> Used | None:
    """Return GPU index -> bytes in use, None where no GPU can be sampled."""
    gpus, _ = open_gpus(nvml)
    if gpus is None:
        return None
    try:
        rows = gpus.sample()
    finally:
        gpus.close()
    return {
        row["gpu_index"]: row["gpu_memory_used_bytes"]
        for row in rows
        if row["gpu_memory_used_bytes"] is not None
    }


def wait_released(
    before: Used | None, *, timeout_s: float = TIMEOUT_S, nvml: Any = None
) -> dict[int, int]:
    """Wait until every GPU is back to what was in use before, and return the bytes still missing.

    Within 256 MiB counts as back. Empty: all came back, or there was nothing to look at.
    """
    if not before:
        return {}
    deadline_s = time.monotonic() + timeout_s
    while True:
        now = read_used(nvml) or {}
        held = {
            index: used - before[index]
            for index, used in now.items()
            if used - before.get(index, used) > SLACK_BYTES
        }
        if not held or time.monotonic() > deadline_s:
            return held
        time.sleep(LOOK_S)
