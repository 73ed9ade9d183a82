"""What a comparison knows of one run: its params, its machine, its points.

It holds plain documents and reads none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Told:
    """One run, as its own documents tell it."""

    name: str
    """The name of its folder."""
    params: Mapping[str, Any]
    """Resolved, defaults and all."""
    manifest: Mapping[str, Any]
    summary: Mapping[str, Any]
    points: Mapping[str, Mapping[str, Any]]
    """point.json by the id of the point."""

    @property
    def environment(self) -> Mapping[str, Any]:
        """The machine and the packages, as the manifest has them."""
        return dict(self.manifest.get("environment") or {})

    def point(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the document of the point of a row, empty where there is none."""
        return self.points.get(str(row.get("point_id")), {})
