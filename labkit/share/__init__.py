"""A run as one archive: made so that a stranger may have it, and opened as if a stranger made it.

It must not measure, draw, or know how a number came about.
"""

from labkit.share.pack import Packed, pack_run
from labkit.share.unpack import unpack_run

__all__ = ["Packed", "pack_run", "unpack_run"]
