"""Which words are one token each: all of the list in the model that ships, fewer in others."""

import hashlib
import json
import re
import urllib.request
from pathlib import Path

import pytest
from workloads import count_words, make_workload

from labkit.engines import open_engine
from labkit.engines.model import find_model
from labkit.errors import ParamsError
from labkit.params import EngineParams
from labkit.workload import generate
from labkit.workload.vocabulary import WORDS, choose_vocabulary


def test_words_are_distinct_plain_and_enough() -> None:
    # Each of exactly these words is one token in SmolLM2's vocabulary of 49,152, at the start and
    # after a blank; the last test of this file asks the engine itself.
    digest = hashlib.sha256(" ".join(WORDS).encode()).hexdigest()
    assert digest == "b6752ce1704ede9982094a6f0867ec3c70227ac9a202956cd1f28d41aaa59bf6"
    assert len(WORDS) == len(set(WORDS)) == 200
    assert all(re.fullmatch("[a-z]{3,11}", word) for word in WORDS)


def test_without_a_count_all_words_are_used() -> None:
    vocabulary = choose_vocabulary(None)
    assert vocabulary.words == vocabulary.starts == WORDS
    assert not vocabulary.counted


def test_where_all_words_are_one_token_three_calls_tell() -> None:
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return count_words(text)

    vocabulary = choose_vocabulary(count)
    assert vocabulary.words == vocabulary.starts == WORDS
    assert vocabulary.counted
    assert len(asked) == 3


@pytest.mark.parametrize("odd", [("year",), ("time", "rice"), ("moon", "sun", "way")])
def test_words_of_two_tokens_are_left_out(odd: tuple[str, ...]) -> None:
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return count_words(text) + sum(word in odd for word in text.split())

    vocabulary = choose_vocabulary(count)
    assert vocabulary.words == tuple(word for word in WORDS if word not in odd)
    assert len(asked) <= 3 + len(odd) * 16


def test_a_word_that_is_two_tokens_at_the_start_alone_begins_no_text() -> None:
    def count(text: str) -> int:
        lines = text.split("\n")
        return count_words(text) + sum(line.startswith("year") for line in lines)

    vocabulary = choose_vocabulary(count)
    assert vocabulary.words == WORDS
    assert vocabulary.starts == tuple(word for word in WORDS if word != "year")


def test_a_model_without_such_words_gets_them_all_uncounted() -> None:
    vocabulary = choose_vocabulary(len)
    assert vocabulary.words == WORDS
    assert not vocabulary.counted


def test_lengths_in_the_engine_that_ships(tmp_path: Path) -> None:
    try:
        find_model(None)
    except ParamsError as error:
        pytest.skip(f"the model is not there: {error}")
    params = EngineParams(kind="llamacpp", max_num_seqs=1, max_model_len=64)
    with open_engine(params, folder=tmp_path) as engine:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

        def count(text: str) -> int:
            body = json.dumps({"content": text}).encode()
            url = engine.base_url.removesuffix("/v1") + "/tokenize"
            request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
            with opener.open(request, timeout=60) as answer:
                return len(json.load(answer)["tokens"])

        vocabulary = choose_vocabulary(count)
        assert vocabulary.words == vocabulary.starts == WORDS
        workload = make_workload(
            num_requests=6, prompt_tokens={"kind": "uniform", "low": 1, "high": 40}
        )
        for request in generate(workload, seed=1, salt="p0", count=count).requests:
            assert count(request.messages[0][1]) == request.prompt_tokens
