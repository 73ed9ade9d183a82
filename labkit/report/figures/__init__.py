"""Figures of a run: pure functions from summary.json, or the records of one point, to plotly."""

from labkit.report.figures.arms import plot_arms
from labkit.report.figures.forest import plot_forest
from labkit.report.figures.phases import plot_phases
from labkit.report.figures.steps import plot_step_time
from labkit.report.figures.sweep import plot_latency, plot_pressure, plot_throughput
from labkit.report.figures.timeline import plot_timeline
from labkit.report.figures.tradeoff import plot_tradeoff

__all__ = [
    "plot_arms",
    "plot_forest",
    "plot_latency",
    "plot_phases",
    "plot_pressure",
    "plot_step_time",
    "plot_throughput",
    "plot_timeline",
    "plot_tradeoff",
]
