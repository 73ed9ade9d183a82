"""What a comparison could have seen, and how many repeats another effect would take.

Power is that of a two-sided t test (non-central t). It knows numbers only.
"""

import math

from scipy import special

POWER = 0.8
"""How often an effect of the size told would be found."""
MAX_REPEATS = 200


def find_power(shift: float, degrees: float, alpha: float) -> float:
    """Return how often a true effect of `shift` (> 0) standard errors is found, with its sign."""
    limit = float(special.stdtrit(degrees, 1 - alpha / 2))
    found = 1 - float(special.nctdtr(degrees, shift, limit))
    return 0.0 if math.isnan(found) else found


def find_detectable(error: float, degrees: float, alpha: float, power: float = POWER) -> float:
    """Return the smallest effect, in the unit of the standard error, that is found so often."""
    low, high = 0.0, 2.0 * float(special.stdtrit(degrees, 1 - alpha / 2)) + 10.0
    while find_power(high, degrees, alpha) < power:
        high *= 2
        if high > 1e6:
            return math.inf
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if find_power(middle, degrees, alpha) >= power else (middle, high)
    return high * error


def count_repeats(
    deviation: float, effect: float, alpha: float, *, paired: bool = False, power: float = POWER
) -> int | None:
    """Return how many repeats each run needs to find an effect so often; None above 200.

    `deviation` is the standard deviation between repeats, of the pairs' differences with `paired`;
    `effect` is in the same unit, both of logarithms for a ratio.
    """

    def finds(n: int) -> bool:
        shift = effect / deviation * math.sqrt(n if paired else n / 2)
        return find_power(shift, n - 1 if paired else 2 * (n - 1), alpha) >= power

    if deviation <= 0 or finds(2):
        return 2
    low, high = 2, 4
    while not finds(high):
        low, high = high, 2 * high
        if low >= MAX_REPEATS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if finds(middle) else (middle, high)
    return high if high <= MAX_REPEATS else None
