"""One request to an engine in steps: the smallest first, then one thing more until it breaks.

The steps are data, their verdicts pure; what is sent and received stands apart, and every step is
a record. It must not know points, sweeps, nor how records are shown.
"""

from labkit.ladder.order import climb

__all__ = ["climb"]
