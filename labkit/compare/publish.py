"""From two runs to the executed notebook of their comparison and its report.

It must not know how a verdict comes about, nor how a figure is drawn.
"""

from collections.abc import Sequence
from pathlib import Path

from labkit.analysis.comparison.whole import Compared
from labkit.compare.book import create_comparison
from labkit.execute import execute_notebook, find_notebook
from labkit.records import RunFolder
from labkit.report.export import export_report


def write_comparison(
    found: Compared,
    runs: tuple[RunFolder, RunFolder],
    reports: Path,
    *,
    gate: Sequence[str] = (),
    effect: str = "5%",
    anyway: bool = False,
) -> Path:
    """Execute the notebook of a comparison in a new folder and return the report made of it.

    The two runs are only read. Raises LabkitError.
    """
    folder = create_comparison(found, None, reports)
    notebook = find_notebook("compare")
    output = folder / notebook.name
    parameters = {
        "run_a": str(runs[0].path.resolve()),
        "run_b": str(runs[1].path.resolve()),
        "run_dir": str(folder.resolve()),
        "measuring": False,
        "gate": list(gate),
        "effect": effect,
        "anyway": anyway,
    }
    execute_notebook(notebook, output, parameters)
    title = f"labkit: {found.a.manifest['name']} and {found.b.manifest['name']} compared"
    export_report(output, folder / "report.html", title=title)
    return folder / "report.html"
