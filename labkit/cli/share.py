"""`labkit export` and `labkit import`: a run as one file, and back.

It must not know what is in an archive.
"""

import argparse
import re

from labkit.cli.runs import refresh_index
from labkit.cli.say import complain, show
from labkit.errors import ParamsError
from labkit.home import find_reports
from labkit.records import RunFolder, find_run

_SPDX = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]{0,63}")


def export_run(chosen: argparse.Namespace) -> int:
    """Write the archive of a run; tell where it is, what was taken out and what is not in it."""
    from labkit.share import pack_run

    if chosen.license is not None and not _SPDX.fullmatch(chosen.license):
        raise ParamsError(
            f"expected an SPDX identifier such as CC-BY-4.0, found {chosen.license[:60]!r}; "
            "https://spdx.org/licenses lists them"
        )
    run = RunFolder.open(find_run(chosen.run, find_reports()))
    run.settle()
    packed = pack_run(run, chosen.out, author=chosen.author, license=chosen.license)
    for name, lines in packed.redacted.items():
        complain(f"{name}: something secret was taken out of {lines} of its lines")
    for name in packed.left_out:
        complain(f"{name} is left out: an earlier one, a link, or no name for an archive")
    if not run.report_path.is_file():
        complain(f"there is no report in it; `labkit report {show(run.path)}` makes one")
    print(f"archive: {show(packed.path)} ({packed.num_files} files)")
    return 0


def import_run(chosen: argparse.Namespace) -> int:
    """Open an archive as a run folder once all of it is found to be whole and harmless."""
    from labkit.share import unpack_run

    run = unpack_run(chosen.file, chosen.reports or find_reports())
    refresh_index(run.path.parent)
    print(f"run folder: {show(run.path)}")
    print(f"its report is made from its records by: labkit report {show(run.path)}")
    return 0
