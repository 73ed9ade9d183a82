"""The requests that every point is given, as a params file says them: a section a kind.

`num_requests` tells for every kind how many requests there are in all, or None where only the
file knows. This module must not know how requests are made or sent, nor open a file.
"""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, JsonValue, Tag

from labkit.params.length import Length, TokenCountOrZero
from labkit.params.section import NotNegative, PositiveFloat, PositiveInt, Section

EXTRACTION_SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "category": {"type": "string", "enum": ["question", "request", "complaint", "other"]},
        "urgent": {"type": "boolean"},
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "quantity": {"type": "integer"}},
                "required": ["name", "quantity"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["title", "category", "urgent", "items"],
    "additionalProperties": False,
}
"""What a program would pull out of a letter: an enum, a flag, and a list of objects."""


Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
FilePath = Annotated[str, Field(min_length=1)]
"""Looked up from the present folder if it is relative, as params files are."""


class WorkloadFields(Section):
    """What every kind of workload says."""

    kind: str
    seed: int = 0
    endpoint: Literal["completions", "chat"] = "completions"
    salt: bool = True
    """Begin prompts with words of the point's own, so that no cache serves one point from another.

    Where prompts have nothing in common each gets words of its own; where reuse is the subject
    (groups, tasks, traces) what is shared gets them once, so reuse within the point stays."""
    temperature: NotNegative = 0.0


class SyntheticParams(WorkloadFields):
    """Prompts of drawn words and drawn lengths, each on its own."""

    kind: Literal["synthetic"] = "synthetic"
    num_requests: PositiveInt
    prompt_tokens: Length
    completion_tokens: Length


class MixedParams(WorkloadFields):
    """Long prompts mixed into short ones; a larger share keeps those that were long before."""

    kind: Literal["mixed"]
    num_requests: PositiveInt
    prompt_tokens: Length
    long_share: Share
    """How much of the requests, 0 to 1, have a long prompt."""
    long_prompt_tokens: Length
    completion_tokens: Length


class SharedPrefixParams(WorkloadFields):
    """A system prompt a group, and requests drawn over the groups."""

    kind: Literal["shared_prefix"]
    num_requests: PositiveInt
    prefix_tokens: TokenCountOrZero
    """Of the system prompt that a group shares; 0 leaves it out."""
    num_groups: PositiveInt = 1
    prompt_tokens: Length
    """Of what is each request's own, after the prefix."""
    completion_tokens: Length


class TaskFields(WorkloadFields):
    """What kinds have in common whose requests follow one another."""

    num_tasks: PositiveInt
    """Conversations, or tasks of an agent."""
    prompt_tokens: Length
    """Of the first request of a task."""
    completion_tokens: Length
    think_time_s: NotNegative = 0.0
    """Between an answer and the next request: reading it, or running a tool."""
    endpoint: Literal["completions", "chat"] = "chat"


class MultiTurnParams(TaskFields):
    """Conversations: each turn carries the earlier ones."""

    kind: Literal["multi_turn"]
    num_turns: PositiveInt
    turn_tokens: Length
    """Of what the user says in each later turn."""
    history: Literal["answers", "scripted"] = "answers"
    """`answers` carries what the engine answered; `scripted` a text of the asked length instead."""

    @property
    def num_requests(self) -> int:
        """Requests of all conversations."""
        return self.num_tasks * self.num_turns


class AgentParams(TaskFields):
    """Tasks of dependent calls: each carries the earlier ones and the result of a tool."""

    kind: Literal["agent"]
    num_steps: PositiveInt
    """Calls of the model in one task."""
    step_tokens: Length
    """Of a tool's result, before each later call."""

    @property
    def num_requests(self) -> int:
        """Calls of all tasks."""
        return self.num_tasks * self.num_steps


class StructuredParams(WorkloadFields):
    """Synthetic prompts whose answers must be JSON of a schema."""

    kind: Literal["structured"]
    num_requests: PositiveInt
    prompt_tokens: Length
    completion_tokens: Length
    """The most that an answer may take; an engine may end it when the JSON is whole."""
    json_schema: dict[str, JsonValue] = EXTRACTION_SCHEMA
    constrained: bool = True
    """Off sends the same prompts and asks for no schema, as a control."""
    endpoint: Literal["chat"] = "chat"
    """Alone: with completions some engines leave the schema aside and say nothing."""


class ShareGptParams(WorkloadFields):
    """First turns of recorded conversations, in a seeded order."""

    kind: Literal["sharegpt"]
    path: FilePath
    num_requests: PositiveInt
    completion_tokens: Length | None = None
    """Unset asks for as many tokens as the recorded answer has."""
    max_prompt_tokens: PositiveInt | None = None
    max_completion_tokens: PositiveInt | None = None
    endpoint: Literal["completions", "chat"] = "chat"


class JsonlParams(WorkloadFields):
    """Requests of your own, one a line: `prompt` or `messages`, with `max_tokens`."""

    kind: Literal["jsonl"]
    path: FilePath
    num_requests: PositiveInt | None = None
    """The first so many lines; unset takes all."""
    completion_tokens: Length | None = None
    """Of lines that don't say `max_tokens`."""
    endpoint: Literal["completions", "chat"] = "chat"


class TraceParams(WorkloadFields):
    """When requests came and how long they were: Mooncake JSONL or BurstGPT CSV."""

    kind: Literal["trace"]
    path: FilePath
    num_requests: PositiveInt | None = None
    """The first so many that the limits below leave; unset takes all."""
    max_prompt_tokens: PositiveInt | None = None
    max_completion_tokens: PositiveInt | None = None
    duration_s: PositiveFloat | None = None
    """Of the trace, from the first record that is kept."""


WORKLOADS: dict[str, type[WorkloadFields]] = {
    "synthetic": SyntheticParams,
    "mixed": MixedParams,
    "shared_prefix": SharedPrefixParams,
    "multi_turn": MultiTurnParams,
    "agent": AgentParams,
    "structured": StructuredParams,
    "sharegpt": ShareGptParams,
    "jsonl": JsonlParams,
    "trace": TraceParams,
}
"""Every kind and its section."""


def _name_kind(data: Any) -> str:
    if isinstance(data, dict):
        return str(data.get("kind", "synthetic"))
    return data.kind if isinstance(data, WorkloadFields) else "synthetic"


WorkloadParams = Annotated[
    Annotated[SyntheticParams, Tag("synthetic")]
    | Annotated[MixedParams, Tag("mixed")]
    | Annotated[SharedPrefixParams, Tag("shared_prefix")]
    | Annotated[MultiTurnParams, Tag("multi_turn")]
    | Annotated[AgentParams, Tag("agent")]
    | Annotated[StructuredParams, Tag("structured")]
    | Annotated[ShareGptParams, Tag("sharegpt")]
    | Annotated[JsonlParams, Tag("jsonl")]
    | Annotated[TraceParams, Tag("trace")],
    Discriminator(_name_kind),
]
"""A workload of any kind; one that doesn't say its kind is synthetic."""
