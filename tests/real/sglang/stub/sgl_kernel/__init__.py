"""Stands in for SGLang's kernels, which no wheel has for a CPU: importable, and never callable."""

from collections.abc import Callable
from typing import Any


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("__"):
        raise AttributeError(name)

    def refuse(*_: object, **__: object) -> None:
        raise NotImplementedError(f"sgl_kernel.{name} is not built for this CPU")

    return refuse
