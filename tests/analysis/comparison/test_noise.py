"""The noise of a machine: measured, kept for all runs, found by what it belongs to."""

import math

import pytest
from comparison_rows import make_row

from labkit.analysis.comparison.noise import (
    add_entry,
    make_key,
    measure_noise,
    name_key,
    read_noise,
)

OUTPUT = "output_throughput_tokens_per_s"


def test_noise_by_hand() -> None:
    # logarithms -0.1, 0, 0.1: deviation 0.1, variation sqrt(exp(0.01) - 1)
    rows = [make_row(repeat=i, **{OUTPUT: math.exp(x)}) for i, x in enumerate((-0.1, 0, 0.1))]
    found = measure_noise(rows)
    assert found[OUTPUT]["deviation"] == pytest.approx(0.1)
    assert found[OUTPUT]["variation"] == pytest.approx(math.sqrt(math.expm1(0.01)))
    assert found[OUTPUT]["n"] == 3
    assert found["energy_per_output_token_j"] == {
        "deviation": None,
        "variation": None,
        "mean": None,
        "n": 0,
        "reason": "not measured: no GPU was sampled",
    }
    rows[0]["validity"] = "INVALID"
    assert measure_noise(rows)[OUTPUT]["n"] == 2


def test_later_runs_are_added_and_replace_none() -> None:
    def entry(run_id: str, deviation: float, n: int) -> dict[str, object]:
        return {"run_id": run_id, "metrics": {OUTPUT: {"deviation": deviation, "n": n}}}

    document = add_entry(None, {"model": "m"}, entry("a", 1.0, 3))
    document = add_entry(document, {"model": "m"}, entry("b", 2.0, 5))
    assert add_entry(document, {"model": "m"}, entry("a", 9.0, 9)) == document
    found = read_noise(document, OUTPUT)
    assert found is not None
    # (2 * 1 + 4 * 4) / 6 = 3
    assert found.deviation == pytest.approx(math.sqrt(3))
    assert found.degrees == 6
    assert read_noise(document, "tpot_s.p95") is None


def test_the_key_holds_what_noise_depends_on_and_not_what_is_compared() -> None:
    manifest = {"environment": {"cpu": {"model": "x"}, "packages": {"xllamacpp": "1"}}}
    row = make_row() | {
        "asked": {"kind": "llamacpp", "model": "m", "max_num_seqs": 4},
        "workload": {"kind": "synthetic", "num_requests": 8, "seed": 1},
    }
    name = name_key(make_key(manifest, row))
    same = row | {
        "asked": {**row["asked"], "max_num_seqs": 8},
        "workload": {**row["workload"], "seed": 2},
    }
    assert name_key(make_key(manifest, same)) == name
    other = row | {"workload": {**row["workload"], "num_requests": 9}}
    assert name_key(make_key(manifest, other)) != name
    machine = {"environment": {**manifest["environment"], "cpu": {"model": "y"}}}
    assert name_key(make_key(machine, row)) != name
