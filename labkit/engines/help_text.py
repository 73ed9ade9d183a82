"""Flags that a program lists when it is asked for --help, and whether launches keep to them.

For engines whose parser can't be asked by itself. It must not know any certain engine.
"""

import re
import subprocess
from collections.abc import Sequence

from labkit.engines.adapter import Launch

HELP_TIMEOUT_S = 300.0
FLAG = re.compile(r"--[A-Za-z][\w-]*")


def check_listed(command: Sequence[str], launches: Sequence[Launch]) -> list[str | None]:
    """Return, for each launch, the flags that `command`'s answer does not list, or None."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=HELP_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return [f"its --help did not answer: {error}"] * len(launches)
    listed = read_listed(done.stdout)
    if done.returncode != 0 or not listed:
        reason = " ".join(done.stderr.split())[-300:] or f"exit code {done.returncode}"
        return [f"its --help did not answer: {reason}"] * len(launches)
    return [find_unlisted(launch.command, listed) for launch in launches]


def read_listed(text: str) -> frozenset[str]:
    """Return the long flags of a --help text: those that begin its lines, not those in prose."""
    found: set[str] = set()
    for line in text.splitlines():
        names = re.split(r"\s{2,}", line.strip(), maxsplit=1)[0]
        if names.startswith("-"):
            found.update(FLAG.findall(names))
    return frozenset(found)


def find_unlisted(command: Sequence[str], listed: frozenset[str]) -> str | None:
    """Return one line about the flags of a command that are not listed, or None."""
    flags = [word.partition("=")[0] for word in command if FLAG.match(word)]
    missing = [flag for flag in flags if flag not in listed]
    return f"{', '.join(missing)}, which its --help does not list" if missing else None
