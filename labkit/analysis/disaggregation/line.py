"""A straight line through means, with errors that can be drawn from.

It must not know what is fitted.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Line:
    """y = height + slope * (x - middle); the errors are standard errors, None without residuals.

    Written from the weighted middle of x, height and slope err independently of each other, which
    intercept and slope do not.
    """

    height: float
    slope: float
    middle: float
    height_error: float | None
    slope_error: float | None
    free: int
    """Degrees of freedom of the residuals."""
    misfit: float
    """The weighted root mean square of the residuals, each as a share of what the line says."""
    low_x: float
    high_x: float
    n: int
    """What was counted in all the means."""

    @property
    def intercept(self) -> float:
        """What the line says at x = 0."""
        return self.height - self.slope * self.middle

    def at(self, x: float) -> float:
        """Return what the line says at x."""
        return self.intercept + self.slope * x

    def draw(self, count: int, seed: int) -> tuple[Floats, Floats]:
        """Return intercepts and slopes, `count` of each: the fit itself, then draws about it.

        A parametric bootstrap: Student's t of the degrees of freedom times the standard errors.
        Without errors all are the fit itself.
        """
        shifts = np.zeros((2, count))
        if self.height_error is not None and self.slope_error is not None:
            errors = np.array([[self.height_error], [self.slope_error]])
            rng = np.random.default_rng(seed)
            shifts[:, 1:] = errors * rng.standard_t(self.free, (2, count - 1))
        slopes = self.slope + shifts[1]
        return self.height + shifts[0] - slopes * self.middle, slopes


def fit_line(x: Sequence[float], y: Sequence[float], n: Sequence[float]) -> Line:
    """Return the least squares line through means y at x, each weighing its n.

    Raises ValueError for fewer than two different x.
    """
    if len(set(x)) < 2:
        raise ValueError(f"expected at least 2 different x, found {len(set(x))}; measure more")
    across, up, weights = (np.asarray(one, dtype=float) for one in (x, y, n))
    middle = float(np.average(across, weights=weights))
    height = float(np.average(up, weights=weights))
    spread = float(np.sum(weights * (across - middle) ** 2))
    slope = float(np.sum(weights * (across - middle) * up)) / spread
    told = height + slope * (across - middle)
    free = len(across) - 2
    height_error = slope_error = None
    if free > 0:
        variance = float(np.sum(weights * (up - told) ** 2)) / free
        height_error = (variance / float(np.sum(weights))) ** 0.5
        slope_error = (variance / spread) ** 0.5
    with np.errstate(divide="ignore", invalid="ignore"):
        misfit = float(np.average((up / told - 1) ** 2, weights=weights)) ** 0.5
    return Line(
        height=height,
        slope=slope,
        middle=middle,
        height_error=height_error,
        slope_error=slope_error,
        free=free,
        misfit=misfit,
        low_x=float(across.min()),
        high_x=float(across.max()),
        n=int(weights.sum()),
    )
