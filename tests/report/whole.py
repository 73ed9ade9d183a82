"""A report with every part that labkit can put on a page, from the run worked out by hand."""

from typing import Any

from nbformat.v4 import new_output

from labkit.analysis import definitions
from labkit.analysis.findings import conclude, headline
from labkit.records import PointRecords
from labkit.report import inside, kv_memory, resources, tables
from labkit.report.diagnosis import diagnosis_block
from labkit.report.figures import (
    plot_latency,
    plot_phases,
    plot_pressure,
    plot_step_time,
    plot_throughput,
    plot_timeline,
    plot_tradeoff,
)
from labkit.report.opening import list_commands, make_opening

VARIABLE = "engine.max_num_seqs"
RUN = {
    "name": "hand-made",
    "run_id": "20261201T000000Z-hand-made",
    "started_at": "2026-12-01T00:00:00+00:00",
    "num_points_planned": 5,
    "sweep": [{"variable": VARIABLE, "values": [1, 4, 8, 16], "repeats": 1}],
    "load": {"mode": "closed", "max_concurrency": 8},
    "workload": {"num_requests": 32, "prompt_tokens": 64, "completion_tokens": 16},
    "engine": {"kind": "llamacpp", "model": "smollm2"},
    "environment": {"cpu": {"model": "a processor"}, "packages": {"labkit": "0.1.0"}},
    "slo": {"ttft_s": 2.0},
}
DIAGNOSIS = {
    "title": "The batch is too small",
    "cause": "Requests wait although memory is free.",
    "evidence": [{"text": "8 waiting at max_num_seqs = 1"}],
    "next_step": "Raise max_num_seqs.",
    "confidence": "high",
    "points": ["1-1"],
    "figure": "pressure",
}
KNOWN = {
    "command": ["engine", "--max-num-seqs", "4", "--an-option-with-a-long-name", "and-its-value"],
    "asked": {"max_num_seqs": 4},
    "effective": {"max_num_seqs": 2},
    "engine_ttft_s": {"mean": 0.4, "n": 32},
    "kv_memory": None,
    "sampling": {"engine": {"cores": 0.01, "gaps": 1}},
}


OPEN = {"mode": "open", "request_rate_per_s": 4.0, "max_concurrency": None}
"""A load with a schedule, whose tables have the most columns."""


def fill(summary: dict[str, Any], load: dict[str, Any] = RUN["load"]) -> dict[str, Any]:
    """Return the summary with a run, a diagnosis, an engine's own words and a failed point."""
    failed = {"status": "failed", "validity": "INVALID", "error": "out of memory | no such block"}
    points = [{**row, **KNOWN, "load": load} for row in summary["points"]]
    points[-1] |= {**failed, "error_kind": "out_of_memory"}
    return {**summary, "run": {**RUN, "load": load}, "points": points, "diagnoses": [DIAGNOSIS]}


def list_figures(summary: dict[str, Any], records: PointRecords) -> list[Any]:
    """Return every figure of a run of one variable."""
    plots = (
        plot_tradeoff,
        plot_latency,
        plot_throughput,
        plot_pressure,
        plot_phases,
        plot_step_time,
    )
    drawn = [plot(summary, VARIABLE) for plot in plots]
    return [*drawn, plot_timeline(records, summary["points"][2])]


def list_outputs(summary: dict[str, Any]) -> list[Any]:
    """Return the opening, the diagnosis and every table as outputs of cells."""
    commands = list_commands(summary["run"], "name: hand-made\n" + "# " + "long line " * 20)
    parts = [
        make_opening(headline(summary), conclude(summary), summary),
        diagnosis_block(summary),
        tables.summary_table(summary) + inside.engine_tables(summary),
        kv_memory.kv_memory_table(summary),
        resources.resources_table(summary),
        tables.definitions_table(tables.read_definitions(definitions.__doc__ or "")),
        tables.environment_table(summary["run"]["environment"]),
        tables.rerun_block(commands),
    ]
    shown = [new_output("display_data", {"text/html": part}) for part in parts if part]
    words = "a line that is much longer than a narrow page can show " * 3
    return [*shown, new_output("stream", name="stdout", text=words)]
