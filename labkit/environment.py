"""The machine and the software that a run was measured with, for its manifest.

It tells nothing that names a person, a machine or a place: no host or user name, no path, no value
of an environment variable. GPUs are described by labkit.telemetry.gpu.
"""

import importlib.metadata
import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

import psutil

import labkit

PACKAGES = (
    "xllamacpp",
    "openai",
    "papermill",
    "plotly",
    "pandas",
    "pydantic",
    "nvidia-ml-py",
)
CGROUP = Path("/sys/fs/cgroup")


def describe_environment() -> dict[str, Any]:
    """Return nested mappings of plain values; None where something can't be told.

    `cpu.cores_usable` is what this process may use: its affinity, less where a container's quota
    says so, as a number that need not be whole. `memory.limit_bytes` is a container's limit.
    `git.dirty` is true if the package or its notebooks differ from the commit; `git` is None for a
    copy that is not a git checkout.
    """
    return {
        "platform": f"{platform.system()} {platform.machine()}",
        "kernel": platform.release(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "cpu": {
            "model": find_cpu_model(),
            "cores_physical": psutil.cpu_count(logical=False),
            "cores_logical": psutil.cpu_count(),
            "cores_usable": count_cores(),
        },
        "memory": {
            "total_bytes": psutil.virtual_memory().total,
            "limit_bytes": read_memory_limit(),
        },
        "packages": {
            "labkit": labkit.__version__,
            **{name: find_version(name) for name in PACKAGES},
        },
        "git": describe_checkout(Path(labkit.__file__).resolve().parent.parent),
    }


def find_version(package: str) -> str | None:
    """Return the installed version of a distribution, None if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def find_cpu_model(cpuinfo: Path = Path("/proc/cpuinfo")) -> str | None:
    """Return the name of the CPU as the system tells it, None if it does not."""
    if platform.system() == "Darwin":
        return _run(["sysctl", "-n", "machdep.cpu.brand_string"])
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = re.search(r"^(?:model name|Model|Hardware)\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1].strip() if found else None


def count_cores(cgroup: Path = CGROUP) -> float:
    """Return how many cores this process may use, counting affinity and a container's quota."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only
    cores = float(len(affinity(0)) if affinity else os.cpu_count() or 1)
    quota, _, period = _read(cgroup / "cpu.max").partition(" ")
    if quota.isdecimal() and period.isdecimal() and int(period):
        return min(cores, int(quota) / int(period))
    return cores


def read_memory_limit(cgroup: Path = CGROUP) -> int | None:
    """Return a container's memory limit in bytes, None where there is none."""
    text = _read(cgroup / "memory.max")
    return int(text) if text.isdecimal() else None


def describe_checkout(root: Path) -> dict[str, Any] | None:
    """Return {"commit", "dirty"} of the checkout at `root`, None if it is not one."""
    if not (root / ".git").exists():
        return None
    git = ["git", "--no-optional-locks", "-C", str(root)]
    commit = _run([*git, "rev-parse", "HEAD"])
    if commit is None:
        return None
    changes = _run([*git, "status", "--porcelain", "--", "labkit", "notebooks"])
    return {"commit": commit, "dirty": None if changes is None else changes != ""}


def _run(command: list[str]) -> str | None:
    # git answers for another repository where a hook has set these
    environment = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            check=True,
            encoding="utf-8",
            errors="replace",
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
