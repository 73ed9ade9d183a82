"""The table of what a point took."""

from typing import Any

from labkit.report.resources import resources_table

ROW: dict[str, Any] = {
    "variable": "engine.max_num_seqs",
    "value": 8,
    "gpu_energy_j": 600.0,
    "energy_per_output_token_j": 20.0,
    "energy_per_good_token_j": None,
    "price_per_million_good_tokens": 3.25,
    "price_currency": "EUR",
    "gpu_state": {
        "throttle_reasons": {"sw_power_cap": 0.25},
        "ecc_errors": 0,
        "foreign_processes": [{"pid": 7, "name": "<b>", "gpu_memory_used_bytes": 3 * 2**30}],
    },
    "sampling": {"gpu": {"cores": 0.004, "gaps": 1}, "host": {"cores": 0.002, "gaps": 2}},
    "null_reasons": {"energy_per_good_token_j": "no request met the <SLO>"},
}


def test_numbers_units_and_reasons() -> None:
    good = {**ROW, "value": 9, "energy_per_good_token_j": 25.0}
    html = resources_table({"points": [ROW, good]})
    for cell in ("600", "20", "3.25 EUR", "sw_power_cap 25 %", "0", "0.006", "3"):
        assert f"<td>{cell}</td>" in html
    assert "<td>&lt;b&gt; (3 GiB)</td>" in html
    assert 'title="no request met the &lt;SLO&gt;">not measured</td>' in html
    assert "max_num_seqs 8" in html


def test_where_nothing_was_measured() -> None:
    bare = {"variable": "x", "value": 1, "null_reasons": {"gpu_state": "no NVIDIA driver"}}
    html = resources_table({"points": [bare]})
    assert "<td" not in html
    assert (
        "Not measured at any point: Energy (J), J per output token, J per good token, Price of 1M "
        "good tokens, Sampling (cores) and Gaps; GPU held back by, Memory errors and Other "
        "processes (no NVIDIA driver)."
    ) in html
    assert resources_table({"points": []}) == ""
