"""The errors that labkit raises on purpose; each message is one line that says what was expected,
what was found and what to do. It must know nothing else of labkit.

    LabkitError            1   something went wrong while it ran
    |-- ParamsError        2   the request itself is wrong: parameters, model, port, disk
    |-- RecordsError       2   a run folder is missing or damaged
    |-- EngineError        1   an engine did not start, died, or is not ours
    |-- EndpointError      1   an endpoint refuses, or answers something else than completions
    `-- NotebookError      1   a notebook did not run to its end

The number is the exit code of the command line.
"""


class LabkitError(Exception):
    """Anything that labkit tells its user in one line."""

    exit_code = 1


class ParamsError(LabkitError):
    """The request itself is wrong; nothing was launched."""

    exit_code = 2


class RecordsError(LabkitError):
    """A run folder is missing, damaged, or not a run folder."""

    exit_code = 2


class EngineError(LabkitError):
    """An engine did not start, died, or the process behind its port is not ours."""

    def __init__(self, message: str, *, kind: str | None = None) -> None:
        """`kind` is the cause where its log told one, such as oom_profile."""
        super().__init__(message)
        self.kind = kind


class EndpointError(LabkitError):
    """An endpoint refuses a request or answers with something else."""


class NotebookError(LabkitError):
    """A notebook did not run to its end."""


def tell(error: BaseException) -> str:
    """Return any error in one line; the kind of one that labkit did not raise stands before it."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted from the keyboard"
    text = " ".join(str(error).split())
    return text if isinstance(error, LabkitError) else f"{type(error).__name__}: {text}"
