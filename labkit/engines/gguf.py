"""The head of a GGUF file: what it says of its model, without its weights and its vocabulary.

The layout is that of the GGUF specification, versions 2 and 3. It must not know what a key means.
"""

import struct
from pathlib import Path
from typing import Any, BinaryIO

MAGIC = b"GGUF"
STRING, ARRAY = 8, 9
FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q",
           12: "d"}  # fmt: skip
MAX_KEPT = 4096
"""Longer arrays are a vocabulary, and are left out."""
MAX_LENGTH = 2**31
"""A longer text or array is no head but damage."""


def read_gguf(path: Path) -> dict[str, Any]:
    """Return the keys before the vocabulary and their values; raises ValueError for another file.

    It stops at the first long array, as writers put the model before its tokens.
    """
    with path.open("rb") as file:
        if file.read(4) != MAGIC:
            raise ValueError("it is no GGUF file")
        if (version := _read(file, "I")) not in (2, 3):
            raise ValueError(f"its GGUF version is {version}, which is not known")
        _read(file, "Q")
        found: dict[str, Any] = {}
        for _ in range(_read(file, "Q")):
            key = _read_text(file)
            value = _read_value(file, _read(file, "I"))
            if value is None:
                break
            found[key] = value
    return found


def _read(file: BinaryIO, letter: str) -> Any:
    size = struct.calcsize(f"<{letter}")
    data = file.read(size)
    if len(data) < size:
        raise ValueError("it ends inside its head")
    return struct.unpack(f"<{letter}", data)[0]


def _read_text(file: BinaryIO) -> str:
    length = _read(file, "Q")
    data = file.read(length) if length < MAX_LENGTH else b""
    if len(data) < length:
        raise ValueError("it ends inside its head")
    return data.decode("utf-8", errors="replace")


def _read_value(file: BinaryIO, kind: int) -> Any:
    if kind == STRING:
        return _read_text(file)
    if kind != ARRAY:
        if kind not in FORMATS:
            raise ValueError(f"its head holds a value of kind {kind}, which is not known")
        return _read(file, FORMATS[kind])
    own, length = _read(file, "I"), _read(file, "Q")
    if length > MAX_KEPT:
        return None
    return [_read_value(file, own) for _ in range(length)]
