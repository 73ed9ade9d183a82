"""The engine under test, as a params file says it."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from labkit.params.providers import FROM_VARIABLES
from labkit.params.section import Fraction, PositiveFloat, PositiveInt, Section


class EngineParams(Section):
    """The engine under test; the knobs carry vLLM's names whatever the engine is."""

    kind: Literal["llamacpp", "vllm", "sglang", "tensorrt_llm", "tgi", "endpoint"]
    """`llamacpp` launches the engine that ships, `endpoint` uses one that already runs, the others
    are launched where they are installed."""
    model: str | None = None
    """A path or hub name of a model, the name `smollm2`, or the name that an endpoint serves."""
    executable: str | None = None
    """The engine's program; unset takes the one on the PATH."""
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
    static_batching: bool | None = None
    """Start no sequence before the whole batch has ended, as a control for continuous batching."""
    num_threads: PositiveInt | None = None
    """CPU threads of the engine; unset leaves one core to the client."""
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    """A fixed port; unset takes a free one."""
    start_timeout_s: PositiveFloat = 120.0
    extra_args: dict[str, Any] = Field(default_factory=dict)
    """Passed to the engine untouched, under the engine's own names."""
    env: dict[str, str] = Field(default_factory=dict)
    """Environment variables for the engine, such as CUDA_VISIBLE_DEVICES; never secrets."""
    on_oom: Literal["fail", "step_down"] = "fail"
    """What to do when the engine runs out of memory: `step_down` tries again with max_num_seqs 16,
    then a budget of 4096, and says so."""
    base_url: str | None = None
    """Of an endpoint, with or without `/v1`."""
    api_key_env: str | None = None
    """The name of the environment variable that holds the key; the key itself is never written."""
    provider: str | None = None
    """A name in the providers file, which then tells base_url, key and model; `env` takes them from
    OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL, or from those that begin with TAOTOKEN."""
    providers_file: Annotated[str, Field(min_length=1)] | None = None
    """Unset takes what LABKIT_PROVIDERS names, or providers.yaml beside the params file."""

    @property
    def key_source(self) -> str | None:
        """Where the key is, for `labkit.address.read_key`: a name or a place, never the key."""
        if self.provider is not None:
            return f"provider:{self.providers_file or ''}#{self.provider}"
        return f"env:{self.api_key_env}" if self.api_key_env else None

    @field_validator("api_key_env")
    @classmethod
    def _check_variable(cls, name: str | None) -> str | None:
        if name is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise ValueError("expected the name of a variable, found something else (not shown)")
        return name

    @model_validator(mode="after")
    def _check_endpoint(self) -> Self:
        if self.kind != "endpoint":
            for name in ("base_url", "provider", "providers_file"):
                if getattr(self, name) is not None:
                    raise ValueError(f"{name} belongs to kind endpoint, found kind {self.kind}")
            return self
        if self.provider is None:
            if self.base_url is None:
                raise ValueError(
                    "kind endpoint needs base_url, such as http://127.0.0.1:8000/v1, or provider"
                )
            if self.providers_file is not None:
                raise ValueError("providers_file and base_url exclude each other; leave one out")
            return self
        for name in ("base_url", "api_key_env"):
            if getattr(self, name) is not None:
                raise ValueError(f"{name} and provider exclude each other; leave one out")
        if self.provider != FROM_VARIABLES and self.providers_file is None:
            raise ValueError(
                "provider needs a providers file; set providers_file or LABKIT_PROVIDERS, or put "
                "providers.yaml beside the params file"
            )
        return self
