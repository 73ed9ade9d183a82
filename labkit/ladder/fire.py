"""The last steps: the workload's own requests, sent as a load sends them, by its own processes.

It must not know the order of the steps, nor how a latency is derived.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from labkit.client.answer import read_error
from labkit.client.load import Order
from labkit.client.probe import ROUTES
from labkit.client.stream import Target, build_body
from labkit.errors import LabkitError
from labkit.ladder.ground import Ground, Outcome
from labkit.ladder.meaning import find_meaning
from labkit.ladder.steps import FEW, Step
from labkit.ladder.verdict import Judged
from labkit.params import LoadParams
from labkit.records import read_requests
from labkit.workload import Request, generate


def ask_load(ground: Ground, step: Step) -> Outcome:
    """Send the first requests of the workload as a load does, by its own processes."""
    if ground.engine is None:
        found, _, todo = ground.engine_fault.partition("; ")
        meaning = "a load would not begin: it looks for the endpoint by its list of models"
        return Outcome(Judged("fails", found, meaning, todo))
    params, engine = ground.params, ground.engine
    salt = "ladder" if params.workload.salt else ""
    try:
        traffic = generate(
            params.workload, seed=params.workload.seed, salt=salt, count=engine.count_tokens
        )
    except LabkitError as error:
        return Outcome(Judged("fails", str(error), "the workload can't be made"))
    wanted = 1 if step.name == "own_request" else min(FEW, params.load.max_concurrency or FEW)
    firsts = [one for one in traffic.requests if not one.carry]
    others = firsts[1 : wanted + 1]  # the first one is in a prefix cache by then
    requests = others if len(others) == wanted > 1 else firsts[:wanted]
    if step.name == "few" and len(requests) < 2:
        return Outcome(Judged("not tried", "the load never has two requests in flight"))
    target = Target(
        base_url=engine.base_url,
        model=engine.model,
        endpoint=params.workload.endpoint,
        temperature=params.workload.temperature,
        extra_body=engine.request_options(),
        timeout_s=ground.timeout_s,
    )
    first = requests[0]
    body = build_body(target, first, first.messages)
    url = f"{engine.base_url}/{ROUTES[target.endpoint]}"
    sent: dict[str, Any] = {"method": "POST", "url": url, "body": body}
    if len(requests) > 1:
        sent["num_requests"] = len(requests)
    out = ground.folder / f"{step.name}.jsonl"
    _fire(ground, requests, target, out)
    records = sorted(read_requests(out), key=lambda one: str(one["status"]))  # error before ok
    return Outcome(judge_records(records), sent, http_status=records[0]["http_status"])


def _fire(ground: Ground, requests: list[Request], target: Target, out: Path) -> None:
    engine = ground.engine
    assert engine is not None, "there is an engine to send to"
    load = LoadParams(
        max_concurrency=len(requests), num_warmup_requests=0, request_timeout_s=ground.timeout_s
    )
    order = Order(
        requests=requests,
        warmup=(),
        target=target,
        load=load,
        seed=ground.params.workload.seed,
        api_key_env=ground.params.engine.key_source,
        out=out,
    )
    ground.open_client().fire(order, on_progress=lambda progress: None, check=engine.check)


def _say(message: str) -> str:
    """Return the text of an error object where a message is one."""
    try:
        document = json.loads(message)
    except (ValueError, RecursionError):
        return message
    return read_error(document.get("error") or document) if isinstance(document, dict) else message


def judge_records(records: Sequence[Mapping[str, Any]]) -> Judged:
    """Return the verdict on requests that went the way of a load, from their records."""
    bad = [one for one in records if one["status"] != "ok"]
    if not bad:
        tokens = sum(one["completion_tokens"] or 0 for one in records)
        first = min(one["first_token_at_s"] - one["sent_at_s"] for one in records)
        many = f"{len(records)} answers" if len(records) > 1 else "an answer"
        best = " at best" if len(records) > 1 else ""
        return Judged(
            "works", f"{many}, {tokens} completion tokens, TTFT {first * 1000:.0f} ms{best}"
        )
    one = bad[0]
    found = f"{one['error_kind']}: {_say(str(one['error_message']))}"
    if one["error_kind"] == "http_status":
        found = f"HTTP {one['http_status']} ({_say(str(one['error_message']))})"
    if len(records) > 1:
        found = f"{len(bad)} of {len(records)} requests failed, first with {found}"
    told = find_meaning(str(one["error_message"]))
    if told:
        return Judged("fails", found, told.meaning, told.advice)
    if one["http_status"] == 429:
        meaning = "it limits how many requests it takes"
        return Judged("fails", found, meaning, "lower load.max_concurrency or request_rate_per_s")
    return Judged("fails", found, "", "see its log; a step above that works shows what differs")
