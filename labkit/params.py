"""What an experiment is, as a YAML file says it: strict, frozen, resolved.

An unknown key is an error that names the nearest known one. This module must not know how a plan
is made, how an engine is launched, or where a run is stored.
"""

import difflib
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from labkit.errors import ParamsError

PositiveInt = Annotated[int, Field(ge=1)]
PositiveFloat = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Fraction = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]


class Section(BaseModel):
    """A part of the params file: unknown keys are refused, values are never converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class EngineParams(Section):
    """The engine under test; the knobs carry vLLM's names whatever the engine is."""

    kind: Literal["llamacpp", "endpoint"]
    """`llamacpp` launches the engine that ships; `endpoint` uses one that already runs."""
    model: str | None = None
    """A path to a model file, the name `smollm2`, or the name that an endpoint serves."""
    max_num_seqs: PositiveInt | None = None
    """Sequences that the engine works on at the same time."""
    max_num_batched_tokens: PositiveInt | None = None
    """The token budget: prompt and decode tokens in one step of the engine."""
    max_model_len: PositiveInt | None = None
    """Tokens that one sequence may hold, prompt and completion together."""
    enable_chunked_prefill: bool | None = None
    enable_prefix_caching: bool | None = None
    gpu_memory_utilization: Fraction | None = None
    block_size: PositiveInt | None = None
    scheduling_policy: str | None = None
    num_threads: PositiveInt | None = None
    """CPU threads of the engine; unset leaves one core to the client."""
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    """A fixed port; unset takes a free one."""
    start_timeout_s: PositiveFloat = 120.0
    extra_args: dict[str, Any] = Field(default_factory=dict)
    """Passed to the engine untouched, under the engine's own names."""
    base_url: str | None = None
    """Of an endpoint, with or without `/v1`."""
    api_key_env: str | None = None
    """The name of the environment variable that holds the key; the key itself is never written."""

    @model_validator(mode="after")
    def _check_endpoint(self) -> Self:
        if self.kind == "endpoint" and self.base_url is None:
            raise ValueError("kind endpoint needs base_url, such as http://127.0.0.1:8000/v1")
        if self.kind != "endpoint" and self.base_url is not None:
            raise ValueError(f"base_url belongs to kind endpoint, found kind {self.kind}")
        return self


class Distribution(Section):
    """A token count that is drawn per request, seeded, and kept within [low, high]."""

    kind: Literal["uniform", "normal"]
    low: PositiveInt
    high: PositiveInt
    mean: PositiveFloat | None = None
    stddev: PositiveFloat | None = None

    @model_validator(mode="after")
    def _check_bounds(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"low must be at most high, found {self.low} and {self.high}")
        if (self.kind == "normal") != (self.mean is not None and self.stddev is not None):
            raise ValueError("mean and stddev belong to kind normal, which needs both")
        return self


class WorkloadParams(Section):
    """The requests that every point is given."""

    kind: Literal["synthetic"] = "synthetic"
    num_requests: PositiveInt
    seed: int = 0
    prompt_tokens: PositiveInt | Distribution
    completion_tokens: PositiveInt | Distribution
    endpoint: Literal["completions", "chat"] = "completions"
    salt: bool = True
    """Begin each prompt with words of its own, so that no cache serves one from another."""
    temperature: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0


class LoadParams(Section):
    """How the requests are sent."""

    mode: Literal["closed"] = "closed"
    max_concurrency: PositiveInt
    """Requests in flight; the next one is sent when one ends."""
    request_timeout_s: PositiveFloat = 120.0
    num_warmup_requests: Annotated[int, Field(ge=0)] = 2
    """Sent before the measurement, with other prompts, and not recorded."""


class SweepParams(Section):
    """The one variable that moves."""

    variable: str
    """A dotted path into the params, such as `engine.max_num_seqs`."""
    values: Annotated[list[bool | int | float | str], Field(min_length=1)]
    repeats: PositiveInt = 1
    order: Literal["given", "shuffled"] = "given"

    @model_validator(mode="after")
    def _check_values(self) -> Self:
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


