"""How NVML says no: what a GPU or its driver can't tell at all, and what went wrong.

It must not know what is asked.
"""

from collections.abc import Callable
from typing import Any

NOT_TOLD = ("NOT_SUPPORTED", "FUNCTION_NOT_FOUND", "NO_PERMISSION", "ARGUMENT_VERSION_MISMATCH")
MISSING_DRIVER = ("LIBRARY_NOT_FOUND", "DRIVER_NOT_LOADED")


def is_one_of(nvml: Any, error: Any, names: tuple[str, ...]) -> bool:
    """Tell whether an NVMLError is one of those named, without NVML_ERROR_ before them."""
    return error.value in [getattr(nvml, f"NVML_ERROR_{name}", None) for name in names]


def ask(nvml: Any, question: Callable[..., Any], *arguments: Any) -> tuple[Any, str | None]:
    """Return (answer, None), or (None, why) where why is None for what can't be told at all."""
    try:
        return question(*arguments), None
    except nvml.NVMLError as error:
        return None, None if is_one_of(nvml, error, NOT_TOLD) else str(error)


def ask_first(nvml: Any, *questions: Callable[[], Any]) -> Any:
    """Return the answer to the first question that this driver can tell; raises NVMLError.

    Drivers of different age know different functions for the same thing.
    """
    for question in questions[:-1]:
        try:
            return question()
        except nvml.NVMLError as error:
            if not is_one_of(nvml, error, NOT_TOLD):
                raise
    return questions[-1]()
