"""One answer in, a verdict out; the refusals are those that engines were seen to give."""

import json
from typing import Any

import pytest

from labkit.client.reply import Reply
from labkit.ladder.fire import judge_records
from labkit.ladder.judge import judge
from labkit.ladder.meaning import find_meaning
from labkit.ladder.steps import Facts, Step, build, list_steps
from labkit.ladder.verdict import Asked
from labkit.params.read import parse_params

BODY = {"model": "m", "prompt": "One,", "max_tokens": 16}


def reply(status: int, body: Any) -> Reply:
    text = body if isinstance(body, str) else json.dumps(body)
    return Reply(status, text, None if isinstance(body, str) else body, 0.1, "")


def ask(name: str, came: Reply, *, optional: bool = False, **fields: Any) -> Any:
    step = Step(name, name, "", optional=optional)
    asked = Asked("http://h/v1", "m", ("m",), "completions", {**BODY, **fields})
    return judge(step, came, asked)[0]


def whole(text: str, num_tokens: int = 3) -> Reply:
    usage = {"prompt_tokens": 2, "completion_tokens": num_tokens}
    return reply(200, {"choices": [{"text": text, "finish_reason": "stop"}], "usage": usage})


@pytest.mark.parametrize(
    ("said", "meaning"),
    [
        ("CUDA error: out of memory", "memory of the device"),
        ("This model's maximum context length is 4096 tokens.", "its context"),
        ("request (401 tokens) exceeds the available context size (256 tokens)", "its context"),
        ("Input length (401 tokens) exceeds the maximum allowed length (250 tokens).", "context"),
        ("`inputs` must have less than 4095 tokens. Given: 5000", "its context"),
        ("The model `x` does not exist.", "not a name that it serves"),
        ("Invalid model name passed in model=x", "not a name that it serves"),
        ("default chat template is no longer allowed", "no chat template"),
        ("Loading model", "still loading"),
        ("Extra inputs are not permitted", "does not take this field"),
        ("Unrecognized request argument supplied: min_tokens", "does not take this field"),
        ("You exceeded your current quota, please check your plan", "no credit left"),
    ],
)
def test_what_engines_say_has_a_meaning(said: str, meaning: str) -> None:
    found = find_meaning(said)
    assert found is not None
    assert meaning in found.meaning


def test_other_words_have_none() -> None:
    assert find_meaning("Internal Server Error") is None


@pytest.mark.parametrize(
    ("status", "said", "verdict"),
    [
        (400, "seed is not supported", "not offered"),
        (500, "boom", "not offered"),
        (401, "no", "fails"),
        (429, "slow down", "fails"),
        (500, "CUDA out of memory", "fails"),
    ],
)
def test_something_optional_is_missing_unless_the_fault_is_another(
    status: int, said: str, verdict: str
) -> None:
    came = reply(status, {"error": {"message": said}})
    assert ask("seed", came, optional=True).verdict == verdict
    assert ask("seed", came).verdict == "fails"


@pytest.mark.parametrize(
    ("status", "verdict", "told"),
    [
        (400, "works", "refused, as it should be: HTTP 400 (too long)"),
        (500, "fails", "HTTP 500 (too long)"),
        (401, "fails", "HTTP 401 (too long)"),
    ],
)
def test_what_is_too_long_may_be_refused(status: int, verdict: str, told: str) -> None:
    judged = ask("over_context", reply(status, {"error": {"message": "too long"}}))
    assert (judged.verdict, judged.found) == (verdict, told)


def test_what_is_too_long_may_be_cut() -> None:
    judged = ask("over_context", whole(" four"))
    assert judged.verdict == "works"
    assert judged.meaning == "it does not refuse, it ends the answer where the context is full"
    assert ask("over_prompt", whole(" four")).meaning.endswith("it cuts the prompt")


