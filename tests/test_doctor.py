"""Each check, where all is well and where it is not."""

from pathlib import Path

import pytest

from labkit import doctor
from labkit.doctor import (
    check_browser,
    check_cores,
    check_disk,
    check_gpu,
    check_llamacpp,
    check_memory,
    check_model,
    check_other_engines,
    check_packages,
    check_proxy,
    check_python,
    diagnose,
)


def test_every_check_is_one_line_and_a_trouble_has_a_way_out(tmp_path: Path) -> None:
    checks = diagnose(tmp_path / "reports", {})
    names = [check.name for check in checks]
    assert len(set(names)) == len(names) == 11
    for check in checks:
        assert check.text
        assert "\n" not in check.text + (check.fix or "")
        assert (check.status == "ok") == (check.fix is None)


@pytest.mark.parametrize(
    ("version", "status"), [((3, 10), "fail"), ((3, 11), "ok"), ((3, 13), "ok"), ((3, 14), "warn")]
)
def test_python(version: tuple[int, int], status: str) -> None:
    assert check_python(version).status == status


def test_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_packages().status == "ok"
    monkeypatch.setattr(doctor, "find_version", lambda name: None if name == "plotly" else "1")
    check = check_packages()
    assert (check.status, check.text) == ("fail", "not installed: plotly")


def test_the_engine_that_ships(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_version", lambda name: "9.8")
    assert check_llamacpp().text == "xllamacpp 9.8"
    monkeypatch.setattr(doctor, "find_version", lambda name: None)
    assert check_llamacpp().status == "warn"


def test_a_model_that_was_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    check = check_model()
    assert check.status == "warn"
    assert check.fix is not None
    assert "make setup" in check.fix


def test_a_model_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.gguf").write_bytes(b"x" * 2_000_000)
    monkeypatch.setattr(doctor, "find_model", lambda name: tmp_path / "a.gguf")
    assert check_model().text == "a.gguf, 2 MB"


def test_other_engines_are_looked_for_and_never_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    check = check_other_engines()
    assert (check.status, check.text) == (
        "ok", "not on the PATH: vLLM, SGLang, TensorRT-LLM, TGI",
    )  # fmt: skip
    (tmp_path / "vllm").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "vllm").chmod(0o755)
    assert check_other_engines().text.startswith("labkit launches vLLM (vllm); not on the")


def test_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    none = {"driver": None, "devices": [], "reason": "no NVIDIA driver"}
    monkeypatch.setattr(doctor, "describe_gpus", lambda: none)
    assert (check_gpu().status, check_gpu().text) == ("ok", "no NVIDIA driver")
    some = {"driver": "580.1", "devices": ["0: T, 5 MiB"], "reason": None}
    monkeypatch.setattr(doctor, "describe_gpus", lambda: some)
    assert check_gpu().text == "0: T, 5 MiB; driver 580.1"


@pytest.mark.parametrize(
    ("cores", "status"), [(1.0, "warn"), (1.5, "warn"), (2.0, "ok"), (64.0, "ok")]
)
def test_cores(cores: float, status: str) -> None:
    assert check_cores(cores).status == status


@pytest.mark.parametrize(("free_bytes", "status"), [(1024**3 - 1, "warn"), (1024**3, "ok")])
def test_memory(free_bytes: int, status: str) -> None:
    assert check_memory(free_bytes).status == status


def test_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    absent = tmp_path / "not" / "yet"
    assert check_disk(absent).status == "ok"
    assert not absent.exists()
    monkeypatch.setattr(doctor, "MIN_FREE_DISK_BYTES", 2**80)
    assert check_disk(absent).status == "fail"
    monkeypatch.setattr(doctor.os, "access", lambda place, mode: False)
    assert "can't be written" in check_disk(absent).text


def test_proxies_are_named_and_not_told() -> None:
    secret = "http://me:pass@proxy:3128"
    check = check_proxy({"HTTPS_PROXY": secret, "http_proxy": secret, "no_proxy": "a", "PATH": "x"})
    assert check.status == "warn"
    assert check.text == "set: HTTPS_PROXY, http_proxy, no_proxy"
    assert "pass" not in check.text + str(check.fix)
    assert check_proxy({"no_proxy": "localhost", "http_proxy": ""}).status == "ok"


def test_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert check_browser().status == "ok"
    assert "skipped" in check_browser().text
