"""What a fresh clone installs: pinned, hashed, complete, and from nowhere in particular."""

import ast
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
ENTRY = re.compile(r"^([a-z0-9][a-z0-9-]*)==(\S+)(.*(?:\n[ ]+.*)*)", re.MULTILINE)


def _name(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None
    return re.sub(r"[-_.]+", "-", found[0]).lower()


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def locked() -> set[str]:
    return {name for name, _, _ in ENTRY.findall(LOCK)}


def test_the_lock_names_no_place() -> None:
    assert "://" not in LOCK
    assert not re.search(r"--(?!hash=)", LOCK)
    assert " @ " not in LOCK


def test_every_locked_package_has_hashes() -> None:
    entries = ENTRY.findall(LOCK)
    assert len(entries) == len(re.findall(r"^\S", LOCK, re.MULTILINE))
    for name, version, rest in entries:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", rest), f"{name}=={version}"


def test_everything_declared_is_locked(project: dict[str, Any], locked: set[str]) -> None:
    declared = [
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["dev"],
    ]
    assert {_name(requirement) for requirement in declared} <= locked


def test_every_dependency_has_a_lower_bound(project: dict[str, Any]) -> None:
    for requirement in project["project"]["dependencies"]:
        assert re.fullmatch(r"[a-z0-9-]+>=[0-9.]+", requirement), requirement


def test_the_package_declares_what_it_imports(project: dict[str, Any]) -> None:
    modules = {
        "nvidia-ml-py": "pynvml",
        "pyyaml": "yaml",
        "python-dotenv": "dotenv",
        "ipython": "IPython",
    }
    dependencies = [_name(requirement) for requirement in project["project"]["dependencies"]]
    known = {modules.get(name, name.replace("-", "_")) for name in dependencies}
    known |= {"labkit", *sys.stdlib_module_names}
    probes = ROOT / "labkit" / "engines" / "probes"  # run by an engine's own Python
    for path in set((ROOT / "labkit").rglob("*.py")) - set(probes.glob("*.py")):
        unknown = set(_imports(path)) - known
        assert not unknown, f"{path.name} imports {unknown}"


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("path", ["labkit/py.typed", "LICENSE", "CHANGELOG.md"])
def test_the_file_is_there(path: str) -> None:
    assert (ROOT / path).is_file()


def test_ci_can_be_run() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
