"""What an experiment is, as a YAML file says it: strict, frozen, resolved.

An unknown key is an error that names the nearest known one. This package must not know how a plan
is made, how an engine is launched, or where a run is stored.
"""

from labkit.params.engine import EngineParams
from labkit.params.experiment import Params, SamplingParams, SloParams, SweepParams
from labkit.params.load import LoadParams
from labkit.params.read import list_paths, load_params, name_nearest, parse_params
from labkit.params.workload import Distribution, WorkloadParams

__all__ = [
    "Distribution",
    "EngineParams",
    "LoadParams",
    "Params",
    "SamplingParams",
    "SloParams",
    "SweepParams",
    "WorkloadParams",
    "list_paths",
    "load_params",
    "name_nearest",
    "parse_params",
]
