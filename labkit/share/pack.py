"""From a run folder to one zip file without a secret, the same bytes whenever it is made.

A zip, not a tar.gz: readers of RO-Crates open it as it is, its list of names and sizes is read
without unpacking it, and it has no devices. It must not change the run.
"""

import hashlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from labkit.errors import ParamsError, RecordsError
from labkit.records import RunFolder, read_json
from labkit.share.crate import Origin, Part, describe_crate
from labkit.share.names import CRATE, SCRIPTED, SUMS, is_run_id, list_files
from labkit.share.secrets import Clean, clean_lines, list_keys, make_clean

EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip can tell: one for all, so that time changes no byte."""
CHUNK_BYTES = 2**20
MAX_LINE_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Packed:
    """What became of an export."""

    path: Path
    num_files: int
    redacted: dict[str, int]
    """File -> in how many of its lines something secret was taken out."""
    left_out: tuple[str, ...]


def pack_run(
    run: RunFolder,
    out: Path | None = None,
    *,
    author: str | None = None,
    license: str | None = None,
) -> Packed:
    """Write a run as RUN_ID.zip here, or to `out`; nothing is there before all of it is.

    Raises RecordsError for a run that still measures and for files that can't be shared,
    ParamsError where a file is there already.
    """
    manifest = run.manifest()
    if manifest["status"] == "running":
        raise RecordsError(f"expected a run that has ended at {run.path}, found it still running")
    run_id = name_run(run, manifest)
    path = Path(f"{run_id}.zip") if out is None else out
    if path.exists():
        raise ParamsError(f"expected no file at {path}, found one; name another with --out")
    names, left_out = list_files(run)
    keys = list_keys(run)
    plain, worded = make_clean(keys, words=False), make_clean(keys)
    origin = Origin(run_id, manifest, run.headline(), _list_engines(run), author, license)
    handle, half = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name[:60]}.")
    try:
        with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w") as archive:
            parts: list[Part] = []
            redacted: dict[str, int] = {}
            for name in names:
                clean = plain if name.endswith(SCRIPTED) else worded
                part, lines = _add(archive, run.path / name, name, clean)
                parts.append(part)
                redacted |= {name: lines} if lines else {}
            document = json.dumps(describe_crate(origin, parts), indent=1, allow_nan=False) + "\n"
            crate = _add_text(archive, CRATE, worded(document))
            sums = sorted([*parts, crate], key=lambda part: part.name)
            _add_text(archive, SUMS, "".join(f"{one.sha256}  {one.name}\n" for one in sums))
        Path(half).replace(path)
    except BaseException:
        Path(half).unlink(missing_ok=True)
        raise
    return Packed(path, len(names) + 2, redacted, tuple(left_out))


def name_run(run: RunFolder, manifest: dict[str, Any]) -> str:
    """Return a run's id: the name of its folder or, if that was renamed, the name it had."""
    if is_run_id(run.path.resolve().name):
        return run.path.resolve().name
    stamp = "".join(one for one in str(manifest["started_at"])[:19] if one not in "-:")
    digest = str((manifest.get("provenance") or {}).get("params_sha256"))[:8]
    name = f"{stamp}Z-{manifest['name']}-{digest}"
    if not is_run_id(name):
        raise RecordsError(f"expected a run's name and start in {run.manifest_path}, found others")
    return name


def _add(archive: zipfile.ZipFile, path: Path, name: str, clean: Clean) -> tuple[Part, int]:
    """Put a file in without its secrets; return it, and in how many lines there were some."""
    digest, num_bytes, lines = hashlib.sha256(), 0, 0
    big = path.stat().st_size > 2**30
    with path.open("rb") as file, archive.open(_inform(name), "w", force_zip64=big) as member:
        for line, held in clean_lines(_read_lines(file, path), clean):
            member.write(line)
            digest.update(line)
            num_bytes += len(line)
            lines += held
    return Part(name, num_bytes, digest.hexdigest()), lines


def _read_lines(file: IO[bytes], path: Path) -> Iterator[bytes]:
    while line := file.readline(MAX_LINE_BYTES + 1):
        if len(line) > MAX_LINE_BYTES:
            raise RecordsError(
                f"expected lines of at most {MAX_LINE_BYTES // 2**20} MiB in {path}, found a "
                "longer one, which can't be searched for secrets; take the file out"
            )
        yield line


def _add_text(archive: zipfile.ZipFile, name: str, text: str) -> Part:
    data = text.encode()
    with io.BytesIO(data) as file, archive.open(_inform(name), "w") as member:
        while chunk := file.read(CHUNK_BYTES):
            member.write(chunk)
    return Part(name, len(data), hashlib.sha256(data).hexdigest())


def _inform(name: str) -> zipfile.ZipInfo:
    told = zipfile.ZipInfo(name, EPOCH)
    told.compress_type = zipfile.ZIP_DEFLATED
    told.create_system = 3  # Unix, whatever made it, so that the mode counts
    told.external_attr = 0o100600 << 16
    return told


def _list_engines(run: RunFolder) -> tuple[tuple[str, str | None], ...]:
    """Return kind and version of the engines of a run, as its summary tells them."""
    if not run.summary_path.is_file():
        return ()
    found: dict[tuple[str, str | None], None] = {}
    packages = (run.manifest()["environment"].get("packages")) or {}
    for row in read_json(run.summary_path).get("points") or []:
        if kind := (row.get("asked") or {}).get("kind"):
            version = row.get("engine_version")
            if version is None and kind == "llamacpp":
                version = packages.get("xllamacpp")
            found[str(kind), None if version is None else str(version)] = None
    return tuple(sorted(found, key=str))
