"""A file that a workload is read from: its text, its lines, and its hash.

It must not know what the lines mean.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.errors import ParamsError

MAX_DEPTH = 100
"""Of lists and objects inside each other in what is sent on; Python's own limit is met near 300."""
MAX_PATH_CHARS = 200


@dataclass(frozen=True, slots=True)
class Source:
    """A file as it was read."""

    path: str
    text: str
    sha256: str


def check_source(path: str) -> None:
    """Raise ParamsError unless this is a file."""
    try:
        place = Path(path).expanduser()
        is_file, is_folder = place.is_file(), place.is_dir()
    except (OSError, RuntimeError, ValueError) as error:  # a name too long, or of no user's home
        shown = ascii(path if len(path) <= MAX_PATH_CHARS else f"{path[:MAX_PATH_CHARS]}...")
        told = error.strerror if isinstance(error, OSError) else error
        raise ParamsError(f"workload.path: expected a file, found {shown}: {told}") from None
    if not is_file:
        found = "a folder" if is_folder else "none"
        here = "" if place.is_absolute() else f" in {Path.cwd()}"
        raise ParamsError(f"workload.path: expected a file at {path}{here}, found {found}")


def read_source(path: str) -> Source:
    """Read a file of UTF-8; a relative path is looked up from the present folder."""
    check_source(path)
    try:
        data = Path(path).expanduser().read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise ParamsError(f"workload.path: can't read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ParamsError(f"workload.path: expected UTF-8 in {path}, found: {error}") from None
    if not text.strip():
        raise ParamsError(f"workload.path: expected records in {path}, found an empty file")
    return Source(path, text, hashlib.sha256(data).hexdigest())


def list_lines(source: Source) -> Iterator[tuple[int, str]]:
    """Yield the number of each line that is not blank, and the line."""
    # Not splitlines: JSON may hold U+2028 and its like as they are.
    for number, line in enumerate(source.text.split("\n"), start=1):
        if line.strip():
            yield number, line


def read_objects(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each line, and the JSON object on it."""
    for number, line in list_lines(source):
        try:
            found = parse_json(line)
        except ValueError as error:
            raise refuse(source, number, f"expected JSON, found: {error}") from None
        if not isinstance(found, dict):
            raise refuse(source, number, f"expected a JSON object, found {shorten(found)}")
        yield number, found


def parse_json(text: str) -> Any:
    """Return the value of a JSON text; raises ValueError, also where it is nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except json.JSONDecodeError:
        raise
    except ValueError:  # Python reads no longer ones: sys.get_int_max_str_digits()
        raise ValueError("a number of thousands of digits") from None


def is_sendable(value: Any) -> bool:
    """Return whether a value can stand in the body of a request: no NaN, no half character."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return False
    return True


def is_shallow(value: Any, max_depth: int = MAX_DEPTH) -> bool:
    """Return whether lists and objects stand inside each other at most `max_depth` times."""
    layer = [value]
    for _ in range(max_depth + 1):
        layer = [
            one
            for outer in layer
            if isinstance(outer, list | dict)
            for one in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not layer:
            return True
    return False


def refuse(source: Source, number: int, told: str) -> ParamsError:
    """Return the error for one line of a file."""
    return ParamsError(f"{source.path} line {number}: {told}")


def shorten(found: Any) -> str:
    """Return a value as JSON of one line, cut where it is long."""
    try:
        text = json.dumps(found)
    except RecursionError:  # read one call less deep than here
        return "a value that is nested too deeply"
    return text if len(text) <= 60 else f"{text[:57]}..."
