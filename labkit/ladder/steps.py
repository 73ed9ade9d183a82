"""The ladder as data: what each step asks, what it adds to the request before, what it needs.

The smallest request comes first, and each step adds one thing to the last request that worked, so
that the step which breaks names the cause. Pure. It must not know how anything is sent or judged.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from labkit.params import Params

PROMPT = "One, two, three,"
QUESTION = "Count to three."
YES_OR_NO = "Is water wet? Answer with JSON that has one key, answer, which is yes or no."
SHORT_TOKENS = 16
JSON_TOKENS = 64
FEW = 4
MAX_LONG_TOKENS = 32_768
"""A prompt near a longer context is not sent: it may cost minutes, or money."""
SPARE_TOKENS = 64
"""What a template and special tokens may add to a prompt that was counted, or was not."""
STOP_CHARS = 4
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["answer"],
    "additionalProperties": False,
}


@dataclass(slots=True)
class Facts:
    """What a request is built from: the params, and what earlier steps found."""

    endpoint: str
    temperature: float
    seed: int
    model: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    """What fixes the length of a completion on this engine."""
    room_tokens: int | None = None
    """Of prompt and completion together, where the engine tells."""
    write_prompt: Callable[[int], str] = lambda num_tokens: " ".join(["word"] * num_tokens)
    """Returns a text of so many tokens."""
    chat_works: bool = False
    """Whether the chat endpoint answered beside that of the workload."""
    text: str = ""
    """Of the last answer that worked."""
    kept: dict[str, Any] = field(default_factory=dict)
    """The fields of the last request that worked, without model and prompt."""


Adds = Callable[[Facts], "dict[str, Any] | str"]
"""Returns the fields that a step adds to the request, or why it can't be tried."""


@dataclass(frozen=True, slots=True)
class Step:
    """One question to an engine."""

    name: str
    title: str
    asks: str
    needs: tuple[str, ...] = ()
    """Steps without which it means nothing."""
    optional: bool = False
    """Whether an engine may lack it: no load of these params asks for it."""
    kept: bool = True
    """Whether later requests go on with what it adds."""
    adds: Adds | None = None
    """None for a step that is no request of text."""


def list_steps(params: Params) -> list[Step]:
    """Return the steps for these params, in order; an engine that already runs is not launched."""
    launched = params.engine.kind != "endpoint"
    own, other = ("completions", "chat")
    if params.workload.endpoint == "chat":
        own, other = other, own
    structured = params.workload.kind == "structured"
    steps = [
        Step("address", "The address", "Does the name resolve, and does the port answer?",
             ("engine",) if launched else ()),
        Step("http", "HTTP", "Does what listens there speak HTTP?", ("address",)),
        Step("base_url", "The form of the base URL", "With /v1 or without: which form answers?",
             ("http",)),
        Step("key", "The API key", "Is the key accepted?", ("base_url",)),
        Step("models", "The served name", "Does it serve the model under this name?", ("key",)),
        Step("smallest", "The smallest request", f"max_tokens 1 by {own}, not streamed",
             ("models",), adds=lambda facts: {"max_tokens": 1}),
        Step("stream", "Streaming", "stream: true", ("smallest",),
             adds=lambda facts: {"stream": True}),
        Step("usage", "Usage in the stream", "stream_options: include_usage", ("stream",),
             adds=lambda facts: {"stream_options": {"include_usage": True}}),
        Step("temperature", "Temperature", f"temperature: {params.workload.temperature:g}",
             ("smallest",), adds=lambda facts: {"temperature": facts.temperature}),
        Step("seed", "Seed", f"seed: {params.workload.seed}", ("smallest",), optional=True,
             kept=False, adds=lambda facts: {"seed": facts.seed}),
        Step("max_tokens", "More tokens", f"max_tokens: {SHORT_TOKENS}", ("smallest",),
             adds=lambda facts: {"max_tokens": SHORT_TOKENS}),
        Step("exact_length", "An exact length", "ignore_eos or min_tokens, as the engine has it",
             ("max_tokens",), adds=_fix_length),
        Step("stop", "Stop", "stop: a text that the answer before held", ("max_tokens",),
             optional=True, kept=False, adds=_stop),
        Step("long_prompt", "A long prompt", "A prompt near max_model_len", ("max_tokens",),
             kept=False, adds=_lengthen),
        Step("over_context", "Over the context",
             "Prompt and max_tokens above max_model_len: refused, or cut?", ("long_prompt",),
             kept=False, adds=_overrun),
        Step("over_prompt", "A prompt over the context",
             "A prompt above max_model_len: a refusal is expected", ("long_prompt",),
             kept=False, adds=_overfill),
        Step("other_endpoint", f"The {other} endpoint", f"The same by {other}",
             ("models",), optional=True, kept=False,
             adds=lambda facts: {"max_tokens": SHORT_TOKENS}),
        Step("json_schema", "A JSON schema", "response_format: json_schema", ("smallest",),
             optional=not structured, kept=False, adds=_ask_json),
        Step("own_request", "The load's own request",
             "The first request of the workload, as the load sends it", ("smallest", "stream")),
        Step("few", "A few at once", f"Up to {FEW} requests of the workload at the same time",
             ("own_request",)),
    ]  # fmt: skip
    if launched:
        steps.insert(0, Step("engine", "The engine", "Does it start?"))
    return steps


