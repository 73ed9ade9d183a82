"""Whether a step works, from what came back: a verdict, what was found, its meaning, what to do.

Pure: one answer in, a judgement out. It must not know how anything is sent, nor which step is
next.
"""

from dataclasses import replace

from labkit.client.answer import Answer, read_body, read_count
from labkit.client.refusal import advise
from labkit.client.reply import (
    Fault,
    NoRoute,
    Refused,
    Reply,
    check_status,
    fail,
    quote,
    read_reply,
)
from labkit.client.sse import read_events
from labkit.ladder.checks import CHECKS
from labkit.ladder.meaning import UNTAKEN, find_meaning
from labkit.ladder.steps import Step
from labkit.ladder.verdict import Asked, Heard, Judged, works

INSTEAD = {
    "temperature": "set workload.temperature to a value that it takes, often 1",
    "usage": "a load always asks for usage, so take a version or a gateway that tells it",
}
"""What to do about a field that a load always sends."""
CUT = {
    "over_context": (
        "it does not refuse, it ends the answer where the context is full",
        "keep prompt and completion within engine.max_model_len: else answers are shorter than "
        "asked, and no error tells",
    ),
    "over_prompt": (
        "it does not refuse, it cuts the prompt",
        "keep prompts within engine.max_model_len: else a part of them is left out, and no error "
        "tells",
    ),
}
"""What it means, and what to do, where a request that is too long is answered nevertheless."""
GRAVE = (401, 402, 403, 429)
"""Not about what was asked for, so never a sign that something optional is missing."""


def judge(step: Step, reply: Reply, asked: Asked) -> tuple[Judged, Heard | None]:
    """Return the verdict on a request for text, and what was heard if it is an answer."""
    heard = None
    try:
        heard = hear(reply, asked)
        check = CHECKS.get(step.name)
        judged = check(heard, asked) if check else works(heard)
    except (NoRoute, Refused, Fault) as fault:
        judged = explain(fault, asked)
    if step.name in CUT:
        judged = _expect_refusal(judged, reply, step.name)
    if judged.meaning == UNTAKEN and step.name in INSTEAD:
        judged = replace(judged, advice=INSTEAD[step.name])
    if judged.verdict == "fails" and step.optional and not _is_grave(reply):
        judged = replace(judged, verdict="not offered")
    return judged, heard


def explain(fault: Exception, asked: Asked) -> Judged:
    """Return what a fault means: no route, a key that is refused, or another one in one line."""
    if isinstance(fault, Refused):
        found = str(fault).partition(", found ")[2]
        meaning = "the key is not accepted" if asked.key_place else "it wants a key, none was sent"
        return Judged("fails", found, meaning, advise(fault.said, fault.scheme, asked.key_place))
    if isinstance(fault, NoRoute):
        other = "chat" if asked.endpoint == "completions" else "completions"
        return Judged(
            "fails",
            str(fault),
            f"it does not offer {asked.endpoint} there",
            f"set workload.endpoint to {other} if it offers that, else check the path of the URL",
        )
    found, todo = (fault.found, fault.todo) if isinstance(fault, Fault) else (str(fault), "")
    if found.startswith("keys "):
        return Judged(
            "fails",
            f"an answer without choices, with {found}",
            "it answers in another form than OpenAI's, or tells an error in its own way",
            "check that the base URL is that of an OpenAI-compatible API, and engine.model a name "
            "that it serves",
        )
    told = find_meaning(found)
    if "that it serves" in todo and (told is None or "context" not in told.meaning):
        return Judged("fails", found, "the model id is not a name that it serves", todo)
    inside = "an error inside a success, so its status can't be trusted" * ("HTTP 200" in found)
    if told is not None:
        return Judged("fails", found, f"{told.meaning}{inside and f'; {inside}'}", told.advice)
    return Judged("fails", found, inside, todo)


def hear(reply: Reply, asked: Asked) -> Heard:
    """Return what an answer said, streamed or not; raises NoRoute, Refused or Fault.

    A stream without text is an answer, too: one token may be none that is shown.
    """
    check_status(reply, asked.base_url, asked.model, list(asked.served))
    if not asked.body.get("stream"):
        found = read_reply(reply, asked.base_url, asked.model, asked.endpoint)
        return Heard(found.text, found.finish_reason, found.prompt_tokens, found.completion_tokens)
    answer = Answer()
    body = reply.text.encode("utf-8", errors="replace")
    for event in read_events([(0.0, body)]):
        answer.take(event)
    kind, message = answer.find_fault() or ("empty", "")
    if kind == "bad_body":
        kind, message = read_body(body, str)
        if isinstance(reply.body, dict) and reply.body.get("choices"):
            fail("a stream of events", "one whole answer", "it does not stream, which TTFT needs")
    if kind != "empty":
        fail("a whole stream", message, "see its log")
    return Heard(
        answer.text,
        answer.finish_reason,
        read_count(answer.usage, "prompt_tokens"),
        read_count(answer.usage, "completion_tokens"),
    )


def _expect_refusal(judged: Judged, reply: Reply, name: str) -> Judged:
    """Return the verdict on a request that is too long: refusing and cutting are both known."""
    if judged.verdict == "works":
        meaning, advice = CUT[name]
        return replace(judged, meaning=meaning, advice=advice)
    if 400 <= reply.status < 500 and reply.status not in GRAVE:
        return Judged("works", f"refused, as it should be: HTTP {reply.status} ({quote(reply)})")
    return judged


def _is_grave(reply: Reply) -> bool:
    told = find_meaning(quote(reply)) if not 200 <= reply.status < 300 else None
    return reply.status in GRAVE or (told is not None and told.grave)
