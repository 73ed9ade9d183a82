"""A look at this machine: what a run would need and what would spoil it, each with what to do.

Nothing is launched, fetched or sent. It must not know how a command line prints.
"""

import os
import platform
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from labkit.engines.model import find_model
from labkit.environment import count_cores, find_cpu_model, find_version, read_memory_limit
from labkit.errors import LabkitError
from labkit.telemetry.gpu import describe_gpus

MIN_PYTHON, MAX_PYTHON = (3, 11), (3, 13)
MIN_FREE_MEMORY_BYTES = 1024**3
MIN_FREE_DISK_BYTES = 200 * 1024**2
PACKAGES = ("openai", "papermill", "jupyterlab", "pandas", "plotly", "pydantic", "nvidia-ml-py")
LAUNCHED = {"vllm": "vLLM", "sglang": "SGLang", "trtllm-serve": "TensorRT-LLM",
            "text-generation-launcher": "TGI"}  # fmt: skip
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True, slots=True)
class Check:
    """What was found under one heading; `fix` says what to do, where something is to be done."""

    name: str
    status: Literal["ok", "warn", "fail"]
    text: str
    fix: str | None = None


def diagnose(
    reports: Path = Path("reports"), environment: Mapping[str, str] = os.environ
) -> list[Check]:
    """Return every check; `fail` means that a run can't work, `warn` that it may mislead."""
    return [
        check_python(sys.version_info[:2]),
        check_packages(),
        check_llamacpp(),
        check_model(),
        check_other_engines(),
        check_gpu(),
        check_cores(count_cores()),
        check_memory(read_free_memory()),
        check_disk(reports),
        check_proxy(environment),
        check_browser(),
    ]


def check_python(version: tuple[int, ...]) -> Check:
    """Tell whether labkit is tried with this Python, given as (major, minor)."""
    text = f"{platform.python_implementation()} {'.'.join(map(str, version))}"
    if version < MIN_PYTHON:
        return Check("python", "fail", text, "use Python 3.11 to 3.13")
    if version > MAX_PYTHON:
        return Check("python", "warn", f"{text}, not tried yet", "use Python 3.11 to 3.13")
    return Check("python", "ok", text)


def check_packages() -> Check:
    """Tell the packages that labkit stands on, and which of them are not installed."""
    found = {name: find_version(name) for name in PACKAGES}
    missing = [name for name, version in found.items() if version is None]
    if missing:
        return Check("packages", "fail", f"not installed: {', '.join(missing)}", "run `make setup`")
    return Check("packages", "ok", ", ".join(f"{name} {text}" for name, text in found.items()))


def check_llamacpp() -> Check:
    """Tell whether the engine that ships is installed."""
    version = find_version("xllamacpp")
    if version is None:
        text = "xllamacpp is not installed: only endpoints can be measured"
        return Check("llama.cpp", "warn", text, "run `make setup`")
    return Check("llama.cpp", "ok", f"xllamacpp {version}")


def check_model() -> Check:
    """Tell whether the model that ships was fetched."""
    try:
        path = find_model(None)
    except LabkitError as error:
        text, _, fix = " ".join(str(error).split()).partition("; ")
        return Check("model", "warn", text, fix or None)
    return Check("model", "ok", f"{path.name}, {path.stat().st_size / 1e6:.0f} MB")


def check_other_engines() -> Check:
    """Tell which engines are on the PATH for labkit to launch; none need be."""
    found = [f"{name} ({command})" for command, name in LAUNCHED.items() if shutil.which(command)]
    absent = [name for command, name in LAUNCHED.items() if not shutil.which(command)]
    parts = [f"labkit launches {', '.join(found)}"] if found else []
    parts += [f"not on the PATH: {', '.join(absent)}"] if absent else []
    return Check("other engines", "ok", "; ".join(parts))


def check_gpu() -> Check:
    """Tell the GPUs that would be sampled, or why there are none; a GPU need not be."""
    found = describe_gpus()
    if found["reason"] is not None:
        return Check("GPU", "ok", found["reason"])
    text = "; ".join(found["devices"])
    return Check("GPU", "ok", f"{text}; driver {found['driver'] or 'version not told'}")


def check_cores(cores: float) -> Check:
    """Tell whether the load client has a core beside the engine."""
    text = f"{cores:g} usable, {find_cpu_model() or 'model not told'}"
    if cores < 2:
        fix = "give it two cores: with one, client and engine starve each other and TPOT is wrong"
        return Check("cores", "warn", text, fix)
    return Check("cores", "ok", f"{text}; one is left for the client")


def check_memory(free_bytes: int) -> Check:
    """Tell whether the model that ships has room, in bytes."""
    text = f"{free_bytes / 1024**3:.1f} GiB free"
    if free_bytes < MIN_FREE_MEMORY_BYTES:
        return Check("memory", "warn", text, "close something: 1 GiB is needed for the demo")
    return Check("memory", "ok", text)


def read_free_memory() -> int:
    """Return the bytes that can be taken without swapping, within a container's limit."""
    free_bytes = psutil.virtual_memory().available
    limit_bytes = read_memory_limit()
    return free_bytes if limit_bytes is None else min(free_bytes, limit_bytes)


def check_disk(reports: Path) -> Check:
    """Tell whether records can be written where runs are kept; the folder need not exist yet."""
    full = reports.absolute()
    place = next(path for path in (full, *full.parents) if path.is_dir())
    free_bytes = shutil.disk_usage(place).free
    text = f"{free_bytes / 1024**3:.1f} GiB free for {reports}"
    if not os.access(place, os.W_OK):
        return Check("disk", "fail", f"{reports} can't be written", "choose another with --reports")
    if free_bytes < MIN_FREE_DISK_BYTES:
        return Check("disk", "fail", text, "make room: a run asks for 200 MiB")
    return Check("disk", "ok", text)


def check_proxy(environment: Mapping[str, str]) -> Check:
    """Tell the names of proxy variables that are set; never their values."""
    named = re.compile(r"(http|https|all|no)_proxy", re.IGNORECASE)
    names = sorted(name for name, text in environment.items() if text and named.fullmatch(name))
    if not any(not name.lower().startswith("no_") for name in names):
        return Check("proxy", "ok", "none set")
    fix = "unset them to measure an endpoint elsewhere, or the proxy's delay counts as the engine's"
    return Check("proxy", "warn", f"set: {', '.join(names)}", fix)


def check_browser() -> Check:
    """Tell whether the tests of the report can open it; nothing else needs a browser."""
    found = next((name for name in BROWSERS if shutil.which(name)), None)
    text = found or "no Chromium on the PATH: the tests that open a report are skipped"
    return Check("browser", "ok", text)
