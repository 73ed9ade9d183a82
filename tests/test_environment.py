"""What a manifest says of machine and software, and what it must not say."""

import json
import platform
import shutil
import subprocess
from pathlib import Path

import psutil
import pytest

from labkit import environment as module
from labkit.environment import (
    count_cores,
    describe_checkout,
    describe_environment,
    find_cpu_model,
    find_version,
    read_memory_limit,
)


def test_it_is_plain_and_complete() -> None:
    found = describe_environment()
    json.dumps(found, allow_nan=False)
    assert set(found) == {"platform", "kernel", "python", "cpu", "memory", "packages", "git"}
    assert found["python"].endswith(platform.python_version())
    assert found["memory"]["total_bytes"] > 0
    assert 0 < found["cpu"]["cores_usable"] <= found["cpu"]["cores_logical"]
    assert set(found["packages"]) == {"labkit", *module.PACKAGES}
    assert found["packages"]["pandas"] == find_version("pandas")


def test_it_names_no_person_no_machine_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABKIT_SECRET", "a-secret-value")
    leaves = list(walk(describe_environment()))
    private = {platform.node(), psutil.Process().username(), "a-secret-value"} - {""}
    assert not private & set(leaves)
    assert not [
        text for text in leaves if str(Path.home()) + "/" in text or str(Path.cwd()) in text
    ]


def walk(tree: object) -> list[str]:
    if isinstance(tree, dict):
        return [leaf for value in tree.values() for leaf in walk(value)]
    return [str(tree)]


def test_a_package_that_is_not_there() -> None:
    assert find_version("no-such-distribution-of-labkit") is None


@pytest.mark.skipif(platform.system() != "Linux", reason="reads /proc/cpuinfo")
@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("processor\t: 0\nmodel\t\t: 85\nmodel name\t: Fast CPU @ 2 GHz\n", "Fast CPU @ 2 GHz"),
        ("processor : 0\nModel : Board 5\n", "Board 5"),
        ("processor : 0\n", None),
    ],
)
def test_the_cpu_model(tmp_path: Path, text: str, model: str | None) -> None:
    (tmp_path / "cpuinfo").write_text(text, encoding="utf-8")
    assert find_cpu_model(tmp_path / "cpuinfo") == model
    assert find_cpu_model(tmp_path / "absent") is None


@pytest.mark.parametrize(
    ("quota", "cores"),
    [("max 100000", 8.0), ("150000 100000", 1.5), ("1600000 100000", 8.0), ("odd", 8.0), ("", 8.0)],
)
def test_cores_within_a_quota(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: str, cores: float
) -> None:
    monkeypatch.setattr(module.os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    (tmp_path / "cpu.max").write_text(f"{quota}\n", encoding="utf-8")
    assert count_cores(tmp_path) == cores
    assert count_cores(tmp_path / "absent") == 8.0


def test_the_memory_limit(tmp_path: Path) -> None:
    assert read_memory_limit(tmp_path) is None
    (tmp_path / "memory.max").write_text("max\n", encoding="utf-8")
    assert read_memory_limit(tmp_path) is None
    (tmp_path / "memory.max").write_text("1073741824\n", encoding="utf-8")
    assert read_memory_limit(tmp_path) == 1024**3


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if shutil.which("git") is None:
        pytest.skip("no git on the PATH")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "absent"))
    root = tmp_path / "checkout"
    (root / "labkit").mkdir(parents=True)
    (root / "labkit" / "a.py").write_text("", encoding="utf-8")
    settings = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "-q"], ["add", "."], [*settings, "commit", "-q", "-m", "a"]):
        subprocess.run(["git", "-C", str(root), *arguments], check=True)
    return root


def test_a_checkout(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = describe_checkout(checkout)
    assert found is not None
    assert len(found["commit"]) == 40
    assert found["dirty"] is False
    (checkout / "notes.txt").write_text("mine", encoding="utf-8")
    assert describe_checkout(checkout) == found
    (checkout / "labkit" / "b.py").write_text("", encoding="utf-8")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert describe_checkout(checkout) == {"commit": found["commit"], "dirty": True}


def test_no_checkout(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert describe_checkout(checkout / "labkit") is None
    monkeypatch.setenv("PATH", "")
    assert describe_checkout(checkout) is None
