"""The parameters of a notebook: overrides in either form, and none that the notebook lacks.

It must not know what they mean.
"""

import ast
from collections.abc import Sequence

from IPython.core.getipython import get_ipython

from labkit.errors import ParamsError
from labkit.params import name_nearest


def split_overrides(overrides: Sequence[str] | str) -> Sequence[str]:
    """Return overrides one by one, given in a list or in one text with blanks between."""
    return overrides.split() if isinstance(overrides, str) else overrides


def refuse_unknown(known: list[str]) -> None:
    """Refuse a name that papermill injected and the notebook does not have.

    papermill puts its parameters into a cell that begins with `# Parameters`, and only logs a
    name that is not in the notebook's own parameters cell.
    """
    shell = get_ipython()
    cells = shell.user_ns.get("In", []) if shell is not None else []
    for cell in cells:
        if not cell.startswith("# Parameters"):
            continue
        for statement in ast.parse(cell).body:
            for target in getattr(statement, "targets", []):
                if isinstance(target, ast.Name) and target.id not in known:
                    raise ParamsError(
                        f"{target.id} is not a parameter of this notebook"
                        f"{name_nearest(target.id, known)}"
                    )
