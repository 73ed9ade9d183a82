"""From records to numbers and sentences, pure: nothing is launched, read or written here."""

from labkit.analysis.findings import Finding, conclude, headline
from labkit.analysis.metrics import request_metrics, summarize_point
from labkit.analysis.summary import summarize, to_frame
from labkit.analysis.validity import judge_point

__all__ = [
    "Finding",
    "conclude",
    "headline",
    "judge_point",
    "request_metrics",
    "summarize",
    "summarize_point",
    "to_frame",
]