@pytest.mark.parametrize(
    ("name", "text", "num_tokens", "fields", "verdict"),
    [
        ("max_tokens", " a", 16, {}, "works"),
        ("max_tokens", " a", 17, {}, "fails"),
        ("exact_length", " a", 16, {}, "works"),
        ("exact_length", " a", 15, {}, "fails"),
        ("stop", " one two", 3, {"stop": ["three"]}, "works"),
        ("stop", " one two three", 3, {"stop": ["two"]}, "not offered"),
        ("json_schema", '{"answer": "no"}', 3, {}, "works"),
        ("json_schema", '{"answer": "perhaps"}', 3, {}, "fails"),
        ("json_schema", "no", 3, {}, "fails"),
        ("usage", " a", 3, {}, "works"),
    ],
)
def test_an_answer_must_keep_to_what_was_asked(
    name: str, text: str, num_tokens: int, fields: dict[str, Any], verdict: str
) -> None:
    assert ask(name, whole(text, num_tokens), **fields).verdict == verdict


def test_a_stream_without_text_is_an_answer() -> None:
    body = 'data: {"choices": [{"text": "", "finish_reason": "length"}]}\n\ndata: [DONE]\n\n'
    assert ask("stream", reply(200, body), stream=True).found.startswith("'', no usage")


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ('data: {"choices": [{"text": " a"}]}\n\n', "without finish_reason and without"),
        ('data: {"error": {"message": "model crashed"}}\n\n', "model crashed"),
        ("hello", "expected a stream of events with choices, found 'hello'"),
    ],
)
def test_a_broken_stream_fails(body: str, found: str) -> None:
    judged = ask("stream", reply(200, body), stream=True)
    assert (judged.verdict, found in judged.found) == ("fails", True)


def test_a_body_is_built_from_what_worked() -> None:
    facts = Facts("chat", 0.0, 0, model="m", kept={"max_tokens": 16, "ignore_eos": True})
    assert build(facts, {"prompt": "Hi", "ignore_eos": None}, "chat") == {
        "model": "m", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 16
    }  # fmt: skip


def steps_of(**changes: Any) -> dict[str, Step]:
    engine = {"kind": "llamacpp", "model": "smollm2"}
    workload = {"num_requests": 1, "prompt_tokens": 8, "completion_tokens": 4}
    data = {
        "name": "x", "notebook": "verify", "engine": engine, "workload": workload,
        "load": {"max_concurrency": 1}, **changes,
    }  # fmt: skip
    return {one.name: one for one in list_steps(parse_params(data, source="test"))}


def test_the_long_prompt_leaves_room_for_the_answer() -> None:
    steps = steps_of()
    assert steps["long_prompt"].adds is not None
    add = steps["long_prompt"].adds
    facts = Facts("completions", 0.0, 0, room_tokens=100)
    assert add(facts) == {"prompt": " ".join(["word"] * (100 - 16 - 64))}
    for room, why in ((None, "does not tell"), (80, "leaves no room"), (200_000, "cost money")):
        facts.room_tokens = room
        assert why in str(add(facts))


def test_the_steps_fit_the_params() -> None:
    assert next(iter(steps_of())) == "engine"
    assert steps_of()["other_endpoint"].title == "The chat endpoint"
    assert steps_of()["json_schema"].optional
    structured = {
        "kind": "structured", "num_requests": 1, "prompt_tokens": 8, "completion_tokens": 4
    }  # fmt: skip
    steps = steps_of(engine={"kind": "endpoint", "base_url": "http://h/v1"}, workload=structured)
    assert "engine" not in steps
    assert steps["other_endpoint"].title == "The completions endpoint"
    assert not steps["json_schema"].optional


def record(**changes: Any) -> dict[str, Any]:
    good = {
        "status": "ok", "error_kind": None, "error_message": None, "http_status": 200,
        "completion_tokens": 4, "sent_at_s": 1.0, "first_token_at_s": 1.25,
    }  # fmt: skip
    return {**good, **changes}


def test_a_load_is_judged_by_its_records() -> None:
    assert judge_records([record()]).found == "an answer, 4 completion tokens, TTFT 250 ms"
    bad = record(status="error", error_kind="timeout", error_message="10 s passed")
    judged = judge_records([bad, record()])
    assert judged.verdict == "fails"
    assert judged.found == "1 of 2 requests failed, first with timeout: 10 s passed"
