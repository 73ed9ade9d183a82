"""The words that prompts are made of, and which of them are one token each in a model.

Each word below is one token in GPT-2-like vocabularies, both at the start of a text and after a
blank, so a prompt of n words is n tokens; a test holds the list against a real engine. In another
model some may be two: where an engine counts, those are left out. A chat template or a
begin-of-text token adds its own, which usage tells afterwards. This module must not know what is
written with the words.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

CountTokens = Callable[[str], int]
"""Tokens of a text in the model's own vocabulary; special tokens are not counted."""

MIN_WORDS = 16

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


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words that are one token each after a blank; `starts` are so at the start of a text too."""

    words: tuple[str, ...]
    starts: tuple[str, ...]
    counted: bool
    """Whether an engine counted them; else one word is taken for one token."""


def choose_vocabulary(count: CountTokens | None) -> Vocabulary:
    """Return the words that are one token each, by `count`, or all of them if nobody counts.

    All are asked about at once, and halved where the count is too high: 3 calls where every word
    is one token. A model in which hardly any is gets all of them, uncounted.
    """
    everything = Vocabulary(WORDS, WORDS, counted=False)
    if count is None:
        return everything
    before = count(WORDS[0])

    def follow(words: Sequence[str]) -> bool:
        return count(f"{WORDS[0]} {' '.join(words)}") == before + len(words)

    def start(words: Sequence[str]) -> bool:
        return count("\n".join(words)) == 2 * len(words) - 1

    words = tuple(_keep(WORDS, follow))
    if len(words) < MIN_WORDS:
        return everything
    starts = tuple(_keep(words, start))
    return Vocabulary(words, starts if len(starts) >= MIN_WORDS else words, counted=True)


def _keep(words: Sequence[str], passes: Callable[[Sequence[str]], bool]) -> Iterator[str]:
    if passes(words):
        yield from words
    elif len(words) > 1:
        half = len(words) // 2
        yield from _keep(words[:half], passes)
        yield from _keep(words[half:], passes)
