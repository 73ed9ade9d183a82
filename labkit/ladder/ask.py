"""The steps up to a request for text put to an engine: what is sent, and the verdict on what came.

It must not know the order of the steps, nor where their records go.
"""

from collections.abc import Callable, Mapping, Sequence

from labkit.address import list_forms
from labkit.client.probe import ROUTES, get, post
from labkit.client.reply import Fault, Refused, check_status
from labkit.ladder.ground import Ground, Outcome
from labkit.ladder.judge import explain, judge
from labkit.ladder.reach import find_form, is_listing, reach, speak, tell
from labkit.ladder.steps import Step, build
from labkit.ladder.verdict import Judged

ROOM_NAMES = ("max_model_len", "context_length", "context_window")
"""What servers and gateways call the length of their context in the list of models."""


def ask_address(ground: Ground) -> Outcome:
    """Look up the name and connect to the port."""
    return Outcome(reach(ground.url))


def ask_http(ground: Ground) -> Outcome:
    """Get one page."""
    sent = {"method": "GET", "url": f"{list_forms(ground.url)[0]}/models", "body": None}
    try:
        judged, reply = speak(ground.url, ground.key, ground.timeout_s, ground.redact)
    except Fault as fault:
        meaning = "the port is open, but no HTTP answer comes from it"
        return Outcome(Judged("fails", fault.found, meaning, fault.todo), sent)
    return Outcome(judged, sent, reply)


def ask_base_url(ground: Ground) -> Outcome:
    """Find the form of the base URL that leads to an API."""
    judged, form = find_form(ground.url, ground.key, ground.timeout_s, ground.redact)
    if form:
        ground.base_url = form
    shown = form or list_forms(ground.url)[0]
    return Outcome(judged, {"method": "GET", "url": f"{shown}/models", "body": None})


def ask_models(ground: Ground) -> Outcome:
    """Get the list of models and choose the one that is meant."""
    sent = {"method": "GET", "url": f"{ground.base_url}/models", "body": None}
    try:
        reply = get(ground.open_prober(), ground.base_url, "/models", ground.redact)
    except Fault as fault:
        return Outcome(Judged("fails", fault.found, "", fault.todo), sent)
    rows = reply.body["data"] if is_listing(reply) else []
    listed = {str(row["id"]): row for row in rows if isinstance(row, dict) and "id" in row}
    ground.served = tuple(listed)
    judged, model = choose_model(ground.model, ground.served, tell(reply))
    if model is not None:
        ground.facts.model = model
        told = [listed.get(model, {}).get(name) for name in ROOM_NAMES]
        ground.facts.room_tokens = next((one for one in told if type(one) is int and one > 0), None)
    return Outcome(judged, sent, reply)


def choose_model(asked: str | None, served: Sequence[str], told: str) -> tuple[Judged, str | None]:
    """Return the verdict on the model that is asked for among the served ones, and its name."""
    names = ", ".join(served[:10]) + (", ..." if len(served) > 10 else "")
    if not served and asked is None:
        meaning = "without a list of models the name must be given"
        return Judged("fails", f"no list of models: {told}", meaning, "set engine.model"), None
    if not served:
        meaning = "whether the name is right is told by the first request only"
        return Judged("not offered", f"no list of models: {told}", meaning), asked
    if asked is None and len(served) > 1:
        return Judged("fails", f"it serves {names}", "several models are served, none is named",
                      "set engine.model to one of them"), None  # fmt: skip
    if asked is not None and asked not in served:
        return Judged("fails", f"it serves {names}, not {asked!r}",
                      "the model id is not a name that it serves",
                      "set engine.model to a name that it serves"), None  # fmt: skip
    model = asked or served[0]
    return Judged("works", f"{model!r} is served"), model


def ask_key(ground: Ground) -> Outcome:
    """Send an empty request: who refuses it for what it lacks has let the key pass."""
    if ground.key_fault:
        found, _, todo = ground.key_fault.partition(", found ")[2].partition("; ")
        return Outcome(Judged("fails", found, "there is no key that could be sent", todo))
    endpoint = ground.facts.endpoint
    sent = {"method": "POST", "url": f"{ground.base_url}/{ROUTES[endpoint]}", "body": {}}
    asked = ground.hold_against(endpoint, {})
    try:
        reply = post(ground.open_prober(), ground.base_url, endpoint, {}, ground.redact)
    except Fault as fault:
        return Outcome(Judged("fails", fault.found, "", fault.todo), sent)
    if reply.status in (401, 403):
        try:
            check_status(reply, ground.base_url, "", [])
        except Refused as refused:
            return Outcome(explain(refused, asked), sent, reply)
    told = "the key is accepted" if ground.key_place else "no key is asked for"
    return Outcome(Judged("works", f"{told}: {tell(reply)} to an empty request"), sent, reply)


def ask_text(ground: Ground, step: Step, endpoint: str) -> Outcome:
    """Send the last request that worked with what the step adds."""
    assert step.adds is not None, "a step that asks for text adds something"
    added = step.adds(ground.facts)
    if isinstance(added, str):
        return Outcome(Judged("not tried", added))
    body = build(ground.facts, added, endpoint)
    sent = {"method": "POST", "url": f"{ground.base_url}/{ROUTES[endpoint]}", "body": body}
    asked = ground.hold_against(endpoint, body)
    try:
        reply = post(ground.open_prober(), ground.base_url, endpoint, body, ground.redact)
    except Fault as fault:
        return Outcome(explain(fault, asked), sent)
    judged, heard = judge(step, reply, asked)
    return Outcome(judged, sent, reply, heard=heard, added=added)


PAGES: Mapping[str, Callable[[Ground], Outcome]] = {
    "address": ask_address,
    "http": ask_http,
    "base_url": ask_base_url,
    "key": ask_key,
    "models": ask_models,
}
"""The steps below the first request."""
