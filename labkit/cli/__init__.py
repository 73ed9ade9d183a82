"""The command line: reads words, calls what does the work, prints one line for a mistake.

It must not measure, derive or draw anything itself.
"""

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType, ModuleType
from typing import NoReturn

from labkit.cli.parser import make_parser
from labkit.cli.say import complain
from labkit.errors import LabkitError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 good, 1 something failed, 2 a wrong request."""
    _open_missing_streams()
    parser = make_parser()
    chosen = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup ignores it
        signal.signal(signal.SIGHUP, _interrupt)
    # jsonschema, which nbformat imports, builds a grammar if it finds this package. That takes
    # seconds, and no notebook asks for the format it is for.
    sys.modules.setdefault("rfc3987_syntax", ModuleType("rfc3987_syntax"))
    try:
        return int(chosen.command(chosen))
    except LabkitError as error:
        complain(" ".join(str(error).split()))
        return error.exit_code
    except KeyboardInterrupt:
        complain("interrupted; what was measured is kept")
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        where = f" at {error.filename}" if error.filename else ""
        told = (error.strerror or str(error)).lower()
        complain(
            f"expected to read and write files, found: {told}{where}; what was measured is kept"
        )
        return 1


def _open_missing_streams() -> None:
    """Open the null device where stdin, stdout or stderr is closed.

    Else the next files that are opened take their numbers, and children write into these.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
