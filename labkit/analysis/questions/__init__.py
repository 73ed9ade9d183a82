"""What each notebook asks, answered from a summary: one module a question, chosen by its name.

A question that the points can't answer is said to be open. No module here may judge a point.
"""

from collections.abc import Callable, Mapping
from typing import Any

from labkit.analysis.finding import Finding
from labkit.analysis.questions import (
    batching,
    chunked_prefill,
    disaggregation,
    engines,
    prefix_cache,
    slo,
    structured,
    verify,
)

QUESTIONS: dict[str, Callable[[Mapping[str, Any]], list[Finding]]] = {
    "batching": batching.conclude,
    "chunked_prefill": chunked_prefill.conclude,
    "disaggregation": disaggregation.conclude,
    "engines": engines.conclude,
    "prefix_cache": prefix_cache.conclude,
    "slo": slo.conclude,
    "structured": structured.conclude,
    "verify": verify.conclude,
}
"""By the name of a notebook; one that is not here is answered variable by variable."""
