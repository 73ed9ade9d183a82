import asyncio
import gc
import time
import weakref
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from scripted import DONE, Call, Server, answer, delta, event, serve, text, usage

from labkit.client import backlog, sender, wire
from labkit.client.exchange import Exchange
from labkit.client.pace import sleep_until
from labkit.client.sender import Sender, describe_stalls
from labkit.client.stream import make_client
from labkit.records import read_jsonl
from labkit.workload import Request

Script = Callable[[Call], Awaitable[None]]
USER = (("user", "hello"),)


def single(count: int, max_tokens: int = 2) -> list[list[Request]]:
    return [[Request(f"r{index}", USER, max_tokens, 1)] for index in range(count)]


def conversation(*, think_time_s: float = 0.0, carry: bool = True) -> list[Request]:
    system = (("system", "be short"), ("user", "first"))
    return [
        Request("a", system, 2, 2, task_id="t"),
        Request("b", (("user", "second"),), 2, 2, "t", carry, think_time_s),
        Request("c", (("user", "third"),), 2, 2, "t", carry, think_time_s),
    ]


def go(
    out: Path, script: Script, tasks: Sequence[Sequence[Request]], **job: Any
) -> tuple[dict[str, dict[str, Any]], Server, dict[str, Any]]:
    """Send the tasks with one sender; return records by request, the server, and what it told."""
    with serve(script) as server:
        told = asyncio.run(play(server.url, out, tasks, **job))
    return {record["request_id"]: record for record in read_jsonl(out)}, server, told


async def play(
    url: str, out: Path, tasks: Sequence[Sequence[Request]], endpoint: str = "completions",
    **job: Any,
) -> dict[str, Any]:  # fmt: skip
    """Send the tasks with one sender and return what it told."""
    target = {"base_url": url, "model": "m", "endpoint": endpoint,
              "temperature": 0.0, "extra_body": {}, "timeout_s": 5.0}  # fmt: skip
    rows = [[asdict(request) for request in task] for task in tasks]
    whole = {"target": target, "tasks": rows, "mode": "closed", "limit": None, "out": str(out)}
    client = make_client(url, None)
    told = await Sender(whole | job, client, str, lambda name, **fields: None).run(
        time.monotonic() + 0.05
    )
    await client.close()
    return told


async def chat(call: Call) -> None:
    number = len(call.body["messages"])
    pieces = [
        delta({"role": "assistant"}),
        delta({"content": "said "}),
        delta({"content": f"{number}"}),
    ]
    await call.stream(*pieces, delta({}, "stop"), usage(1, 2), DONE)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "requests.jsonl"


def test_a_later_step_carries_the_conversation_with_the_answers_that_came(out: Path) -> None:
    records, server, told = go(out, chat, [conversation()], begins_s=[0.0], endpoint="chat")
    sent = [[(m["role"], m["content"]) for m in call.body["messages"]] for call in server.calls]
    first = [("system", "be short"), ("user", "first")]
    second = [*first, ("assistant", "said 2"), ("user", "second")]
    assert sent == [first, second, [*second, ("assistant", "said 4"), ("user", "third")]]
    assert [(r["task_id"], r["step"]) for r in records.values()] == [("t", 0), ("t", 1), ("t", 2)]
    assert (told["num_done"], told["num_error"], told["completion_tokens"]) == (3, 0, 6)


def test_completions_carry_it_as_one_text(out: Path) -> None:
    _, server, _ = go(out, answer, [conversation()], begins_s=[0.0])
    assert [call.body["prompt"] for call in server.calls][:2] == [
        "be short first",
        "be short first  0 1 second",
    ]


def test_a_step_that_does_not_carry_stands_alone(out: Path) -> None:
    _, server, _ = go(out, answer, [conversation(carry=False)], begins_s=[0.0])
    prompts = [call.body["prompt"] for call in server.calls]
    assert prompts == ["be short first", "second", "third"]


def test_a_think_time_follows_the_answer(out: Path) -> None:
    records, _, _ = go(out, answer, [conversation(think_time_s=0.1)], begins_s=[0.0])
    for before, after in (("a", "b"), ("b", "c")):
        due_s = records[before]["finished_at_s"] + 0.1
        assert records[after]["intended_at_s"] == pytest.approx(due_s, abs=2e-6)
        assert records[after]["released_at_s"] == records[after]["intended_at_s"]
        assert records[after]["sent_at_s"] >= due_s - 2e-6


