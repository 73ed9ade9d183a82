"""Where things are looked for and put when a path says nothing of it: the home folder.

It must not know what is there.
"""

from pathlib import Path

from labkit.errors import ParamsError


def find_home(start: Path | None = None) -> Path:
    """Return the nearest folder, upwards from here, that holds `params`; else the present one."""
    here = (start or Path.cwd()).resolve()
    return next((path for path in (here, *here.parents) if (path / "params").is_dir()), here)


def find_reports() -> Path:
    """Return where run folders go, and are looked for, unless another place is named."""
    return find_home() / "reports"


def find_place(text: str) -> Path:
    """Return a path as given from here or, if nothing is there, from the home folder.

    A leading ~ is somebody's home; raises ParamsError if there is no such user.
    """
    try:
        path = Path(text).expanduser() if text.startswith("~") else Path(text)
    except RuntimeError:
        raise ParamsError(f"expected a path, found {text}: no such user; or ./{text}") from None
    return path if path.is_absolute() or path.exists() else find_home() / path
