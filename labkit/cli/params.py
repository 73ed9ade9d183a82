"""`labkit params`: the params files that are there, and the schema that editors check them by.

It must not measure, nor plan a run.
"""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from labkit.cli.say import show
from labkit.home import find_home
from labkit.params.providers import NAMES

SUFFIXES = (".yaml", ".yml")
DIRECTIVE = "yaml-language-server:"
"""What a comment for an editor begins with."""


def show_params(chosen: argparse.Namespace) -> int:
    """Print the schema, or a line for each params file: where it is and what it asks."""
    if chosen.schema:
        from labkit.params.schema import dump_schema

        print(dump_schema())
        return 0
    folder = find_home() / "params"
    found = list(_find_files(folder))
    if not found:
        print(f"no params files in {show(folder)}; copy one of labkit's own there")
    names = [show(path) for path in found]
    width = max(map(len, names), default=0)
    for name, path in zip(names, found, strict=True):
        print(f"{name:<{width}}  {read_question(path)}".rstrip())
    return 0


def _find_files(folder: Path) -> Iterator[Path]:
    """Yield params files, those in the folder itself before those below it, by name."""
    paths = (path for path in folder.rglob("*") if path.suffix in SUFFIXES and path.is_file())
    for path in sorted(paths, key=lambda path: (len(path.parts), path)):
        if path.name not in NAMES:  # which holds keys
            yield path


def read_question(path: Path) -> str:
    """Return the first sentence of the comment that a file begins with, "" where there is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return "can't be read"
    comment: list[str] = []
    for line in map(str.strip, lines):
        text = line.removeprefix("#").strip()
        if text.startswith(DIRECTIVE) or (not comment and not text):
            continue
        if not text or not line.startswith("#"):
            break
        comment.append(text)
    told = " ".join(comment)
    sentence = re.match(r".*?[.?!](?=\s|$)", told)
    return sentence[0] if sentence else told