def test_thinking_holds_no_slot(out: Path) -> None:
    tasks = [conversation(think_time_s=1.0)[:2], *single(3)]
    job = {"mode": "open", "offsets_s": [0.0, 0.3, 0.3, 0.3], "limit": 1}
    records, server, _ = go(out, answer, tasks, **job)
    assert server.max_running == 1
    assert records["a"]["finished_at_s"] < records["r0"]["intended_at_s"]
    for name in ("r0", "r1", "r2"):
        assert records[name]["finished_at_s"] < records["b"]["intended_at_s"]
    assert records["b"]["status"] == "ok"


def test_a_failed_step_breaks_its_task_only(out: Path) -> None:
    async def script(call: Call) -> None:
        if call.body["prompt"].endswith("second"):
            await call.reply(500, {"error": {"message": "boom"}})
        else:
            await answer(call)

    tasks = [[*conversation(), Request("d", USER, 2, 1, task_id="t")], *single(1)]
    records, server, told = go(out, script, tasks, begins_s=[0.0])
    kinds = {name: record["error_kind"] for name, record in records.items()}
    assert kinds == {"a": None, "b": "http_status", "c": "task_broken", "d": "task_broken",
                     "r0": None}  # fmt: skip
    assert [records[name]["step"] for name in "abcd"] == [0, 1, 2, 3]
    assert records["c"]["sent_at_s"] is None
    assert records["c"]["task_id"] == "t"
    assert records["c"]["error_message"].startswith("not sent")
    assert len(server.calls) == 3
    assert (told["num_done"], told["num_error"]) == (5, 3)


def test_an_open_load_waits_for_its_turn_and_keeps_its_intended_time(out: Path) -> None:
    tasks = single(3, max_tokens=20)
    job = {"mode": "open", "offsets_s": [0.0, 0.001, 0.002], "limit": 1}
    records, server, told = go(out, answer, tasks, **job)
    assert server.max_running == 1
    first, *later = (records[f"r{index}"] for index in range(3))
    assert first["released_at_s"] == first["intended_at_s"]
    for index, record in enumerate(later, start=1):
        intended_s = told["started_at_s"] + index / 1000
        assert record["intended_at_s"] == pytest.approx(intended_s, abs=2e-6)
        assert record["released_at_s"] >= records[f"r{index - 1}"]["finished_at_s"]
        assert record["released_at_s"] > record["intended_at_s"] + 0.02
        assert record["sent_at_s"] >= record["released_at_s"]


def test_an_open_load_without_a_limit_waits_for_nobody(out: Path) -> None:
    gate = asyncio.Event()  # of the server's loop, which sets and awaits it
    seen: list[Call] = []

    async def script(call: Call) -> None:
        seen.append(call)
        if len(seen) == 3:
            gate.set()
        await gate.wait()
        await answer(call)

    job = {"mode": "open", "offsets_s": [0.0, 0.001, 0.002]}
    records, server, _ = go(out, script, single(3), **job)
    assert server.max_running == 3
    assert all(r["released_at_s"] == r["intended_at_s"] for r in records.values())


def test_a_static_batch_goes_at_once_and_the_next_when_all_have_ended(out: Path) -> None:
    tasks = [[Request(f"r{index}", USER, 2 + 8 * (index % 3), 1)] for index in range(6)]
    records, server, _ = go(out, answer, tasks, mode="static_batch", batch_size=3)
    assert server.max_running == 3
    first, second = ([records[f"r{i}"] for i in batch] for batch in ((0, 1, 2), (3, 4, 5)))
    for batch in (first, second):
        assert len({record["intended_at_s"] for record in batch}) == 1
        assert all(record["sent_at_s"] >= record["intended_at_s"] - 2e-6 for record in batch)
    assert second[0]["intended_at_s"] > max(record["finished_at_s"] for record in first)


def test_a_closed_load_sends_everything_and_tells_what_it_did(out: Path) -> None:
    records, server, told = go(out, answer, single(5), begins_s=[0.0, 0.001])
    assert server.max_running == 2
    assert {record["status"] for record in records.values()} == {"ok"}
    assert all(record["task_id"] is record["step"] is None for record in records.values())
    assert told["num_done"] == 5
    assert told["started_at_s"] <= min(record["sent_at_s"] for record in records.values())
    assert told["ended_at_s"] >= max(record["finished_at_s"] for record in records.values())
    assert 0 < told["cpu_s"] < 5
    assert told["stall_s"]["n"] >= 1


