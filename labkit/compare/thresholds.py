"""Thresholds and shares as a person writes them, on a command line, in a file, in a notebook.

It must not know what is held against them.
"""

import re
from collections.abc import Sequence

from labkit.analysis.comparison.gate import Threshold, read_threshold, read_thresholds
from labkit.errors import ParamsError
from labkit.home import find_place
from labkit.params.document import read_yaml


def read_gates(given: Sequence[str]) -> list[Threshold]:
    """Return the thresholds of `metric=-5%` texts and of YAML files that hold such lines.

    Raises ParamsError for what is neither.
    """
    found: list[Threshold] = []
    for text in given:
        field, equals, share = text.partition("=")
        if equals:
            found.append(read_threshold(field.strip(), share))
            continue
        path = find_place(text)
        if not path.is_file():
            raise ParamsError(
                f"expected --gate metric=-5% or a file of thresholds, found {text}; "
                "write the one or name the other"
            )
        document = read_yaml(path.read_text(encoding="utf-8"), f"in {path}")
        if not isinstance(document, dict):
            raise ParamsError(
                f"expected lines such as ttft_s.p95: +10% in {path}, found none; see README.md"
            )
        found += read_thresholds(document)
    return found


def read_share(text: str) -> float:
    """Return a share of "5%" or "0.05". Raises ParamsError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%?)", text.strip())
    share = float(found[1]) / (100 if found[2] else 1) if found else 0.0
    if not 0 < share < 1:
        raise ParamsError(f"expected --effect between 0 and 100%, such as 5%, found {text}")
    return share
