"""Archives made by hand, well and ill: what a stranger could send."""

import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path

from labkit.share.names import SUMS

Entry = tuple[zipfile.ZipInfo, bytes]


def read_entries(path: Path) -> list[Entry]:
    """Return the members of an archive and what they hold."""
    with zipfile.ZipFile(path) as archive:
        return [(info, archive.read(info)) for info in archive.infolist()]


def write_entries(path: Path, entries: list[Entry], *, sums: bool = True) -> Path:
    """Write an archive with just these members; `sums` makes SHA256SUMS fit them."""
    told = [(info, data) for info, data in entries if info.filename != SUMS or not sums]
    if sums:
        lines = [f"{hashlib.sha256(data).hexdigest()}  {info.filename}\n" for info, data in told]
        told.append((zipfile.ZipInfo(SUMS), "".join(lines).encode()))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, data in told:
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)
    return path


def change(name: str, edit: Callable[[bytes], bytes]) -> Callable[[list[Entry]], list[Entry]]:
    """Return a function that edits what one member holds."""

    def make(entries: list[Entry]) -> list[Entry]:
        return [(info, edit(data) if info.filename == name else data) for info, data in entries]

    return make
