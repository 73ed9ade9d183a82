"""From a run folder to its notebook: whatever ends it, the manifest is true afterwards."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from labkit import publish
from labkit.errors import NotebookError, RecordsError
from labkit.publish import make_notebook
from labkit.records import RunFolder, replace_json

PARAMS = Path(__file__).parent.parent / "params/quickstart.yaml"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "~run"
    path.mkdir()
    run = RunFolder(path)
    manifest = {"schema": 1, "name": "small", "status": "created", "error": None, "plan": []}
    replace_json(run.manifest_path, {**manifest, "notebook": None})
    shutil.copyfile(PARAMS, run.params_path)
    return run


def end_with(monkeypatch: pytest.MonkeyPatch, error: BaseException | None) -> list[dict[str, Any]]:
    """Let execute_notebook only note its parameters, and end like this."""
    given: list[dict[str, Any]] = []

    def execute(notebook: Path, output: Path, parameters: Mapping[str, Any]) -> None:
        given.append(dict(parameters))
        output.write_text(f"{len(given)}")
        if error:
            raise error

    monkeypatch.setattr(publish, "execute_notebook", execute)
    return given


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [
        (NotebookError("the kernel died"), "failed", "the kernel died"),
        (KeyboardInterrupt(), "interrupted", "interrupted from the keyboard"),
    ],
)
def test_a_notebook_that_ends_before_measuring_is_told(
    run: RunFolder,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    status: str,
    told: str,
) -> None:
    end_with(monkeypatch, error)
    with pytest.raises(type(error)):
        make_notebook(run, measuring=True)
    manifest = run.manifest()
    assert (manifest["status"], manifest["error"]) == (status, told)
    assert manifest["notebook"] == {"name": "sweep.ipynb", "status": "failed"}


def test_an_earlier_notebook_is_kept_whatever_was_deleted(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    end_with(monkeypatch, None)
    for _ in range(3):
        make_notebook(run, measuring=False)
    (run.path / "sweep.attempt1.ipynb").unlink()
    make_notebook(run, measuring=False)
    kept = {path.name: path.read_text() for path in run.path.glob("*.ipynb")}
    assert kept == {"sweep.attempt2.ipynb": "2", "sweep.attempt3.ipynb": "3", "sweep.ipynb": "4"}


def test_a_run_whose_name_begins_with_a_tilde_is_no_home(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = end_with(monkeypatch, None)
    make_notebook(run, measuring=False)
    assert given == [{"run_dir": "./~run", "measuring": False}]


def test_two_do_not_make_one_notebook(run: RunFolder) -> None:
    with run.hold_notebook(), pytest.raises(RecordsError, match="making its notebook"):
        make_notebook(run, measuring=False)


def test_a_notebook_that_cannot_be_read_is_made_afresh(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Path] = []
    monkeypatch.setattr(publish, "export_report", lambda path, *_, **__: shown.append(path))
    given = end_with(monkeypatch, None)
    run.update_manifest(notebook={"name": "sweep.ipynb", "status": "completed"}, status="completed")
    (run.path / "sweep.ipynb").write_text("{")
    publish.write_report(run)
    assert [one["measuring"] for one in given] == [False]
    assert shown == [run.path / "sweep.ipynb"]
