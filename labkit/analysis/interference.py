"""Whether other processes took cores from engine and client; definitions.py defines each figure.

It reads gauges of a row. It can tell nothing where the engine is no process of this host, and it
must not know what the others were.
"""

from collections.abc import Mapping
from typing import Any

from labkit.analysis import words
from labkit.analysis.series import finite

MIN_FOREIGN_CORES = 0.25
MIN_FOREIGN_SHARE = 0.10
"""Of all cores: below the larger of the two, others are the idle hum of a machine."""
DOUBT = "other processes used "

Row = dict[str, Any]


def count_cores(run: Mapping[str, Any]) -> float | None:
    """Return the cores that host_cpu_utilization is a share of, None where it is not told."""
    cpu = (run.get("environment") or {}).get("cpu")
    return finite(cpu.get("cores_logical")) if isinstance(cpu, Mapping) else None


def interference(row: Mapping[str, Any], cores: float | None, reasons: Row) -> Row:
    """Return host_cores and foreign_cpu_cores from the gauges of a row; each None has a reason."""
    result: Row = {"host_cores": cores, "foreign_cpu_cores": None}
    if cores is None:
        reasons["host_cores"] = reasons["foreign_cpu_cores"] = "the run does not tell its cores"
        return result
    names = ("host_cpu_utilization", "engine_cpu_utilization", "client_cpu_utilization")
    gauges = [row[name] for name in names]
    missing = [name for name, gauge in zip(names, gauges, strict=True) if gauge is None]
    if missing:
        reasons["foreign_cpu_cores"] = f"{missing[0]} was not measured"
        return result
    host, engine, client = (gauge["mean"] for gauge in gauges)
    # three clocks are read one after the other, so that a small difference may fall below 0
    result["foreign_cpu_cores"] = max(0.0, host * cores - engine - client)
    return result


def doubt_neighbours(row: Mapping[str, Any]) -> list[str]:
    """Return how much others used, where that is enough to hold the engine back."""
    foreign, cores = row["foreign_cpu_cores"], row["host_cores"]
    if foreign is None or foreign <= max(MIN_FOREIGN_CORES, MIN_FOREIGN_SHARE * cores):
        return []
    return [f"{DOUBT}{words.number(foreign)} of {words.number(cores)} cores"]


def is_disturbed(row: Mapping[str, Any]) -> bool:
    """Tell whether a row was doubted for what other processes used."""
    return any(str(one).startswith(DOUBT) for one in row.get("validity_reasons") or [])