class Params(Section):
    """One experiment."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")]
    engine: EngineParams
    workload: WorkloadParams
    load: LoadParams
    sweep: Annotated[list[SweepParams], Field(min_length=1)]
    """One sweep, or several that each start from the same base."""
    slo: SloParams = SloParams()
    sampling: SamplingParams = SamplingParams()

    @model_validator(mode="before")
    @classmethod
    def _accept_one_sweep(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("sweep"), dict):
            return {**data, "sweep": [data["sweep"]]}
        return data

    def digest(self) -> str:
        """Return the sha256 of the resolved params, as hex."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def dump(self) -> str:
        """Return the resolved params as YAML that `load_params` reads back unchanged."""
        data = self.model_dump(mode="json", exclude_none=True)
        return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True))


def load_params(path: Path, overrides: Sequence[str] = ()) -> Params:
    """Read a params file, apply `a.b=value` overrides (values in YAML) and check all of it.

    Raises ParamsError, in one line, for a file that is not there or is not YAML, an unknown key,
    a wrong type, or values that do not go together.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ParamsError(f"expected a params file at {path}, found: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        told = " ".join(str(error).split())
        raise ParamsError(f"expected YAML in {path}, found: {told}") from None
    if not isinstance(data, dict):
        raise ParamsError(f"expected sections such as engine: and sweep: in {path}, found none")
    for override in overrides:
        _override(data, override)
    return parse_params(data, source=str(path))


def parse_params(data: dict[str, Any], *, source: str = "params") -> Params:
    """Check params that are already read; `source` is named in errors."""
    try:
        return Params.model_validate(data)
    except ValidationError as error:
        told = "; ".join(dict.fromkeys(_explain(dict(one)) for one in error.errors()))
        raise ParamsError(f"{source}: {told}") from None


def list_paths(section: type[BaseModel] = Params, prefix: str = "") -> Iterator[str]:
    """Yield the dotted path of every value that a params file may set."""
    for name, field in section.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from list_paths(field.annotation, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def name_nearest(word: str, known: Sequence[str]) -> str:
    """Return "; did you mean X?" for the known word nearest to this one, or what is known."""
    near = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]}?" if near else f"; known are {', '.join(known)}"


def _override(data: dict[str, Any], override: str) -> None:
    path, equals, text = override.partition("=")
    if not equals or not path.strip():
        raise ParamsError(f"expected an override such as engine.max_num_seqs=8, found {override!r}")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        raise ParamsError(f"expected a YAML value after {path}=, found {text!r}") from None
    *parents, last = path.strip().split(".")
    place: Any = data
    for key in parents:
        place = place.setdefault(key, {}) if isinstance(place, dict) else _item(place, key, path)
    if isinstance(place, dict):
        place[last] = value
    elif isinstance(place, list):
        _item(place, last, path)
        place[int(last)] = value
    else:
        raise ParamsError(f"expected a section above {path}, found {place!r}")


def _item(place: Any, key: str, path: str) -> Any:
    if isinstance(place, list) and key.isdecimal() and int(key) < len(place):
        return place[int(key)]
    raise ParamsError(f"expected a place in the params for {path}, found none at {key!r}")


def _explain(error: dict[str, Any]) -> str:
    steps = [str(step) for step in error["loc"]]
    where = ".".join(steps)
    if error["type"] == "extra_forbidden":
        known = [path for path in _siblings(steps[:-1])]
        return f"{where} is not a parameter{name_nearest(steps[-1], known)}"
    if error["type"] == "missing":
        return f"{where} is required, found nothing"
    message = str(error["msg"]).removeprefix("Value error, ")
    found = error.get("input")
    tail = "" if isinstance(found, dict) else f", found {found!r}"
    return f"{where or 'params'}: {message[0].lower()}{message[1:]}{tail}"


def _siblings(steps: list[str]) -> list[str]:
    section: type[BaseModel] = Params
    for step in steps:
        if step == "sweep":
            section = SweepParams
        elif step == "Distribution":
            section = Distribution
        elif step in section.model_fields:
            annotation = section.model_fields[step].annotation
            if isinstance(annotation, type) and issubclass(annotation, BaseModel):
                section = annotation
    return list(section.model_fields)
