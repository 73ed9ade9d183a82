"""What the tests of figures share: the setting that was swept, its figures, and how one is read."""

from typing import Any

from labkit.report.figures import plot_latency, plot_pressure, plot_throughput, plot_tradeoff

VARIABLE = "engine.max_num_seqs"
SWEEPS = [plot_latency, plot_throughput, plot_pressure, plot_tradeoff]


def traces(figure: Any, name: str) -> list[Any]:
    """Return what is drawn under a name."""
    return [trace for trace in figure.data if trace.name == name]
