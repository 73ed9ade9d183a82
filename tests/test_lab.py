"""Run All in JupyterLab, driven in a real browser, gives what papermill and labkit give."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import nbformat
import pytest

from labkit.engines.model import find_model
from labkit.engines.process import choose_port
from labkit.errors import LabkitError
from labkit.records import read_json

ROOT = Path(__file__).parent.parent
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
SMALL = """
name: small
engine:
  {kind: llamacpp, model: smollm2, max_num_seqs: 2, max_num_batched_tokens: 64, max_model_len: 256}
workload: {num_requests: 4, seed: 1, prompt_tokens: 16, completion_tokens: 4}
load: {max_concurrency: 2, num_warmup_requests: 1}
sweep: {variable: engine.max_num_seqs, values: [1, 2]}
sampling: {period_s: 0.05}
"""

JOINED = """async () => {
  const kernels = await (await fetch("/api/kernels")).json();
  return kernels.every(one => one.connections > 0 && one.execution_state === "idle");
}"""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH"),
]

try:
    find_model("smollm2")
except LabkitError as error:
    pytestmark.append(pytest.mark.skip(reason=str(error)))


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A JupyterLab over a folder with the sweep notebook, set to a small params file."""
    (tmp_path / "params").mkdir()
    (tmp_path / "params" / "small.yaml").write_text(SMALL, encoding="utf-8")
    (tmp_path / "notebooks").mkdir()
    document = nbformat.read(ROOT / "notebooks" / "sweep.ipynb", as_version=4)
    cell = next(cell for cell in document.cells if cell.id == "parameters")
    cell.source = cell.source.replace("quickstart.yaml", "small.yaml")
    nbformat.write(document, tmp_path / "notebooks" / "sweep.ipynb")
    port = choose_port()
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}"]
    command += [
        "--ServerApp.port_retries=0",
        "--IdentityProvider.token=",
        "--ServerApp.disable_check_xsrf=True",
        f"--notebook-dir={tmp_path}",
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "JUPYTER_CONFIG_DIR": str(tmp_path / "config"),
        "JUPYTERLAB_SETTINGS_DIR": str(tmp_path / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(tmp_path / "workspaces"),
    }
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr is not None
        for line in server.stderr:
            if "is running at" in line:
                break
        address = f"http://127.0.0.1:{port}"
        open_session(address)
        yield address, tmp_path
        server.terminate()
        server.communicate(timeout=30)


def open_session(address: str) -> None:
    """Start the notebook's kernel, so that JupyterLab joins it rather than races two of its own."""
    session = {
        "path": "notebooks/sweep.ipynb",
        "name": "sweep.ipynb",
        "type": "notebook",
        "kernel": {"name": "python3"},
    }
    httpx2.post(f"{address}/api/sessions", json=session, trust_env=False).raise_for_status()


def test_run_all_measures_and_papermill_then_gives_the_same_summary(lab: tuple[str, Path]) -> None:
    sync = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    address, home = lab
    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.goto(f"{address}/lab/tree/notebooks/sweep.ipynb")
        page.wait_for_selector(".jp-NotebookPanel .jp-CodeCell", timeout=60_000)
        page.wait_for_selector('[data-status="idle"]', state="attached", timeout=60_000)
        page.wait_for_function(JOINED, timeout=60_000)
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        page.wait_for_selector("pre.rerun", state="attached", timeout=120_000)
        assert page.locator(".js-plotly-plot").count() > 0
        browser.close()
    (path,) = (home / "reports").iterdir()
    before = (path / "summary.json").read_bytes()
    assert [row["num_ok"] for row in read_json(path / "summary.json")["points"]] == [4, 4]
    command = [sys.executable, "-m", "papermill", str(ROOT / "notebooks" / "sweep.ipynb")]
    command += [str(home / "out.ipynb"), "-p", "run_dir", str(path)]
    again = [
        sys.executable,
        "-m",
        "labkit",
        "run",
        str(path / "params.yaml"),
        "--resume",
        str(path),
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for one in (command, again):
        subprocess.run(one, cwd=home, env=environment, check=True, capture_output=True, timeout=120)
        assert (path / "summary.json").read_bytes() == before
