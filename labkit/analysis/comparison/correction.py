"""Correction for many comparisons at once, by Holm.

Holm's step-down keeps the chance that any verdict of a family is false at 5 %, whatever depends on
what. Benjamini and Hochberg would find more and keep only the share of false ones small; but each
verdict here is read, and may fail a build, on its own.
"""

from collections.abc import Sequence

ALPHA = 0.05


def adjust(p_values: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p-values (Holm 1979), in the order given."""
    m = len(p_values)
    order = sorted(range(m), key=lambda place: p_values[place])
    adjusted, highest = [0.0] * m, 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (m - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted
