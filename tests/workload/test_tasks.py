"""Conversations and agent tasks: order, history, and what is counted."""

from workloads import make_workload

from labkit.workload import Request, generate


def converse(salt: str = "p0", **changes: object) -> list[Request]:
    fields = {
        "kind": "multi_turn",
        "num_tasks": 2,
        "num_turns": 3,
        "turn_tokens": 7,
        "think_time_s": 1.5,
    }
    return generate(make_workload(**(fields | changes)), seed=1, salt=salt).requests


def list_lengths(request: Request) -> list[tuple[str, int]]:
    return [(role, len(text.split())) for role, text in request.messages]


def test_answers_are_carried_and_counted_as_asked() -> None:
    requests = converse()
    assert [r.request_id for r in requests] == [f"r{index:05d}" for index in range(6)]
    assert [r.task_id for r in requests] == ["t00000"] * 3 + ["t00001"] * 3
    assert [r.carry for r in requests] == [False, True, True] * 2
    assert [r.think_time_s for r in requests] == [0.0, 1.5, 1.5] * 2
    assert [list_lengths(r) for r in requests[:3]] == [[("user", n)] for n in (30, 7, 7)]
    # 30; 30 + 8 + 7; 45 + 8 + 7
    assert [r.prompt_tokens for r in requests] == [30, 45, 60] * 2
    assert {r.max_tokens for r in requests} == {8}


def test_a_scripted_history_is_in_the_messages() -> None:
    requests = converse(history="scripted")
    first, second, third = requests[:3]
    assert list_lengths(third) == [
        ("user", 30),
        ("assistant", 8),
        ("user", 7),
        ("assistant", 8),
        ("user", 7),
    ]
    assert third.messages[:3] == second.messages
    assert second.messages[:1] == first.messages
    assert not any(r.carry for r in requests)
    assert [r.task_id for r in requests] == ["t00000"] * 3 + ["t00001"] * 3
    assert [r.prompt_tokens for r in requests[:3]] == [30, 45, 60]
    assert [r.messages[-1] for r in requests] == [r.messages[-1] for r in converse()]


def test_the_salt_is_in_front_of_each_task_alone() -> None:
    one, two = converse("p0"), converse("p1")
    starts = [r.messages[0][1].split() for r in one + two if not r.carry]
    assert len({tuple(words[:6]) for words in starts}) == 4
    assert [words[6:] for words in starts[:2]] == [words[6:] for words in starts[2:]]
    assert [r for r in one if r.carry] == [r for r in two if r.carry]


def test_a_task_does_not_depend_on_how_many_there_are() -> None:
    assert converse(num_tasks=1) == converse()[:3]
    lengths = {"kind": "uniform", "low": 3, "high": 30}
    assert (
        converse(num_tasks=1, turn_tokens=lengths) == converse(num_tasks=2, turn_tokens=lengths)[:3]
    )


def test_an_agent_carries_tool_results() -> None:
    workload = make_workload(kind="agent", num_tasks=2, num_steps=4, step_tokens=11)
    assert workload.num_requests == 8
    requests = generate(workload, seed=1, salt="p0").requests
    assert [r.carry for r in requests] == [False, True, True, True] * 2
    assert [list_lengths(r) for r in requests[:4]] == [[("user", n)] for n in (30, 11, 11, 11)]
    # 30; + 8 + 11 each
    assert [r.prompt_tokens for r in requests[:4]] == [30, 49, 68, 87]
    assert {r.think_time_s for r in requests} == {0.0}
    assert len({r.messages for r in requests}) == 8
