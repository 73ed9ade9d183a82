"""Static batches: by the engine, by the client, asked for in vain."""

import pytest
from analysis.facts import row

from labkit.analysis.batching import batching, tell_batching
from labkit.analysis.findings import conclude

STATIC = {"static_batching": True}
CONTINUOUS = {"static_batching": False}
BATCHES = {"mode": "static_batch"}
ENGINE = "Batching was static in the engine"
CLIENT = "Batches were fixed by the client, not by the engine"


@pytest.mark.parametrize(
    ("asked", "effective", "load", "title", "words"),
    [
        (STATIC, STATIC, {}, ENGINE, "admitted nobody before a whole batch had ended"),
        ({}, STATIC, {}, ENGINE, "the engine itself batched statically"),
        (STATIC, STATIC, BATCHES, ENGINE, "ended; the client sent fixed batches"),
        ({}, CONTINUOUS, BATCHES, CLIENT, "next; the engine itself batched continuously"),
        ({}, {}, BATCHES, CLIENT, "waited for all of one before the next"),
        (STATIC, CONTINUOUS, {}, "Static batching was not in force", "batched continuously"),
        (STATIC, {}, {}, "Static batching was asked for", "does not tell whether it did"),
    ],
)
def test_who_made_batches_static(asked, effective, load, title, words):
    told = tell_batching({"asked": asked, "effective": effective, "load": load})
    assert told is not None
    assert told[0] == title
    assert words in told[1]


@pytest.mark.parametrize("asked", [{}, CONTINUOUS])
def test_continuous_batching_needs_no_words(asked):
    assert tell_batching({"asked": asked, "effective": CONTINUOUS, "load": {}}) is None


def test_the_findings_name_the_points():
    switch = {"variable": "engine.static_batching"}
    rows = [
        row(False, asked=CONTINUOUS, effective=CONTINUOUS, **switch),
        row(True, asked=STATIC, effective=STATIC, **switch),
    ]
    (one,) = batching(rows)
    assert one.text == (
        "At static_batching on the engine itself batched statically: it admitted nobody before "
        "a whole batch had ended."
    )
    assert one.kind == "fact"
    assert one in conclude({"points": rows})
    (one,) = batching(rows[1:])
    assert one.text.startswith("At every point the engine itself")
    assert batching([{**rows[1], "status": "failed"}]) == []
    (one,) = batching([row(True, asked=STATIC, effective=CONTINUOUS, **switch)])
    assert one.kind == "warning"
