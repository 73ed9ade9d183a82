"""Lengths, texts and orders that are drawn, the same from a seed on every Python and machine.

Numbers come from `random.Random.random()` alone, whose sequence Python promises to keep for a
seed; its other methods may change. This module must not know what a request is.
"""

import hashlib
import math
import random

from labkit.params import Distribution
from labkit.workload.vocabulary import Vocabulary

NUM_SALT_WORDS = 6


def seed_rng(seed: int, *place: object) -> random.Random:
    """Return a generator for one place of a workload, such as (3,) for its request 3."""
    return random.Random(" ".join(str(part) for part in ("labkit", seed, *place)))


def draw_below(limit: int, rng: random.Random) -> int:
    """Draw a whole number from 0 up to, not including, `limit`."""
    return int(rng.random() * limit)


def draw_length(length: int | Distribution, rng: random.Random) -> int:
    """Draw a token count; one that is fixed draws nothing."""
    if isinstance(length, int):
        return length
    if length.kind == "uniform":
        return length.low + draw_below(length.high - length.low + 1, rng)
    assert length.mean is not None
    assert length.stddev is not None
    # Box-Muller: https://doi.org/10.1214/aoms/1177706645; 1 - u keeps the logarithm finite.
    radius = math.sqrt(-2 * math.log(1 - rng.random()))
    drawn = length.mean + length.stddev * radius * math.cos(2 * math.pi * rng.random())
    return min(max(round(drawn), length.low), length.high)


def draw_words(
    num_words: int, rng: random.Random, vocabulary: Vocabulary, salt: str = ""
) -> list[str]:
    """Draw words; the first 6 come from the salt alone if there is one, the others never do."""
    words = [pool[draw_below(len(pool), rng)] for pool in _list_pools(num_words, vocabulary)]
    return put_salt(words, vocabulary, salt)


def put_salt(words: list[str], vocabulary: Vocabulary, salt: str) -> list[str]:
    """Return words of which the first 6 come from the salt; an empty salt changes none."""
    num_words = min(NUM_SALT_WORDS, len(words)) if salt else 0
    digest = hashlib.sha256(salt.encode()).digest()
    pairs = (digest[2 * place : 2 * place + 2] for place in range(num_words))
    first = [
        pool[int.from_bytes(pair, "big") % len(pool)]
        for pool, pair in zip(_list_pools(num_words, vocabulary), pairs, strict=True)
    ]
    return first + words[num_words:]


def extend_salt(salt: str, *place: object) -> str:
    """Return the salt of one request, group or task; an empty salt stays empty."""
    return "|".join(str(part) for part in (salt, *place)) if salt else ""


def shuffle(number: int, rng: random.Random) -> list[int]:
    """Return 0 up to `number` in a drawn order."""
    order = list(range(number))
    for last in range(number - 1, 0, -1):
        other = draw_below(last + 1, rng)
        order[last], order[other] = order[other], order[last]
    return order


def _list_pools(num_words: int, vocabulary: Vocabulary) -> list[tuple[str, ...]]:
    return [vocabulary.starts, *[vocabulary.words] * (num_words - 1)][:num_words]
