"""The live picture of a point, through a real kernel: one output, replaced, its end kept."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from labkit.engines.model import find_model
from labkit.errors import LabkitError
from labkit.records import RunFolder
from labkit.workbook.live import Live

ROOT = Path(__file__).parent.parent.parent
SMALL = """
name: small
engine:
  {kind: llamacpp, model: smollm2, max_num_seqs: 2, max_num_batched_tokens: 64, max_model_len: 256}
workload: {num_requests: 8, seed: 1, prompt_tokens: 32, completion_tokens: 48}
load: {max_concurrency: 4, num_warmup_requests: 1}
sweep: {variable: engine.max_num_seqs, values: [2]}
sampling: {period_s: 0.05}
"""
try:
    find_model("smollm2")
    absent = ""
except LabkitError as error:
    absent = str(error)
needs_model = pytest.mark.skipif(bool(absent), reason=absent)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "params").mkdir()
    (tmp_path / "params" / "small.yaml").write_text(SMALL, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path


class Watching(NotebookClient):
    """Runs a notebook and keeps every picture that was shown, as a reader saw them."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.pictures: list[str] = []

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
        html = msg["content"].get("data", {}).get("text/html", "")
        if 'class="pulse"' in html:
            self.pictures.append(html)
        return super().process_message(msg, cell, cell_index)


def read_pulse(cell: Any) -> str:
    """Return the text of the only picture among the outputs of a cell."""
    (html,) = [
        one.data["text/html"]
        for one in cell.outputs
        if 'class="pulse"' in one.get("data", {}).get("text/html", "")
    ]
    return re.sub(r"<[^>]*>", "", html)


@needs_model
def test_run_all_shows_the_point_while_it_runs_and_keeps_its_end(home: Path) -> None:
    document = nbformat.read(ROOT / "notebooks" / "explore.ipynb", as_version=4)
    cells = {cell.id: cell for cell in document.cells}
    chosen = cells["parameters"].source.replace("params/explore.yaml", "params/small.yaml")
    cells["parameters"].source = chosen
    client = Watching(document, timeout=120, resources={"metadata": {"path": str(home)}})
    client.execute()
    fired = cells["fire-load"]
    assert len(fired.outputs) == 1
    assert "8 of 8 requests" in read_pulse(fired)
    assert "all 1 points measured" in read_pulse(fired)
    under_way = [html for html in client.pictures if "polyline" in html and "measured" not in html]
    assert under_way, "no picture was shown while the point ran"
    assert all("<script" not in html for html in client.pictures)


@needs_model
def test_papermill_keeps_one_output_with_the_last_state(home: Path) -> None:
    command = [sys.executable, "-m", "papermill", str(ROOT / "notebooks" / "explore.ipynb")]
    command += ["out.ipynb", "-p", "params_file", "params/small.yaml"]
    subprocess.run(
        command, cwd=home, env=dict(os.environ), check=True, capture_output=True, timeout=120
    )
    document = nbformat.read(home / "out.ipynb", as_version=4)
    (fired,) = [cell for cell in document.cells if cell.id == "fire-load"]
    assert len(fired.outputs) == 1
    assert "8 of 8 requests" in read_pulse(fired)
    assert document.metadata.get("widgets") is None


def test_a_picture_that_fails_stops_nothing(tmp_path: Path, monkeypatch, capsys) -> None:
    class Broken:
        def update(self, *told: Any, **options: Any) -> None:
            raise OSError("the browser is gone")

    monkeypatch.setattr("labkit.workbook.live.display", lambda *told, **options: Broken())
    event = {"event": "run", "num_points": 1, "at_s": 0.0}
    with Live(RunFolder(tmp_path)) as live:
        live.hear(event)
    assert capsys.readouterr().err == ""
