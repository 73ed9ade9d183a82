"""What an experiment is, as a YAML file says it: strict, frozen, resolved.

An unknown key is an error that names the nearest known one. This package must not know how a plan
is made, how an engine is launched, or where a run is stored.
"""

from labkit.params.disaggregation import DisaggregationParams
from labkit.params.engine import EngineParams
from labkit.params.experiment import CostParams, Params, SamplingParams, SloParams, SweepParams
from labkit.params.length import MAX_TOKENS, Distribution, Length
from labkit.params.load import LoadParams
from labkit.params.noise import repeat_first
from labkit.params.read import is_whole, list_paths, load_params, name_nearest, parse_params
from labkit.params.search import SearchParams
from labkit.params.workload import (
    AgentParams,
    JsonlParams,
    MixedParams,
    MultiTurnParams,
    SharedPrefixParams,
    ShareGptParams,
    StructuredParams,
    SyntheticParams,
    TraceParams,
    WorkloadParams,
)

__all__ = [
    "MAX_TOKENS",
    "AgentParams",
    "CostParams",
    "DisaggregationParams",
    "Distribution",
    "EngineParams",
    "JsonlParams",
    "Length",
    "LoadParams",
    "MixedParams",
    "MultiTurnParams",
    "Params",
    "SamplingParams",
    "SearchParams",
    "ShareGptParams",
    "SharedPrefixParams",
    "SloParams",
    "StructuredParams",
    "SweepParams",
    "SyntheticParams",
    "TraceParams",
    "WorkloadParams",
    "is_whole",
    "list_paths",
    "load_params",
    "name_nearest",
    "parse_params",
    "repeat_first",
]
