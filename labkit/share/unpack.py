"""From an archive that anybody may have made to a run folder, or to one line that says why not.

All is checked before a run is there: names, sizes, sums, and what the run says of itself. An
archive's report and notebook can hold scripts of whoever made it, so these are checked, but stay in
the archive; labkit makes both anew from the records. It must not know how an archive is made.
"""

import hashlib
import json
import re
import shutil
import stat
import tempfile
import zipfile
import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from labkit.errors import RecordsError
from labkit.records import RunFolder, read_json
from labkit.share.names import CRATE, SUMS, fold, is_inert, is_plain, is_run_id

MAX_FILES = 100_000
MAX_SUMS_BYTES = 32 * 2**20
MAX_EXPANSION = 200
"""How many bytes one byte of an archive may become; records of runs become 4 to 12."""
FREE_EXPANSION_BYTES = 64 * 2**20
SPARE_BYTES = 200 * 2**20
CHUNK_BYTES = 2**20
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_SUM = re.compile(r"([0-9a-f]{64})  (.+)")
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, UnicodeError, ValueError)


def unpack_run(file: Path, reports: Path) -> RunFolder:
    """Check an archive and open it as a run below `reports`, under the id it was made with.

    Raises RecordsError, and leaves nothing behind, for a damaged archive, one that would write
    outside its folder or grow beyond measure, and where the run is already there.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            members = _check_members(archive, file)
            run_id = _read_run_id(archive, members, file)
            if (reports / run_id).exists():
                raise RecordsError(
                    f"expected no run {run_id} in {reports}, found one; it is already here, or "
                    "name another folder with --reports"
                )
            reports.mkdir(parents=True, exist_ok=True)
            _check_room(members, reports)
            place = Path(tempfile.mkdtemp(dir=reports, prefix=".import-"))
            try:
                _unpack(archive, members, place, file)
                _settle(RunFolder.open(place), file)
                place.rename(reports / run_id)
            except BaseException:
                shutil.rmtree(place, ignore_errors=True)
                raise
    except OSError as error:
        if error.filename not in (None, str(file)):
            raise  # of where it was to go
        told = error.strerror or error
        raise RecordsError(f"expected an archive at {file}, found: {told}") from None
    except _DAMAGE as error:
        told = " ".join(str(error).split())[:200]
        raise RecordsError(
            f"expected a whole zip that `labkit export` made at {file}, found: {told}; "
            "ask for it again"
        ) from None
    return RunFolder.open(reports / run_id)


def _check_members(archive: zipfile.ZipFile, file: Path) -> dict[str, zipfile.ZipInfo]:
    """Return the files of an archive by name once none of them can do harm."""
    members: dict[str, zipfile.ZipInfo] = {}
    seen: dict[str, str] = {}
    infos = archive.infolist()
    if len(infos) > MAX_FILES:
        raise _refuse(file, f"at most {MAX_FILES} files", str(len(infos)))
    for info in infos:
        name = info.orig_filename
        if not is_plain(name):
            raise _refuse(file, "names below one folder", repr(name[:80]))
        if (known := seen.get(fold(name))) is not None:
            raise _refuse(file, "each name once", f"{known!r} and {name!r}")
        seen[fold(name)] = name
        if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
            raise _refuse(file, "plain files", f"another kind, {name!r}")
        if info.flag_bits & 0x1 or info.compress_type not in METHODS:
            raise _refuse(file, "files that are deflated or stored", f"another way, {name!r}")
        members[name] = info
    for name in members:
        if any(fold(above) in seen for above in _list_above(name)):
            raise _refuse(file, "a name to be a file or a folder", f"both, above {name!r}")
    size = sum(info.file_size for info in infos)
    if size > max(FREE_EXPANSION_BYTES, MAX_EXPANSION * file.stat().st_size):
        most = f"at most {MAX_EXPANSION} times the archive's size"
        raise _refuse(file, most, f"{size / 2**30:.1f} GiB in it")
    return members


def _list_above(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:number]) for number in range(1, len(parts))]


def _check_room(members: dict[str, zipfile.ZipInfo], reports: Path) -> None:
    needed = sum(info.file_size for info in members.values()) + SPARE_BYTES
    if (free := shutil.disk_usage(reports).free) < needed:
        raise RecordsError(
            f"expected {needed // 2**20} MiB free in {reports}, found {free // 2**20} MiB; make "
            "room, or name another folder with --reports"
        )


def _read_run_id(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], file: Path) -> str:
    """Return the run's id as the crate tells it, which becomes the name of a folder."""
    try:
        graph = json.loads(_read_small(archive, members, CRATE, file))["@graph"]
        (run_id,) = [one["identifier"] for one in graph if one["@id"] == "./"]
    except (KeyError, TypeError, ValueError, RecursionError):
        raise _refuse(file, f"a run's id in {CRATE}", "none") from None
    if not isinstance(run_id, str) or not is_run_id(run_id):
        raise _refuse(file, f"a run's id in {CRATE}", repr(run_id)[:80])
    return run_id


