"""The Python that an installed program runs in, so that its own parser can be asked.

It must not know any certain engine.
"""

from pathlib import Path

from labkit.errors import ParamsError


def find_interpreter(program: str) -> str:
    """Return the interpreter that a script's first line names; raises ParamsError if none does."""
    with Path(program).open("rb") as file:
        first = file.readline(512).decode("utf-8", errors="replace").strip()
    words = first.removeprefix("#!").split()
    if first.startswith("#!") and words and Path(words[0]).name != "env":
        return words[0]
    neighbour = Path(program).with_name("python")
    if neighbour.exists():
        return str(neighbour)
    raise ParamsError(
        f"expected {program} to name its Python in its first line, found {first[:80]!r}; "
        f"set engine.executable to the program inside its virtual environment"
    )
