"""From a run folder to its executed notebook and its report.

The manifest says what became of the notebook, since papermill's own marks can't be trusted after a
kernel died. This module must not know how anything is measured or drawn.
"""

import os
from pathlib import Path

from labkit.errors import RecordsError
from labkit.execute import execute_notebook, find_notebook
from labkit.records import RunFolder
from labkit.report.export import export_report

NOTEBOOK = "sweep"


def make_notebook(run: RunFolder, *, measuring: bool) -> Path:
    """Execute the notebook of a run, which measures what is missing if told so, and return it.

    An earlier notebook is kept beside it. Whatever ends this, the manifest is true afterwards.
    """
    output = run.path / f"{NOTEBOOK}.ipynb"
    if output.exists():
        count = 1 + sum(1 for _ in run.path.glob(f"{NOTEBOOK}.attempt*.ipynb"))
        output.rename(run.path / f"{NOTEBOOK}.attempt{count}.ipynb")
    run.update_manifest(notebook={"name": output.name, "status": "running"})
    parameters = {"run_dir": os.path.relpath(run.path), "measuring": measuring}
    status = "failed"
    try:
        execute_notebook(find_notebook(NOTEBOOK), output, parameters)
        status = "completed"
    finally:
        run.settle()
        run.update_manifest(notebook={"name": output.name, "status": status})
    return output


def write_report(run: RunFolder, *, fresh: bool = False) -> Path:
    """Write report.html from the executed notebook, which is made first where there is none.

    Nothing is measured. Raises RecordsError if nothing was recorded yet.
    """
    manifest = run.manifest()
    told = manifest["notebook"] or {}
    notebook = run.path / f"{NOTEBOOK}.ipynb"
    if manifest["status"] == "running":
        raise RecordsError(f"expected a run that has ended at {run.path}, found it still running")
    if fresh or told.get("status") != "completed" or not notebook.exists():
        notebook = make_notebook(run, measuring=False)
    export_report(notebook, run.report_path, title=f"labkit: {manifest['name']}")
    return run.report_path
