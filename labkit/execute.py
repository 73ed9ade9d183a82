"""Runs a notebook headlessly through papermill, and refuses what papermill lets pass.

papermill only logs a parameter that a notebook does not have, and marks the cells after a dead
kernel as completed; here the first is an error and the second is not believed. This module must
not know what a notebook measures.
"""

import contextlib
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import nbformat

from labkit.errors import NotebookError, ParamsError
from labkit.params import name_nearest


def find_notebook(name: str) -> Path:
    """Return the path of one of labkit's notebooks, such as `sweep`. Raises NotebookError."""
    package = Path(__file__).resolve().parent
    for folder in (package.parent / "notebooks", package / "notebooks"):
        if (folder / f"{name}.ipynb").is_file():
            return folder / f"{name}.ipynb"
    raise NotebookError(f"expected the notebook {name}.ipynb beside labkit, found none")


def execute_notebook(notebook: Path, output: Path, parameters: Mapping[str, Any]) -> None:
    """Run a notebook with these parameters in a kernel of its own and keep what it showed.

    Raises ParamsError for a parameter that the notebook lacks, NotebookError if a cell fails or
    the kernel dies; the output then holds what was there until then.
    """
    import papermill
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    known = list(papermill.inspect_notebook(notebook))
    for name in parameters:
        if name not in known:
            raise ParamsError(f"{name} is not a parameter of {notebook.name}"
                              f"{name_nearest(name, known)}")  # fmt: skip
    document = nbformat.read(notebook, as_version=4)
    with _quiet():
        try:
            papermill.execute_notebook(
                document,
                str(output).replace("{", "{{").replace("}", "}}"),
                parameters=dict(parameters),
                kernel_name="python3",
                progress_bar=False,
                coalesce_streams=True,
            )
        except PapermillExecutionError as error:
            raise NotebookError(
                f"expected every cell of {notebook.name} to run, found in cell {error.cell_index}: "
                f"{error.ename}: {' '.join(str(error.evalue).split())}"
            ) from None
        except (DeadKernelError, CellTimeoutError, RuntimeError) as error:
            told = " ".join(str(error).split()) or type(error).__name__
            raise NotebookError(
                f"expected the kernel of {notebook.name} to live to the end, found: {told}"
            ) from None


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    logger = logging.getLogger("papermill")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
