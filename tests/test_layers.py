"""The architecture, held: who may import whom, and what every module must be like."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "labkit"

LAYERS = {
    "errors": 0,
    "home": 1,
    "params": 1,
    "records": 1,
    "remaining": 1,
    "plan": 2,
    "workload": 2,
    "environment": 2,
    "address": 2,
    "analysis": 2,
    "progress": 2,
    "engines": 3,
    "client": 3,
    "telemetry": 3,
    "report": 3,
    "search": 3,
    "request": 4,
    "held": 4,
    "ladder": 4,
    "point": 4,
    "derive": 4,
    "listing": 4,
    "share": 4,
    "explore": 5,
    "index": 5,
    "run": 5,
    "execute": 6,
    "workbook": 6,
    "doctor": 6,
    "publish": 7,
    "compare": 7,
    "cli": 8,
    "__main__": 9,
}
"""A part imports only parts with a lower number, and itself."""

ONLY = {
    "analysis": {"records", "params", "errors"},
    "report": {"analysis", "records", "params", "errors"},
}
"""A report is made from records alone: of what lies below, these may import no more."""

PURE = {"errors", "params", "records", "plan", "analysis", "report"}
FOREIGN = {"xllamacpp", "pynvml", "openai", "papermill"}
VAGUE = {"utils", "util", "helpers", "helper", "base", "manager", "common", "misc", "registry"}
MODULES = sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    """Return the layer that a module belongs to: `labkit/engines/model.py` to `engines`."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Yield the dotted name of every module, or name in one, that is imported at any depth."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            stem = ".".join(
                [*(above if node.level else []), *([node.module] if node.module else [])]
            )
            yield from (f"{stem}.{alias.name}" for alias in node.names)


def faults(part: str, tree: ast.AST, package: str = "labkit") -> list[str]:
    """Return what a module of this part imports and should not."""
    found = []
    for name in imported(tree, package):
        top, _, rest = name.partition(".")
        target = rest.partition(".")[0]
        if top in FOREIGN and part in PURE:
            found.append(f"{part} imports {top}")
        if top != "labkit" or target in ("", "__version__", part):
            continue
        if target not in LAYERS:
            found.append(f"{part} imports labkit.{target}, which has no layer")
        elif LAYERS[target] >= LAYERS[part] or target not in ONLY.get(part, LAYERS):
            found.append(f"{part} imports labkit.{target}")
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_module_keeps_to_its_layer(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    part = part_of(path)
    if part == "__init__":  # imports on demand; test_explore.py holds that it is quick
        return
    assert part in LAYERS, f"{part} has no layer: give it one in LAYERS"
    package = ".".join(path.relative_to(ROOT).parent.parts)
    assert faults(part, tree, package) == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_module_is_short_named_and_explained(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), "a module says what it is for"
    assert len(text.splitlines()) <= 300
    assert not VAGUE & set(path.relative_to(PACKAGE).with_suffix("").parts)


@pytest.mark.parametrize(
    ("part", "line", "fault"),
    [
        ("engines", "import labkit.errors", ""),
        ("engines", "from labkit.engines.process import start", ""),
        ("engines", "from labkit.client.load import fire", "engines imports labkit.client"),
        ("telemetry", "from labkit.engines import Engine", "telemetry imports labkit.engines"),
        ("telemetry", "from labkit import run", "telemetry imports labkit.run"),
        ("telemetry", "import pynvml", ""),
        ("analysis", "def f():\n import labkit.plan", "analysis imports labkit.plan"),
        ("analysis", "from labkit.records import PointRecords", ""),
        ("report", "from labkit.workload import Request", "report imports labkit.workload"),
        ("report", "import papermill.execute", "report imports papermill"),
        ("plan", "import labkit.helpers", "plan imports labkit.helpers, which has no layer"),
        ("run", "from ..cli import main", "run imports labkit.cli"),
        ("run", "from . import workbook", "run imports labkit.workbook"),
        ("cli", "from labkit import __version__", ""),
    ],
)
def test_a_fault_is_seen(part: str, line: str, fault: str) -> None:
    package = "labkit.run" if ".." in line else "labkit"
    assert faults(part, ast.parse(line), package) == ([fault] if fault else [])


def test_every_layer_exists() -> None:
    parts = {part_of(path) for path in MODULES}
    assert set(LAYERS) <= parts
