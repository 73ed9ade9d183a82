"""The engine under test, as a params file says it."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

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

    @model_validator(mode="after")
    def _check_endpoint(self) -> Self:
        if self.kind == "endpoint" and self.base_url is None:
            raise ValueError("kind endpoint needs base_url, such as http://127.0.0.1:8000/v1")
        if self.kind != "endpoint" and self.base_url is not None:
            raise ValueError(f"base_url belongs to kind endpoint, found kind {self.kind}")
        return self
