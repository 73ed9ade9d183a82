"""Metrics in Prometheus text: looked through once, and read where they are asked for.

An engine tells hundreds of lines and labkit reads some ten of them, ten times a second. It must not
know what a metric means.
"""

import re
from collections.abc import Iterator, Mapping

Series = list[tuple[dict[str, str], float]]
"""[(labels, value)]."""
Metrics = Mapping[str, Series]

BUCKET = "_bucket{"
LINE = re.compile(r"[^\s{]+\s*(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?\s*")
"""A name, its labels, its value, and at times when it was so."""
LABEL = re.compile(r'([^\s={},]+)\s*=\s*"((?:[^"\\]|\\.)*)"')
ESCAPED = re.compile(r"\\(.)")


class _Page(Metrics):
    """Name -> its lines, which become labels and values when they are asked for."""

    def __init__(self, lines: dict[str, list[str]]) -> None:
        self._lines = lines

    def __getitem__(self, name: str) -> Series:
        return [_read_line(line) for line in self._lines[name]]

    def __contains__(self, name: object) -> bool:
        return name in self._lines

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


def parse_metrics(text: str) -> Metrics:
    """Return the metrics of Prometheus text but for histogram buckets, which nobody here reads.

    Raises ValueError for a line with nothing but a name, as other text has them; for a value that
    is no number it is raised when that metric is read.
    Source: https://prometheus.io/docs/instrumenting/exposition_formats/
    """
    lines: dict[str, list[str]] = {}
    for line in text.split("\n"):
        if BUCKET in line or line[:1] in "#":  # a comment, or nothing
            continue
        name, _, rest = line.partition("{")
        if not rest:
            name, _, rest = line.partition(" ")
        name = name.rstrip()
        if not name or not rest:
            raise ValueError(f"not a line of Prometheus text: {line[:100]!r}")
        lines.setdefault(name, []).append(line)
    return _Page(lines)


def _read_line(line: str) -> tuple[dict[str, str], float]:
    found = LINE.fullmatch(line)
    if found is None:
        raise ValueError(f"not a line of Prometheus text: {line[:100]!r}")
    labels = {name: _unescape(value) for name, value in LABEL.findall(found[1] or "")}
    return labels, float(found[2])


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return ESCAPED.sub(lambda found: "\n" if found[1] == "n" else found[1], text)
