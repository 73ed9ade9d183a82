"""Prompts of a wanted number of tokens, without a tokenizer.

Each word below is one token in GPT-2-like vocabularies, both at the start of a text and after a
blank, so a prompt of n words is n tokens; a test holds the list against a real engine. A chat
template or a begin-of-text token adds its own, which usage tells afterwards. Numbers are drawn
from `random.Random.random()` alone, whose sequence Python promises to keep for a seed. This module
must not know how a request is sent.
"""

import hashlib
import math
import random

from labkit.params import Distribution, WorkloadParams
from labkit.workload.request import Request

NUM_SALT_WORDS = 6

_COMMON = """
time people year way day man thing woman life child world school state family student group
country problem hand part place case week company system program question work government
number night point home water room mother area money story fact month lot right study book
eye job word business issue side kind head house service friend father power hour game line
end member law car city community name president team minute idea body information back
parent face others level office door health person art war history party result change reason
research girl moment air teacher force education foot boy age policy music market sense field
plan food table land paper space season nature energy ground road town river north south east
west summer winter spring light sound voice image letter page list data model test value
price cost rate size form type role term deal note view step stage scene sign path rule base
core unit user key code file text map color green blue red black white gold stone wood fire
wind rain snow sun moon star earth sea ship train plane bridge street park farm animal dog
cat horse bird fish tree leaf root seed flower fruit rice
"""
WORDS = tuple(_COMMON.split())


def synthesize(workload: WorkloadParams, *, seed: int, salt: str) -> list[Request]:
    """Return `workload.num_requests` requests; request i does not depend on how many there are.

    Lengths and bodies come from the seed. The first 6 words come from the salt and the index, so
    that prompts of two salts, or two requests of one, part within these words.
    """
    requests = []
    for index in range(workload.num_requests):
        rng = random.Random(f"labkit {seed} {index}")
        prompt_tokens = _draw(workload.prompt_tokens, rng)
        max_tokens = _draw(workload.completion_tokens, rng)
        words = [WORDS[int(rng.random() * len(WORDS))] for _ in range(prompt_tokens)]
        if salt:
            first = _draw_salt(salt, index)[:prompt_tokens]
            words[: len(first)] = first
        requests.append(Request(f"r{index:05d}", " ".join(words), prompt_tokens, max_tokens))
    return requests


def _draw_salt(salt: str, index: int) -> list[str]:
    digest = hashlib.sha256(f"{salt}|{index}".encode()).digest()
    pairs = (digest[2 * k : 2 * k + 2] for k in range(NUM_SALT_WORDS))
    return [WORDS[int.from_bytes(pair, "big") % len(WORDS)] for pair in pairs]


def _draw(count: int | Distribution, rng: random.Random) -> int:
    if isinstance(count, int):
        return count
    if count.kind == "uniform":
        return count.low + int(rng.random() * (count.high - count.low + 1))
    assert count.mean is not None
    assert count.stddev is not None
    # Box-Muller: https://doi.org/10.1214/aoms/1177706645; 1 - u keeps the logarithm finite.
    radius = math.sqrt(-2 * math.log(1 - rng.random()))
    drawn = count.mean + count.stddev * radius * math.cos(2 * math.pi * rng.random())
    return min(max(round(drawn), count.low), count.high)
