"""Requests of the reader's own, one a line of JSON, exactly as the file has them.

The salt is in front of all of them alike, so that prefixes which they share stay shared. This
module must not know how a request is sent.
"""

from collections.abc import Mapping
from typing import Any

from labkit.errors import ParamsError
from labkit.params import JsonlParams
from labkit.params.length import MAX_TOKENS
from labkit.workload.draw import draw_length, draw_words, seed_rng
from labkit.workload.request import Request, Traffic
from labkit.workload.source import (
    MAX_DEPTH,
    Source,
    is_sendable,
    is_shallow,
    read_objects,
    read_source,
    refuse,
    shorten,
)
from labkit.workload.vocabulary import CountTokens, Vocabulary

ROLES = ("system", "developer", "user", "assistant")
Messages = tuple[tuple[str, str], ...]


def read_requests(
    workload: JsonlParams,
    *,
    seed: int,
    salt: str,
    vocabulary: Vocabulary,
    count: CountTokens | None,
) -> Traffic:
    """Return a request a line, in the order of the file; raises ParamsError for a bad line."""
    source = read_source(workload.path)
    first = " ".join(draw_words(6, seed_rng(seed), vocabulary, salt)) if salt else ""
    requests: list[Request] = []
    for number, line in read_objects(source):
        index = len(requests)
        if index == workload.num_requests:
            break
        (role, content), *later = _read_messages(line, source, number)
        response_format = _read_format(line, source, number)
        if not is_sendable([content, later, response_format]):
            told = "expected Unicode text and plain numbers, found NaN or half a surrogate pair"
            raise refuse(source, number, told)
        if response_format and workload.endpoint != "chat":
            raise refuse(source, number, "response_format needs workload.endpoint chat")
        messages: Messages = ((role, f"{first}\n\n{content}" if first else content), *later)
        max_tokens = _read_length(line, source, number)
        if max_tokens is None:
            if workload.completion_tokens is None:
                told = "expected max_tokens here, or workload.completion_tokens for all lines"
                raise refuse(source, number, told)
            max_tokens = draw_length(workload.completion_tokens, seed_rng(seed, index))
        requests.append(
            Request(
                request_id=f"r{index:05d}",
                messages=messages,
                max_tokens=max_tokens,
                prompt_tokens=count(" ".join(text for _, text in messages)) if count else None,
                response_format=response_format,
            )
        )
    if workload.num_requests is not None and len(requests) < workload.num_requests:
        raise ParamsError(
            f"expected {workload.num_requests} requests in {workload.path}, found {len(requests)}"
        )
    return Traffic(requests, {}, source.sha256, "engine" if count else "file")


def _read_messages(line: Mapping[str, Any], source: Source, number: int) -> Messages:
    if ("prompt" in line) == ("messages" in line):
        raise refuse(source, number, "expected either prompt or messages")
    if "prompt" in line:
        if not isinstance(line["prompt"], str) or not line["prompt"].strip():
            told = f"expected prompt to be a text, found {shorten(line['prompt'])}"
            raise refuse(source, number, told)
        return (("user", line["prompt"]),)
    found = line["messages"]
    if not isinstance(found, list) or not found:
        raise refuse(source, number, f"expected a list of messages, found {shorten(found)}")
    messages = []
    for message in found:
        role, content = (
            (message.get("role"), message.get("content"))
            if isinstance(message, dict)
            else (None, None)
        )
        if role not in ROLES or not isinstance(content, str):
            told = f"expected a role of {', '.join(ROLES)} and a text as content, found "
            raise refuse(source, number, told + shorten(message))
        messages.append((role, content))
    if messages[-1][0] != "user":
        told = f"expected the last message to be the user's, found the {messages[-1][0]}'s"
        raise refuse(source, number, told)
    return tuple(messages)


def _read_length(line: Mapping[str, Any], source: Source, number: int) -> int | None:
    told = [line.get(name) for name in ("max_tokens", "completion_tokens")]
    lengths = [length for length in told if length is not None]
    if not lengths:
        return None
    length = lengths[0]
    if type(length) is not int or not 1 <= length <= MAX_TOKENS or lengths[-1] != length:
        found = " and ".join(shorten(one) for one in lengths)
        wanted = f"expected max_tokens to be a count up to {MAX_TOKENS:,}"
        raise refuse(source, number, f"{wanted}, found {found}")
    return length


def _read_format(line: Mapping[str, Any], source: Source, number: int) -> dict[str, Any] | None:
    found = line.get("response_format")
    if found is None:
        return None
    if isinstance(found, dict) and isinstance(found.get("type"), str):
        if is_shallow(found):
            return found
        told = f"expected response_format to be nested at most {MAX_DEPTH} deep, found deeper"
        raise refuse(source, number, told)
    told = f"expected response_format to be an object with a type, found {shorten(found)}"
    raise refuse(source, number, told)
