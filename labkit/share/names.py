"""What of a run goes into an archive, and under which names; an archive may hold no other.

It must not open anything.
"""

import re
import unicodedata
from pathlib import Path

from labkit.records import RunFolder

CRATE = "ro-crate-metadata.json"
SUMS = "SHA256SUMS"
SCRIPTED = (".html", ".ipynb")
MAX_DEPTH = 6
MAX_NAME_BYTES = 200
_PART = re.compile(r"[^./\\:\x00-\x1f\x7f][^/\\:\x00-\x1f\x7f]*")
_EARLIER = re.compile(r".+\.attempt\d+\.(ipynb|html)")
_RUN_ID = re.compile(r"\d{8}T\d{6}Z-[a-z0-9][a-z0-9_-]{0,60}")
KINDS = {
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".yaml": "application/yaml",
    ".csv": "text/csv",
    ".html": "text/html",
    ".ipynb": "application/x-ipynb+json",
    ".log": "text/plain",
    ".txt": "text/plain",
}


def is_plain(name: str) -> bool:
    """Return whether a name stays below its folder on any system, and hides nothing.

    Refused are absolute names, drives, `.` and `..`, backslashes, control characters, files that
    begin with a dot, and folders deeper than labkit makes them.
    """
    parts = name.split("/")
    return len(parts) <= MAX_DEPTH and all(
        _PART.fullmatch(part) and len(part.encode(errors="replace")) <= MAX_NAME_BYTES
        for part in parts
    )


def fold(name: str) -> str:
    """Return what two names share that are one file on some system: case and accents aside."""
    return unicodedata.normalize("NFC", name).casefold()


def is_run_id(name: str) -> bool:
    """Return whether this is the name of a run's folder, as `labkit list` looks for it."""
    return _RUN_ID.fullmatch(name) is not None


def name_kind(name: str) -> str:
    """Return the media type of a file of a run."""
    return KINDS.get(Path(name).suffix, "application/octet-stream")


def is_inert(name: str) -> bool:
    """Return whether a file holds text that no program runs: not a page, not a notebook."""
    return name in (CRATE, SUMS) or (name.endswith(tuple(KINDS)) and not name.endswith(SCRIPTED))


def list_files(run: RunFolder) -> tuple[list[str], list[str]]:
    """Return the names of what is shared, sorted, and of what is left out though it is there.

    Attempts of points go along: what failed before is part of what happened. Left out are earlier
    notebooks, links, and names that no archive may hold; locks and half-written files begin with
    a dot and are not even told.
    """
    shared, left = [], []
    for path in sorted(run.path.rglob("*")):
        name = path.relative_to(run.path).as_posix()
        if any(part.startswith(".") for part in name.split("/")) or name in (CRATE, SUMS):
            continue
        linked = path.is_symlink() or not (path.is_file() or path.is_dir())
        if path.is_dir() and not linked:
            continue
        if linked or _EARLIER.fullmatch(name) or not is_plain(name):
            left.append(name)
        else:
            shared.append(name)
    return sorted(shared), left
