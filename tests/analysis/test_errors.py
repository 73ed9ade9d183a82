"""The first error text of each kind stands in the row, the reason and the card."""

from analysis.facts import failure, records, request

from labkit.analysis.errors import find_examples, tell_examples
from labkit.analysis.findings import conclude
from labkit.analysis.metrics import summarize_point

TOO_LONG = "request (600 tokens) exceeds the available context size (512 tokens)"


def test_the_first_message_of_each_kind():
    failed = [
        failure(error_kind="timeout", error_message=None),
        failure(error_kind="timeout", error_message="after\n 5 s"),
        failure(error_kind="refused", error_message="no"),
        failure(error_kind="timeout", error_message="after 9 s"),
    ]
    assert find_examples(failed) == {"refused": "no", "timeout": "after 5 s"}


def test_a_long_message_is_cut():
    of_words = find_examples([failure(error_message="word " * 100)])["refused"]
    assert len(of_words) == 196  # 39 words are 194, a 40th is too many
    assert of_words.endswith("word …")
    assert find_examples([failure(error_message="x" * 300)])["refused"] == "x" * 199 + "…"


def test_a_message_in_json_is_unwrapped():
    for text in (
        f'{{"error": {{"code": 400, "message": "{TOO_LONG}"}}}}',
        f'{{"message": "{TOO_LONG}"}}',
        f'{{"error": "{TOO_LONG}"}}',
    ):
        assert find_examples([failure(error_message=text)]) == {"refused": TOO_LONG}
    assert find_examples([failure(error_message="[1]")]) == {"refused": "[1]"}


def test_all_failed():
    failed = [failure(error_kind="http_status", error_message=TOO_LONG)] * 3
    row = summarize_point(records(failed, client_cpu_s=0.1))
    assert row["error_examples"] == {"http_status": TOO_LONG}
    told = f"no request succeeded: http_status: “{TOO_LONG}”"
    assert (row["validity"], row["validity_reasons"]) == ("INVALID", [told])
    other = {**row, "value": 4}
    card = conclude({"points": [row, other]})[-1]
    assert card.text == f"max_num_seqs 8 and 4: {told}."


def test_too_many_failed():
    row = summarize_point(records([request()] * 9 + [failure()]))
    assert row["validity_reasons"][0].endswith("more than 5%: refused: “no”")
    assert tell_examples({}) == ""
