"""How the command line says things: a complaint in one line, a path from here.

It must not know what is said.
"""

import contextlib
import sys
from pathlib import Path


def complain(text: str) -> None:
    """Print one line for a person to stderr."""
    with contextlib.suppress(OSError):  # of a terminal that is gone, which is why this ended
        print(f"labkit: {text}", file=sys.stderr)


def show(path: Path) -> str:
    """Return a path from the present folder if it is below it, else the whole one."""
    full = path.resolve()
    return str(full.relative_to(Path.cwd())) if full.is_relative_to(Path.cwd()) else str(full)
