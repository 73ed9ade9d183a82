"""`labkit params`: the files that are there, in a line each, and the schema for editors."""

import json
from pathlib import Path

import pytest

from labkit.cli import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "params"
    (folder / "gpu").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return folder


def test_a_line_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = {
        "b.yaml": "# How many\n# at once? Two values.\n\nname: b\n",
        "a.yml": "name: a\n# not about the file\n",
        "gpu/c.yaml": "# yaml-language-server: $schema=../schema.json\n\n# As in b.yaml on a GPU\n",
        "providers.yaml": "# api_key: secret\n",
        "notes.txt": "# no params\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "broken.yaml").write_bytes(b"# \xff\n")
    assert main(["params"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "params/a.yml",
        "params/b.yaml       How many at once?",
        "params/broken.yaml  can't be read",
        "params/gpu/c.yaml   As in b.yaml on a GPU",
    ]


def test_no_files_names_the_place(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["params"]) == 0
    assert "no params files in params;" in capsys.readouterr().out


def test_the_schema_is_json_and_nothing_else(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["params", "--schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert set(schema["required"]) >= {"name", "engine", "workload", "load"}
    assert schema["else"]["required"] == ["sweep"]