def test_an_answer_over_many_events_is_one_text(out: Path) -> None:
    async def script(call: Call) -> None:
        words = [text(f" w{index}") for index in range(70)]
        await call.stream(event({"choices": []}), *words, text("", "length"), usage(1, 70), DONE)

    records, server, _ = go(out, script, [conversation()[:2]], begins_s=[0.0])
    assert len(records["a"]["chunk_at_s"]) == 70
    said = "".join(f" w{index}" for index in range(70))
    assert server.calls[1].body["prompt"] == f"be short first {said} second"


def test_no_more_is_sent_than_can_be_parsed(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most, slots, total = 4, 2, 20
    num_waiting = 0

    class Watched(backlog.Backlog):
        async def wait_for_room(self) -> None:
            nonlocal num_waiting
            num_waiting += 1
            await super().wait_for_room()
            num_waiting -= 1

    monkeypatch.setattr(sender, "Backlog", lambda: Watched(most * 1000))
    monkeypatch.setattr(backlog, "count_bytes", lambda exchange: 1000)
    parsed = 0
    held: list[int] = []

    async def slow(exchange: Exchange, redact: Callable[[str], str]) -> tuple[dict[str, Any], str]:
        nonlocal parsed
        while not num_waiting and len(server.calls) < total:  # nothing is parsed meanwhile
            await asyncio.sleep(0)
        held.append(len(server.calls) - parsed)
        parsed += 1
        return await describe(exchange, redact)

    describe = sender.describe
    monkeypatch.setattr(sender, "describe", slow)
    with serve(answer) as server:
        told = asyncio.run(play(server.url, out, single(total), begins_s=[0.0, 0.001]))
    assert (told["num_done"], told["num_error"]) == (total, 0)
    # one in the parser, those that are held, one more that closes the gate, and those on their way
    assert max(held) <= 1 + most + 1 + slots
    records = sorted(read_jsonl(out), key=lambda record: record["sent_at_s"])
    ends = [record["finished_at_s"] for record in records]
    for record in records[slots:]:
        assert record["released_at_s"] == record["intended_at_s"]
        assert record["intended_at_s"] in ends  # not after the wait for room


@pytest.mark.parametrize("limit", [None, 2])
def test_an_open_load_sends_nothing_while_there_is_no_room_and_tells_the_lag(
    limit: int | None, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    due_s, room_s = 0.6, 0.7  # after the start; the first two have long ended by then
    num_sent: list[int] = []

    async def slow(exchange: Exchange, redact: Callable[[str], str]) -> tuple[dict[str, Any], str]:
        if not num_sent:  # the first is being parsed and the second is held, which is one too many
            await sleep_until(exchange.intended_at_s + room_s)
            num_sent.append(len(server.calls))
        return await describe(exchange, redact)

    describe = sender.describe
    monkeypatch.setattr(sender, "describe", slow)
    monkeypatch.setattr(sender, "Backlog", lambda: backlog.Backlog(0))
    offsets = [0.0, 0.001, due_s, due_s + 0.001]
    with serve(answer) as server:
        job = {"mode": "open", "offsets_s": offsets, "limit": limit}
        told = asyncio.run(play(server.url, out, single(4), **job))
    assert num_sent == [2]
    assert (told["num_done"], told["num_error"]) == (4, 0)
    records = {record["request_id"]: record for record in read_jsonl(out)}
    for index, offset_s in enumerate(offsets):
        record = records[f"r{index}"]
        intended_s = told["started_at_s"] + offset_s
        assert record["intended_at_s"] == pytest.approx(intended_s, abs=2e-6)
        assert record["released_at_s"] == record["intended_at_s"]
        lag_s = record["sent_at_s"] - record["released_at_s"]
        assert (lag_s > room_s - due_s - 0.002) == (index >= 2)


def test_an_answer_is_freed_when_it_is_recorded(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replies: list[weakref.ref[wire.Reply]] = []

    class Seen(wire.Reply):
        def __init__(self, exchange: Exchange) -> None:
            super().__init__(exchange)
            replies.append(weakref.ref(self))

    monkeypatch.setattr(wire, "Reply", Seen)
    gc.disable()  # nothing but the last reference may free it
    try:
        go(out, answer, single(8), begins_s=[0.0])
        assert [reply() is None for reply in replies] == [True] * 8
    finally:
        gc.enable()


def test_stalls_are_described_by_nearest_rank() -> None:
    assert describe_stalls([]) == {"max": None, "p99": None, "n": 0}
    late = [index / 1000 for index in range(200)]
    assert describe_stalls(late[::-1]) == {"max": 0.199, "p99": 0.197, "n": 200}
