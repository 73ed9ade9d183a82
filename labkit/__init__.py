"""labkit: a reproducible experiment workbook for LLM serving engines.

`labkit.load("reports/...")` opens a run to explore in a notebook.
"""

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labkit.explore import RunView

try:
    __version__ = version("labkit")
except PackageNotFoundError:
    __version__ = "0+unknown"


def load(run: str | Path = "latest", reports: str | Path | None = None) -> "RunView":
    """Return a run to explore: tables points, requests, samples and findings, and figures.

    `run` is its folder, its id, or `latest`; ids are looked up in `reports`, where `labkit run`
    puts them unless another place is named. Nothing is measured or written. Raises RecordsError,
    in one line, where there is no such run or it is damaged.
    """
    from labkit.explore import load_run  # slow, unlike `import labkit`

    return load_run(run, reports)
