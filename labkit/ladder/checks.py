"""What an answer must be like beyond being one: as long as asked, ended where asked, of the form.

Pure. It must not know refusals, nor how anything is sent.
"""

import json
from collections.abc import Callable, Mapping

from labkit.ladder.verdict import Asked, Heard, Judged, works


def _check_usage(heard: Heard, asked: Asked) -> Judged:
    if heard.completion_tokens is not None:
        return works(heard)
    return Judged(
        "not offered",
        "a stream without usage",
        "tokens are then counted by chunks, which may hold more than one",
    )


def _check_length(heard: Heard, asked: Asked) -> Judged:
    limit, came = int(asked.body["max_tokens"]), heard.completion_tokens
    if came is None or came <= limit:
        return works(heard)
    return Judged(
        "fails",
        f"{came} completion tokens where max_tokens was {limit}",
        "it does not keep to max_tokens, so lengths are not those of the workload",
        "see whether it wants max_completion_tokens",
    )


def _check_exact(heard: Heard, asked: Asked) -> Judged:
    limit, came = int(asked.body["max_tokens"]), heard.completion_tokens
    if came is None or came == limit:
        return works(heard)
    return Judged(
        "fails",
        f"{came} completion tokens where exactly {limit} were asked for",
        "completions may end before max_tokens, so a load's lengths are not all the same",
        "compare throughput by tokens, not by requests; finish_reason of each request is recorded",
    )


def _check_stop(heard: Heard, asked: Asked) -> Judged:
    stop = asked.body["stop"][0]
    if stop not in heard.text:
        return works(heard)
    return Judged("not offered", f"an answer that goes on after {stop!r}", "stop is not kept to")


def _check_json(heard: Heard, asked: Asked) -> Judged:
    try:
        document = json.loads(heard.text)
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, dict) and document.get("answer") in ("yes", "no"):
        return works(heard)
    return Judged(
        "fails",
        works(heard).found,
        "the schema is accepted but not kept to",
        "take an engine, a version or a backend that decodes by a grammar",
    )


CHECKS: Mapping[str, Callable[[Heard, Asked], Judged]] = {
    "usage": _check_usage,
    "max_tokens": _check_length,
    "exact_length": _check_exact,
    "stop": _check_stop,
    "json_schema": _check_json,
}
"""What an answer must be like beyond being one."""
