"""Runs a notebook headlessly through papermill, and refuses what papermill lets pass.

papermill only logs a parameter that a notebook does not have, and marks the cells after a dead
kernel as completed; here the first is an error and the second is not believed. This module must
not know what a notebook measures.
"""

import contextlib
import functools
import logging
import os
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import nbformat
import psutil
from jupyter_core.utils import ensure_event_loop
from traitlets.config import Config

from labkit import errors
from labkit.errors import LabkitError, NotebookError, ParamsError
from labkit.home import find_place
from labkit.params import name_nearest

INTERRUPT_GRACE_S = 20.0
MAX_PLACE_BYTES = 80


def find_notebook(name: str) -> Path:
    """Return the path of one of labkit's notebooks, such as `sweep`, or of your own, which ends in
    .ipynb. Raises NotebookError.
    """
    if name.endswith(".ipynb"):
        if (own := find_place(name)).is_file():
            return own
        raise NotebookError(f"expected a notebook at {name}, found none")
    package = Path(__file__).resolve().parent
    for folder in (package.parent / "notebooks", package / "notebooks"):
        if (folder / f"{name}.ipynb").is_file():
            return folder / f"{name}.ipynb"
    raise NotebookError(
        f"expected {name} to be one of labkit's notebooks, or a path that ends in .ipynb, found "
        "neither"
    )


def execute_notebook(notebook: Path, output: Path, parameters: Mapping[str, Any]) -> None:
    """Run a notebook with these parameters in a kernel of its own and keep what it showed.

    Raises ParamsError for a parameter that the notebook lacks, NotebookError if a cell fails or
    the kernel dies, and the error itself where labkit raised it in a cell; the output then holds
    what was there until then.
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
    try:
        with _quiet(), _make_sockets() as sockets:
            task = functools.partial(
                papermill.execute_notebook,
                document,
                str(output).replace("{", "{{").replace("}", "}}"),
                parameters=dict(parameters),
                kernel_name="python3",
                progress_bar=False,
                coalesce_streams=True,
                config=Config({"KernelManager": {"transport": "ipc", "ip": sockets}}),
            )
            _run_interruptibly(task)
    except PapermillExecutionError as error:
        kind = getattr(errors, error.ename, None)
        if isinstance(kind, type) and issubclass(kind, LabkitError):
            raise kind(error.evalue) from None
        raise NotebookError(
            f"expected every cell of {notebook.name} to run, found in cell {error.cell_index}: "
            f"{error.ename}: {' '.join(str(error.evalue).split())}"
        ) from None
    except (DeadKernelError, CellTimeoutError, RuntimeError, ValueError, OSError) as error:
        told = " ".join(str(error).split()) or type(error).__name__
        raise NotebookError(
            f"expected the kernel of {notebook.name} to live to the end, found: {told}"
        ) from None


@contextlib.contextmanager
def _make_sockets() -> Iterator[str]:
    """Yield where one kernel's sockets go: a folder of its own, as no two kernels may share them.

    The path of a socket may have some hundred bytes only, so a long TMPDIR is passed over.
    """
    place = tempfile.gettempdir()
    with tempfile.TemporaryDirectory(
        prefix="labkit-",
        dir=place if len(os.fsencode(place)) < MAX_PLACE_BYTES else "/tmp",
        ignore_cleanup_errors=True,
    ) as folder:
        yield f"{folder}/k"


def _run_interruptibly(task: Callable[[], object]) -> None:
    """Run papermill in a thread, where it can't take the signals, and hand an interrupt on.

    In the main thread it would answer Ctrl-C by killing the kernel, which then could not say what
    became of its run. Here the kernel is interrupted first and killed only if it stays or if the
    user insists.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="papermill") as pool:
        future = pool.submit(_close_loop_after, task)
        try:
            future.result()
        except KeyboardInterrupt:
            try:
                _signal_kernels(signal.SIGINT)
                wait([future], timeout=INTERRUPT_GRACE_S)
            finally:
                _signal_kernels(signal.SIGKILL)
            raise


def _close_loop_after(task: Callable[[], object]) -> None:
    """Run the task and close the event loop that Jupyter opens for a thread and leaves open."""
    try:
        task()
    finally:
        ensure_event_loop().close()


def _signal_kernels(number: signal.Signals) -> None:
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):
            if "ipykernel_launcher" in child.cmdline():
                child.send_signal(number)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    logger = logging.getLogger("papermill")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
