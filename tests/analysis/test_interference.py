"""Other processes on the host: counted from gauges, doubted from a quarter of a core upwards."""

import pytest
from analysis.facts import records, request

from labkit.analysis.doubts import warn
from labkit.analysis.interference import is_disturbed
from labkit.analysis.metrics import summarize_point
from labkit.analysis.summary import summarize


def host(utilization, engine, client=0.1):
    told = {"host_cpu_utilization": utilization, "client_cpu_utilization": client}
    return {"source": "host", "at_s": 12.0, "engine_cpu_utilization": engine, **told}


def summarize_with(sample, cores=2.0):
    return summarize_point(records([request()], [sample]), cores=cores)


def test_busy_neighbours_are_doubted():
    row = summarize_with(host(1.0, 0.5))  # 1.0 * 2 - 0.5 - 0.1
    assert row["foreign_cpu_cores"] == pytest.approx(1.4)
    assert row["validity"] == "SUSPECT"
    assert row["validity_reasons"] == ["other processes used 1.4 of 2 cores"]
    assert is_disturbed(row)


def test_a_quiet_host_is_not():
    row = summarize_with(host(0.65, 1.0))  # 0.65 * 2 - 1.0 - 0.1
    assert row["foreign_cpu_cores"] == pytest.approx(0.2)
    assert row["validity"] == "VALID"
    assert not is_disturbed(row)


@pytest.mark.parametrize(("used", "verdict"), [(0.6, "VALID"), (0.61, "SUSPECT")])
def test_of_many_cores_a_tenth_may_be_used_by_others(used, verdict):
    # 64 cores: 6.4 may be foreign; 0.6 * 64 = 38.4 less 32.0 and 0.1 is 6.3, 0.61 * 64 is 6.94
    assert summarize_with(host(used, 32.0), 64.0)["validity"] == verdict


def test_clocks_that_disagree_a_little_give_no_negative_cores():
    assert summarize_with(host(0.5, 1.0))["foreign_cpu_cores"] == 0.0


def test_an_endpoint_elsewhere_tells_nothing():
    row = summarize_with(host(1.0, None))
    assert (row["foreign_cpu_cores"], row["validity"]) == (None, "VALID")
    assert row["null_reasons"]["foreign_cpu_cores"] == "engine_cpu_utilization was not measured"


def test_the_card_names_all_disturbed_points_in_one_sentence():
    rows = [summarize_with(host(1.0, engine)) for engine in (0.5, 0.3)]  # 1.4 and 1.6 cores
    card = warn([rows[0], {**rows[1], "value": 4}])[0]
    assert card.title == "2 points are SUSPECT"
    assert card.text == (
        "Used, with doubts. max_num_seqs 8 and 4: other processes used 1.4 to 1.6 of 2 cores."
    )


def test_cores_come_from_the_environment():
    point = records([request()], [host(1.0, 0.5)])
    run = {"environment": {"cpu": {"cores_logical": 2}}}
    assert summarize(run, [point])["points"][0]["host_cores"] == 2
    row = summarize({}, [point])["points"][0]
    assert (row["host_cores"], row["validity"]) == (None, "VALID")
    assert row["null_reasons"]["host_cores"] == "the run does not tell its cores"
