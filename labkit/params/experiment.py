"""One experiment: its sections, the variable that moves, and what is asked of a request."""

import hashlib
import json
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import Field, model_validator

from labkit.params.disaggregation import DisaggregationParams
from labkit.params.engine import EngineParams
from labkit.params.load import LoadParams
from labkit.params.search import SearchParams
from labkit.params.section import PositiveFloat, PositiveInt, Section
from labkit.params.workload import WorkloadParams

Gpu = Annotated[int, Field(ge=0)] | Annotated[str, Field(pattern=r"^(GPU|MIG)-\S+$")]
RATE = "load.request_rate_per_s"

LADDER = "verify"
"""The notebook that needs no sweep."""


class SweepParams(Section):
    """The one variable that moves."""

    variable: str
    """A dotted path into the params, such as `engine.max_num_seqs`."""
    values: Annotated[list[bool | int | float | str], Field(min_length=1)]
    search: SearchParams | None = None
    """In place of values: low and high are measured, then what lies between, where it matters."""
    repeats: PositiveInt = 1
    order: Literal["given", "shuffled"] = "given"
    relaunch: bool = False
    """Launch the engine anew for every point, so that repeats tell what launches differ by."""
    series: Annotated[str, Field(min_length=1, max_length=60)] | None = None
    """The name of this arm, where several sweeps move the same variable to be compared."""
    set: dict[str, Any] = Field(default_factory=dict)
    """What else this arm changes, by dotted path, such as `{engine.static_batching: true}`; a whole
    section (`engine`, `workload`, `load`) takes the place of the file's."""

    @model_validator(mode="before")
    @classmethod
    def _begin_with_the_ends(cls, data: Any) -> Any:
        search = data.get("search") if isinstance(data, dict) else None
        if isinstance(search, dict) and "values" not in data:
            ends = [search[name] for name in ("low", "high") if name in search]
            return {**data, "values": ends or [0]}
        return data

    @model_validator(mode="after")
    def _check_values(self) -> Self:
        if self.search and self.values != [self.search.low, self.search.high]:
            raise ValueError("give values or search, not both")
        if self.search and self.search.duration_s and self.variable != RATE:
            raise ValueError(f"search.duration_s belongs to {RATE}, not to {self.variable}")
        if self.variable in self.set:
            raise ValueError(f"{self.variable} is what moves; take it out of set")
        if len({json.dumps(value) for value in self.values}) != len(self.values):
            raise ValueError(f"values must differ from each other, found {self.values}")
        return self


class SloParams(Section):
    """What a request must keep to count as good; unset is not asked."""

    ttft_s: PositiveFloat | None = None
    tpot_s: PositiveFloat | None = None
    e2e_latency_s: PositiveFloat | None = None


class SamplingParams(Section):
    """How often the engine, the GPU and the host are looked at."""

    period_s: Annotated[float, Field(ge=0.05, le=60, allow_inf_nan=False)] = 0.25
    gpus: Annotated[list[Gpu], Field(min_length=1)] | None = None
    """GPUs to look at: indices or UUIDs as `nvidia-smi -L` shows them, MIG instances by UUID. Unset
    takes those that CUDA_VISIBLE_DEVICES leaves to the engine."""


class CostParams(Section):
    """What the hardware under test costs, for the price of tokens."""

    price_per_hour: PositiveFloat | None = None
    """Of all that serves the requests together: the machine, or its GPUs."""
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = "USD"
    """As ISO 4217 writes it; only shown."""


class Params(Section):
    """One experiment."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")]
    notebook: Annotated[str, Field(min_length=1)] = "sweep"
    """What asks the question: one of labkit's notebooks, or the path of your own."""
    engine: EngineParams
    workload: WorkloadParams
    load: LoadParams
    sweep: list[SweepParams] = Field(default_factory=list)
    """One sweep, or several that each start from the same base; only `verify` needs none."""
    slo: SloParams = SloParams()
    sampling: SamplingParams = SamplingParams()
    cost: CostParams = CostParams()
    disaggregation: DisaggregationParams | None = None
    """What the notebook `disaggregation` plans for; unset takes its defaults there."""

    @model_validator(mode="before")
    @classmethod
    def _accept_one_sweep(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("sweep"), dict):
            return {**data, "sweep": [data["sweep"]]}
        return data

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        if self.load.mode == "trace" and self.workload.kind != "trace":
            raise ValueError(
                f"load.mode trace needs workload.kind trace, found kind {self.workload.kind}"
            )
        if not self.sweep and not self.climbs:
            raise ValueError("sweep needs a variable and its values, found none")
        seen = set()
        for sweep in self.sweep:
            key = (sweep.variable, sweep.series, *sorted(map(json.dumps, sweep.values)))
            if key in seen:
                raise ValueError(
                    f"sweep moves {sweep.variable} over the same values twice; use repeats, "
                    "or give each its own series"
                )
            seen.add(key)
            if sweep.search and not self.slo.model_dump(exclude_none=True):
                raise ValueError(
                    f"sweep over {sweep.variable} searches for where the SLO holds; give slo"
                )
            if sweep.set and sweep.series is None:
                raise ValueError(f"sweep over {sweep.variable} has set and no series; name it")
        return self

    @property
    def climbs(self) -> bool:
        """Whether it asks one request after the other, step by step, and has no points."""
        return self.notebook == LADDER

    def digest(self) -> str:
        """Return the sha256 of the resolved params, as hex."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def dump(self) -> str:
        """Return the resolved params as YAML that `load_params` reads back unchanged."""
        data = self.model_dump(mode="json", exclude_none=True)
        return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True))
