"""Whether an engine that was stopped gave its GPU memory back: the next one needs it.

It must not know engines.
"""

import os
import time
from collections.abc import Mapping
from typing import Any

from labkit.telemetry.gpu import open_gpus

SLACK_BYTES = 256 * 1024**2
TIMEOUT_S = 30.0
LOOK_S = 0.2

Used = dict[int, int]


def read_used(nvml: Any = None, environment: Mapping[str, str] = os.environ) -> Used | None:
    """Return GPU index -> bytes in use, None where no GPU can be sampled.

    MIG instances of one GPU count together.
    """
    gpus, _ = open_gpus(nvml, environment)
    if gpus is None:
        return None
    try:
        rows = gpus.sample()
    finally:
        gpus.close()
    used: Used = {}
    for row in rows:
        if row["gpu_memory_used_bytes"] is not None:
            index = row["gpu_index"]
            used[index] = used.get(index, 0) + row["gpu_memory_used_bytes"]
    return used


def wait_released(
    before: Used | None,
    *,
    timeout_s: float = TIMEOUT_S,
    nvml: Any = None,
    environment: Mapping[str, str] = os.environ,
) -> dict[int, int]:
    """Wait until every GPU is back to what was in use before, and return the bytes still missing.

    Within 256 MiB counts as back. Empty: all came back, or there was nothing to look at.
    """
    if not before:
        return {}
    deadline_s = time.monotonic() + timeout_s
    while True:
        now = read_used(nvml, environment) or {}
        held = {
            index: used - before[index]
            for index, used in now.items()
            if used - before.get(index, used) > SLACK_BYTES
        }
        if not held or time.monotonic() > deadline_s:
            return held
        time.sleep(LOOK_S)
