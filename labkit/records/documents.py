"""JSON documents and texts that are replaced atomically, never half.

It must not know what stands in a document.
"""

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit.errors import RecordsError


def replace_text(path: Path, text: str) -> None:
    """Write a document so that a reader, or a crash, sees the old or the new one, never half."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def replace_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a strict JSON document atomically; NaN and infinity are refused."""
    replace_text(path, json.dumps(document, allow_nan=False, indent=1) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Return a JSON document. Raises RecordsError if it is missing or damaged."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RecordsError(f"expected {path}, found: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise RecordsError(f"expected JSON in {path}, found: {error}") from None
    if not isinstance(document, dict):
        raise RecordsError(f"expected a JSON object in {path}, found {type(document).__name__}")
    return document