def build(facts: Facts, added: Mapping[str, Any], endpoint: str) -> dict[str, Any]:
    """Return the JSON body: what worked before, and what this step adds, None for what it takes.

    A `prompt` among what is added stands in the place of the short one; it becomes a message where
    the endpoint is chat.
    """
    fields = {**facts.kept, **added}
    prompt = fields.pop("prompt", PROMPT if endpoint == "completions" else QUESTION)
    body: dict[str, Any] = {"model": facts.model}
    if endpoint == "chat":
        body["messages"] = [{"role": "user", "content": prompt}]
    else:
        body["prompt"] = prompt
    return body | {name: value for name, value in fields.items() if value is not None}


def _fix_length(facts: Facts) -> dict[str, Any] | str:
    if not facts.options:
        return "no field that fixes a length is known for it, so the load sends none"
    return dict(facts.options)


def _stop(facts: Facts) -> dict[str, Any] | str:
    text = facts.text.rstrip()
    middle = text[len(text) // 2 :][:STOP_CHARS]
    if not middle.strip():
        return "the answer before held too little text to stop in"
    return {"stop": [middle]}


def _lengthen(facts: Facts) -> dict[str, Any] | str:
    if facts.room_tokens is None:
        return "it does not tell how long its context is"
    num_tokens = facts.room_tokens - SHORT_TOKENS - SPARE_TOKENS
    if num_tokens < 1:
        return f"a context of {facts.room_tokens} tokens leaves no room for a long prompt"
    if num_tokens > MAX_LONG_TOKENS:
        return f"a prompt of {num_tokens:,} tokens may take minutes or cost money"
    return {"prompt": facts.write_prompt(num_tokens)}


def _overrun(facts: Facts) -> dict[str, Any] | str:
    found = _lengthen(facts)
    return found if isinstance(found, str) else {**found, "max_tokens": facts.room_tokens}


def _overfill(facts: Facts) -> dict[str, Any] | str:
    found = _lengthen(facts)
    if isinstance(found, str) or facts.room_tokens is None:
        return found
    return {"prompt": facts.write_prompt(facts.room_tokens + SPARE_TOKENS)}


def _ask_json(facts: Facts) -> dict[str, Any]:
    form = {"name": "answer", "schema": dict(SCHEMA), "strict": True}
    return {
        "prompt": YES_OR_NO,
        "max_tokens": JSON_TOKENS,
        "response_format": {"type": "json_schema", "json_schema": form},
        **dict.fromkeys(facts.options),  # a grammar decides the length
    }
