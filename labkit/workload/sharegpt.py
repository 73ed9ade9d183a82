"""The first turns of recorded conversations, as ShareGPT files in the wild hold them.

A record that can't be used is skipped and counted by its reason, never sent. This module must not
know how a request is sent.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from labkit.errors import ParamsError
from labkit.params import ShareGptParams
from labkit.workload.draw import draw_length, draw_words, extend_salt, seed_rng, shuffle
from labkit.workload.request import Request, Traffic
from labkit.workload.source import (
    Source,
    is_sendable,
    list_lines,
    parse_json,
    read_source,
)
from labkit.workload.vocabulary import CountTokens, Vocabulary

ROLES = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "system": "system",
}
Messages = tuple[tuple[str, str], ...]


class Unusable(Exception):
    """Why a record can't be used."""


def draw_conversations(
    workload: ShareGptParams,
    *,
    seed: int,
    salt: str,
    vocabulary: Vocabulary,
    count: CountTokens | None,
) -> Traffic:
    """Return the first `num_requests` usable records in a seeded order.

    `skipped` counts the records that were met on the way. Raises ParamsError if too few can be
    used, or if lengths are asked for that nobody can count.
    """
    if count is None:
        _check_uncounted(workload)
    source = read_source(workload.path)
    records = _read_records(source)
    requests: list[Request] = []
    skipped: Counter[str] = Counter()
    for place in shuffle(len(records), seed_rng(seed, "order")):
        index = len(requests)
        if index == workload.num_requests:
            break
        first = draw_words(6, seed_rng(seed), vocabulary, extend_salt(salt, index)) if salt else []
        try:
            request = _make_request(records[place], " ".join(first), index, workload, seed, count)
        except Unusable as reason:
            skipped[str(reason)] += 1
        else:
            requests.append(request)
    _check_number(len(requests), skipped, workload)
    return Traffic(requests, dict(skipped), source.sha256, "engine" if count else "file")


def check_conversations(workload: ShareGptParams) -> None:
    """Raise ParamsError if the file has too few usable records, whatever their lengths are."""
    skipped: Counter[str] = Counter()
    usable = _list_usable(_read_records(read_source(workload.path)), workload, skipped)
    found = sum(1 for _ in islice(usable, workload.num_requests))
    _check_number(found, skipped, workload)


def _list_usable(
    records: Sequence[Any], workload: ShareGptParams, skipped: Counter[str]
) -> Iterator[Any]:
    for record in records:
        try:
            _, answer = _open_conversation(record)
            if answer is None and workload.completion_tokens is None:
                raise Unusable("no answer")
        except Unusable as reason:
            skipped[str(reason)] += 1
        else:
            yield record


def _check_number(found: int, skipped: Counter[str], workload: ShareGptParams) -> None:
    if found < workload.num_requests:
        reasons = ", ".join(f"{number} {reason}" for reason, number in skipped.most_common())
        raise ParamsError(
            f"expected {workload.num_requests} usable conversations in {workload.path}, "
            f"found {found}; skipped: {reasons or 'none'}"
        )


def _check_uncounted(workload: ShareGptParams) -> None:
    if workload.completion_tokens is None:
        raise ParamsError(
            "workload.completion_tokens is required: this engine does not count tokens, so the "
            "recorded answers have no length"
        )
    for name, limit in (
        ("max_prompt_tokens", workload.max_prompt_tokens),
        ("max_completion_tokens", workload.max_completion_tokens),
    ):
        if limit is not None:
            raise ParamsError(f"workload.{name}: this engine does not count tokens; leave it out")


def _make_request(
    record: Any,
    first: str,
    index: int,
    workload: ShareGptParams,
    seed: int,
    count: CountTokens | None,
) -> Request:
    prompt, answer = _open_conversation(record)
    if first:
        role, content = prompt[0]
        prompt = ((role, f"{first}\n\n{content}"), *prompt[1:])
    if workload.completion_tokens is not None:
        max_tokens = draw_length(workload.completion_tokens, seed_rng(seed, index))
    elif answer is None:
        raise Unusable("no answer")
    else:
        assert count is not None
        max_tokens = count(answer)
    if max_tokens == 0:
        raise Unusable("no answer")
    if workload.max_completion_tokens and max_tokens > workload.max_completion_tokens:
        raise Unusable("answer longer than max_completion_tokens")
    prompt_tokens = count(" ".join(content for _, content in prompt)) if count else None
    if workload.max_prompt_tokens and prompt_tokens and prompt_tokens > workload.max_prompt_tokens:
        raise Unusable("prompt longer than max_prompt_tokens")
    return Request(f"r{index:05d}", prompt, max_tokens, prompt_tokens)


def _open_conversation(record: Any) -> tuple[Messages, str | None]:
    """Return the system prompt, if any, with the first user turn, and the answer to it."""
    turns = record.get("conversations") or record.get("messages") if isinstance(record, dict) else 0
    if not isinstance(turns, list) or not turns:
        raise Unusable("no conversation")
    first, *later = turns
    role, content = _read_turn(first)
    system: Messages = ()
    if role == "system" and later:
        system = (("system", content),) if content.strip() else ()
        (role, content), later = _read_turn(later[0]), later[1:]
    if role != "user":
        raise Unusable("does not begin with the user")
    if not content.strip():
        raise Unusable("empty prompt")
    if not is_sendable([*system, content]):
        raise Unusable("prompt is no Unicode text")
    answer = None
    if later:
        answer_role, answer_text = _read_turn(later[0])
        if answer_role == "assistant" and answer_text.strip() and is_sendable(answer_text):
            answer = answer_text
    return (*system, ("user", content)), answer


def _read_turn(turn: Any) -> tuple[str, str]:
    if not isinstance(turn, dict):
        raise Unusable("broken turn")
    role = turn.get("from", turn.get("role"))
    content = turn.get("value", turn.get("content"))
    if not isinstance(role, str) or not isinstance(content, str):
        raise Unusable("broken turn")
    return ROLES.get(role.lower(), role), content


def _read_records(source: Source) -> Sequence[Any]:
    if source.text.lstrip().startswith("["):
        try:
            return list(parse_json(source.text))
        except ValueError as error:
            raise ParamsError(f"expected JSON in {source.path}, found: {error}") from None
    return [_read_line(line) for _, line in list_lines(source)]


def _read_line(line: str) -> Any:
    try:
        return parse_json(line)
    except ValueError:
        return None
