"""What else differs between two runs, and which of it counts."""

import copy
from typing import Any

from comparison_rows import make_row, make_summary

from labkit.analysis.comparison.difference import Difference
from labkit.analysis.comparison.differences import (
    find_differences,
    flatten,
    list_things,
)
from labkit.analysis.comparison.places import join
from labkit.analysis.comparison.told import Told
from labkit.analysis.comparison.traffic import is_same_traffic


def make_told() -> Told:
    row = make_row(repeat=0) | {"effective": {"num_threads": 1}, "num_requests": 20}
    params = {
        "name": "one",
        "engine": {"kind": "llamacpp", "num_threads": 1, "max_num_seqs": 4, "env": {}},
        "workload": {"num_requests": 20},
        "sweep": [{"variable": "engine.max_num_seqs", "values": [4], "repeats": 1}],
    }
    environment = {
        "cpu": {"model": "one"},
        "packages": {"xllamacpp": "1", "plotly": "1"},
        "gpus": {"devices": []},
    }
    point = {"point_id": "4-r0", "workload_sha256": "aa", "workload": {"salt": True}, "seed": 0}
    manifest = {"name": "one", "environment": environment}
    return Told("run", params, manifest, make_summary(row), {"4-r0": point})


def differ(change: Any) -> list[Difference]:
    a, b = make_told(), copy.deepcopy(make_told())
    change(b)
    return find_differences(a, b, join(a.summary, b.summary))


def test_nothing_differs() -> None:
    assert differ(lambda b: None) == []


def test_one_setting_is_one_thing_whatever_follows_from_it() -> None:
    def change(b: Any) -> None:
        b.params["engine"]["num_threads"] = 2
        b.summary["points"][0]["effective"]["num_threads"] = 2

    found = differ(change)
    assert list_things(found) == ["engine.num_threads"]
    assert [(one.kind, one.a, one.b) for one in found] == [("params", 1, 2), ("effective", 1, 2)]


def test_a_setting_that_nobody_asked_for_counts() -> None:
    found = differ(lambda b: b.summary["points"][0]["effective"].update(num_threads=2))
    assert list_things(found) == ["the engine's settings"]


def test_the_traffic_counts_unless_it_was_asked_to_differ() -> None:
    found = differ(lambda b: b.points["4-r0"].update(workload_sha256="bb"))
    assert list_things(found) == ["the traffic"]

    def change(b: Any) -> None:
        b.params["workload"]["num_requests"] = 30
        b.summary["points"][0]["num_requests"] = 30
        b.points["4-r0"]["workload_sha256"] = "bb"

    found = differ(change)
    assert list_things(found) == ["workload.num_requests"]
    assert [one.kind for one in found] == ["params", "traffic", "realised load"]


def test_the_load_that_came_about_counts() -> None:
    found = differ(lambda b: b.summary["points"][0].update(num_requests=18))
    assert list_things(found) == ["the load that came about"]
    assert found[0].path == "num_requests at max_num_seqs 4"


def test_the_machine_and_the_engines_version_count_other_packages_do_not() -> None:
    def change(b: Any) -> None:
        b.manifest["environment"]["cpu"] = {"model": "other", "cores_usable": 4}
        b.manifest["environment"]["packages"] = {"xllamacpp": "2", "plotly": "2"}

    found = differ(change)
    assert list_things(found) == ["hardware", "the engine's version"]
    assert [one.path for one in found if one.thing is None] == ["packages.plotly"]


def test_the_swept_value_names_and_repeats_do_not_count() -> None:
    def change(b: Any) -> None:
        b.params["name"] = "other"
        b.params["engine"]["max_num_seqs"] = 8  # every point puts its own value there
        b.params["sweep"][0]["repeats"] = 3

    found = differ(change)
    assert len(found) == 3
    assert list_things(found) == []


def test_what_an_arm_sets_counts() -> None:
    def change(b: Any) -> None:
        b.params["sweep"][0]["set"] = {"engine.static_batching": True}

    assert list_things(differ(change)) == ["engine.static_batching"]


def test_values_that_may_be_secret_are_not_shown() -> None:
    found = differ(lambda b: b.params["engine"].update(env={"TOKEN": "abc"}))
    assert [one.path for one in found if one.thing] == ["engine.env", "engine.env.TOKEN"]
    assert "abc" not in repr(found)


def test_the_salt_is_no_difference() -> None:
    one = {"point_id": "a", "workload_sha256": "1", "workload": {"salt": True}, "seed": 1}
    assert is_same_traffic(one, {**one, "point_id": "b", "workload_sha256": "2"})
    assert not is_same_traffic(one, {**one, "workload_sha256": "2"})
    assert not is_same_traffic(one, {**one, "point_id": "b", "workload_sha256": "2", "seed": 2})


def test_flatten() -> None:
    assert flatten({"a": {"b": 1, "c": {}}, "d": [1]}) == {"a.b": 1, "a.c": {}, "d": [1]}
