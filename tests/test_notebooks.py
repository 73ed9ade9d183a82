"""The notebooks in git are thin, stripped and valid."""

import ast
from pathlib import Path

import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request: pytest.FixtureRequest) -> nbformat.NotebookNode:
    return nbformat.read(request.param, as_version=nbformat.NO_CONVERT)


def test_there_are_notebooks() -> None:
    assert {path.stem for path in NOTEBOOKS} >= {"sweep", "explore"}


def test_it_is_valid_and_stripped(notebook: nbformat.NotebookNode) -> None:
    nbformat.validate(notebook)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert notebook.metadata.kernelspec.name == "python3"
    for cell in notebook.cells:
        assert set(cell.metadata) <= {"tags"}
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


def test_it_is_thin(notebook: nbformat.NotebookNode) -> None:
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) <= 15
    for cell in code:
        assert len(cell.source.splitlines()) <= 10
        for node in ast.walk(ast.parse(cell.source)):
            assert not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.For | ast.While)
            if isinstance(node, ast.ImportFrom):
                assert node.module is not None
                assert node.module.split(".")[0] == "labkit"
            assert not isinstance(node, ast.Import)


def test_its_first_code_cell_holds_the_parameters(notebook: nbformat.NotebookNode) -> None:
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    tagged = [cell for cell in code if "parameters" in cell.metadata.get("tags", [])]
    assert tagged == [code[0]]
    for line in code[0].source.splitlines():
        assert line.count("=") == 1
        assert isinstance(ast.parse(line).body[0], ast.AnnAssign)


def test_its_report_begins_with_the_answer(notebook: nbformat.NotebookNode) -> None:
    shown = [cell for cell in notebook.cells if "hide-cell" not in cell.metadata.get("tags", [])]
    if shown[0].id == "title":  # of a point by hand, which is looked at step by step
        assert shown[0].source.startswith("# One point by hand")
    else:
        assert shown[0].source == "book.show_findings()"
