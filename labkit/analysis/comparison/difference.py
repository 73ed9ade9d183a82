"""One thing that is not the same in two runs.

It must not know how it was found.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not the same in both; `thing` names what it belongs to.

    Things are counted, and more than one confounds. Without one it is only noted: it follows from
    another difference, or is not expected to move a number.
    """

    kind: str
    path: str
    a: Any
    b: Any
    thing: str | None = None
