"""Findings as data: what is written is read back."""

import json
from dataclasses import asdict

from labkit.analysis.finding import Effect, Evidence, Finding, dump

WHOLE = Finding(
    "continuous gives 2.1 times the output",
    "At 64 …",
    "result",
    "load.max_concurrency",
    "continuous",
    verdict="held",
    effect=Effect("output_throughput_tokens_per_s", "ratio", 2.1, 1.9, 2.3, 3),
    evidence=(Evidence("output_throughput_tokens_per_s", "max_concurrency 64", 142.0),),
    points=("000-max_concurrency-64-r0",),
)
BARE = Finding("Queue", "holds 3", "fact")


def test_a_finding_comes_back_from_json_as_it_was() -> None:
    for one in (WHOLE, BARE):
        assert Finding.read(json.loads(json.dumps(asdict(one)))) == one


def test_the_document_names_its_run_and_the_headline() -> None:
    document = dump("It holds", [BARE], "20261201T000000Z-x-1")
    assert document["schema"] == 1
    assert (document["run_id"], document["headline"]) == ("20261201T000000Z-x-1", "It holds")
    assert document["findings"] == [asdict(BARE)]
