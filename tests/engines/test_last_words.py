"""One contract for every engine that labkit launches: why it failed is read from its log."""

import re

import pytest
from last_words import GENERAL_LAST_WORDS, LAST_WORDS

from labkit.engines import ADAPTERS
from labkit.engines.failures import ADVICE, find_cause

WORDS = [(kind, *words) for kind in ADAPTERS
         for words in (*LAST_WORDS[kind], *GENERAL_LAST_WORDS)]  # fmt: skip
NOISE = "INFO loading shards 100% 2/2\nWARNING this may be slow\n"


@pytest.mark.parametrize(("kind", "cause", "words"), WORDS)
def test_last_words_are_classified(kind: str, cause: str, words: str) -> None:
    found = find_cause(NOISE + words + "\n" + NOISE, ADAPTERS[kind].FAILURES)
    assert found is not None
    assert found.kind == cause
    assert found.advice == ADVICE[found.kind]


def test_every_failure_pattern_has_last_words(kind: str) -> None:
    for failure in ADAPTERS[kind].FAILURES:
        lines = [words for cause, words in LAST_WORDS[kind] if cause == failure.kind]
        assert any(re.search(failure.pattern, line) for line in lines), failure
    assert find_cause(NOISE, ADAPTERS[kind].FAILURES) is None