def _read_small(
    archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], name: str, file: Path
) -> bytes:
    if name not in members:
        raise _refuse(file, name, "none")
    if members[name].file_size > MAX_SUMS_BYTES:
        raise _refuse(file, f"{name} below {MAX_SUMS_BYTES // 2**20} MiB", "a larger one")
    with archive.open(members[name]) as member:
        return member.read(MAX_SUMS_BYTES)


def _read_sums(
    archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], file: Path
) -> dict[str, str]:
    """Return the sum of each file by name; those told and those there must be the same."""
    sums: dict[str, str] = {}
    for line in _read_small(archive, members, SUMS, file).decode().splitlines():
        told = _SUM.fullmatch(line)
        if told is None:
            raise _refuse(file, f"a sum and a name a line in {SUMS}", repr(line[:80]))
        sums[told[2]] = told[1]
    if lacking := sorted(set(sums) - set(members)):
        raise _refuse(file, f"the files that {SUMS} tells", f"{lacking[0]!r} missing")
    if untold := sorted(set(members) - set(sums) - {SUMS}):
        raise _refuse(file, f"only files that {SUMS} tells", repr(untold[0]))
    return sums


def _unpack(
    archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], place: Path, file: Path
) -> None:
    for name, expected in _read_sums(archive, members, file).items():
        with archive.open(members[name]) as member:
            if not is_inert(name):
                found = _take(member, None)
            else:
                path = place / name
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("xb") as out:
                    path.chmod(0o600)
                    found = _take(member, out)
        if found != expected:
            raise _refuse(file, f"{name} with the sum that {SUMS} tells", "another; it is damaged")


def _take(member: IO[bytes], out: IO[bytes] | None) -> str:
    """Return the SHA-256 of a member, which is written out if told; zipfile stops at its size."""
    digest = hashlib.sha256()
    while chunk := member.read(CHUNK_BYTES):
        digest.update(chunk)
        if out is not None:
            out.write(chunk)
    return digest.hexdigest()


def _settle(run: RunFolder, file: Path) -> None:
    """Refuse a plan that leads out of the folder; note where the run came from."""
    manifest = read_json(run.manifest_path)
    for entry in manifest["plan"]:
        if not is_plain(entry["point_id"]) or "/" in entry["point_id"]:
            raise _refuse(file, "points with plain names", repr(entry["point_id"])[:80])
    if manifest["status"] == "running":
        raise _refuse(file, "a run that has ended", "one that says it still runs")
    with file.open("rb") as archive:
        digest = hashlib.file_digest(archive, "sha256").hexdigest()
    now = datetime.now(UTC).isoformat(timespec="seconds")
    imported: dict[str, Any] = {"archive_sha256": digest, "imported_at": now}
    run.update_manifest(notebook=None, imported=imported)


def _refuse(file: Path, expected: str, found: str) -> RecordsError:
    return RecordsError(f"expected {expected} in {file}, found {found}; nothing was imported")
