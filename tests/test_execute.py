"""Running a notebook headlessly: what papermill lets pass is refused."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import nbformat
import psutil
import pytest

from labkit.errors import NotebookError, ParamsError, RecordsError
from labkit.execute import execute_notebook, find_notebook

ROOT = Path(__file__).parent.parent


def write_notebook(path: Path, source: str) -> Path:
    parameters = nbformat.v4.new_code_cell("word: str = 'none'", id="parameters")
    parameters.metadata["tags"] = ["parameters"]
    cell = nbformat.v4.new_code_cell(source, id="work")
    document = nbformat.v4.new_notebook(cells=[parameters, cell])
    document.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    nbformat.write(document, path)
    return path


def test_a_notebook_is_given_its_parameters(tmp_path: Path) -> None:
    notebook = write_notebook(tmp_path / "in.ipynb", "print('the word is', word)")
    execute_notebook(notebook, tmp_path / "out.ipynb", {"word": "given"})
    assert "the word is given" in (tmp_path / "out.ipynb").read_text()


def test_a_misspelt_parameter_is_refused_before_a_kernel_starts(tmp_path: Path) -> None:
    notebook = write_notebook(tmp_path / "in.ipynb", "word")
    with pytest.raises(ParamsError, match=r"wrd is not a parameter .* did you mean word\?"):
        execute_notebook(notebook, tmp_path / "out.ipynb", {"wrd": "given"})
    assert not (tmp_path / "out.ipynb").exists()


def test_a_failing_cell_is_told_and_what_it_showed_is_kept(tmp_path: Path) -> None:
    notebook = write_notebook(tmp_path / "in.ipynb", "print('before'); 1 / 0")
    with pytest.raises(NotebookError, match="ZeroDivisionError: division by zero"):
        execute_notebook(notebook, tmp_path / "out{}.ipynb", {})
    assert "before" in (tmp_path / "out{}.ipynb").read_text()


def test_an_error_of_labkit_stays_what_it_is(tmp_path: Path) -> None:
    source = "from labkit.errors import RecordsError\nraise RecordsError('expected one')"
    notebook = write_notebook(tmp_path / "in.ipynb", source)
    with pytest.raises(RecordsError, match=r"^expected one$"):
        execute_notebook(notebook, tmp_path / "out.ipynb", {})


def test_a_killed_kernel_is_an_error(tmp_path: Path) -> None:
    notebook = write_notebook(tmp_path / "in.ipynb", "import os; os.kill(os.getpid(), 9)")
    with pytest.raises(NotebookError, match="to live to the end"):
        execute_notebook(notebook, tmp_path / "out.ipynb", {})


def test_two_notebooks_run_at_once_in_one_folder_and_leave_nothing_in_it(
    tmp_path: Path,
) -> None:
    here, there, temporary = tmp_path / "here", tmp_path / "there", tmp_path / "t"
    for folder in (here, there, temporary):
        folder.mkdir()
    meeting = there / "fifo"
    os.mkfifo(meeting)
    notebooks = [
        write_notebook(there / f"{number}.ipynb", f"print('met', open({str(meeting)!r}, {mode!r}))")
        for number, mode in enumerate("rw")
    ]
    here.chmod(0o500)
    command = [sys.executable, "-c", INTERRUPTED]
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
    outputs = [there / f"out{number}.ipynb" for number in range(2)]
    runs = [
        subprocess.Popen([*command, str(notebook), str(output)], cwd=here, env=environment)
        for notebook, output in zip(notebooks, outputs, strict=True)
    ]
    assert [run.wait(timeout=120) for run in runs] == [0, 0]
    assert ["met <_io" in output.read_text() for output in outputs] == [True, True]
    assert list(here.iterdir()) == []
    assert list(temporary.glob("labkit-*")) == []


INTERRUPTED = """
import sys
from pathlib import Path
from labkit.execute import execute_notebook
try:
    execute_notebook(Path(sys.argv[1]), Path(sys.argv[2]), {})
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_interrupts_the_kernel_which_can_still_say_so(tmp_path: Path) -> None:
    began, ended = tmp_path / "began", tmp_path / "ended"
    os.mkfifo(began)
    notebook = write_notebook(
        tmp_path / "in.ipynb",
        f"import pathlib, threading\ntry:\n    pathlib.Path({str(began)!r}).write_text('x')\n"
        f"    threading.Event().wait()\nfinally:\n    pathlib.Path({str(ended)!r}).touch()",
    )
    command = [sys.executable, "-c", INTERRUPTED, str(notebook), str(tmp_path / "out.ipynb")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        assert began.read_text() == "x"
        kernels = psutil.Process(process.pid).children()
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate()
        watchdog.cancel()
    assert output == "interrupted\n"
    assert ended.exists()
    assert psutil.wait_procs(kernels, timeout=10)[1] == []


def test_the_notebooks_are_found() -> None:
    assert find_notebook("sweep").is_file()
    with pytest.raises(NotebookError, match="expected nothing to be one of"):
        find_notebook("nothing")
    with pytest.raises(NotebookError, match=r"expected a notebook at none\.ipynb"):
        find_notebook("none.ipynb")
