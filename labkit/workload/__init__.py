"""What is asked of an engine: lists of requests, made from params, a seed and at most one file.

It must not know how a request is sent, which engine answers it, or what was measured.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict

from labkit.params import (
    AgentParams,
    JsonlParams,
    MultiTurnParams,
    SharedPrefixParams,
    ShareGptParams,
    TraceParams,
    WorkloadParams,
)
from labkit.workload.lines import read_requests
from labkit.workload.prefix import share_prefix
from labkit.workload.replay import choose_records, replay
from labkit.workload.request import Request, Traffic
from labkit.workload.sharegpt import check_conversations, draw_conversations
from labkit.workload.source import read_source
from labkit.workload.synthetic import synthesize
from labkit.workload.tasks import converse
from labkit.workload.vocabulary import CountTokens, choose_vocabulary
from labkit.workload.warmup import imitate

__all__ = [
    "CountTokens",
    "Request",
    "Traffic",
    "check_workload",
    "fingerprint",
    "generate",
    "imitate",
]


def generate(
    workload: WorkloadParams, *, seed: int, salt: str, count: CountTokens | None = None
) -> Traffic:
    """Return the requests of a workload; the same arguments give the same list anywhere.

    `salt` decides first words of prompts and nothing else, so points that differ in salt alone ask
    for the same lengths and the same bodies; an empty salt changes no word. `count` makes lengths
    exact in the vocabulary of the model that counts. Raises ParamsError for a file that is not
    there, is damaged, or has too few usable records.
    """
    words = choose_vocabulary(count)
    if isinstance(workload, ShareGptParams):
        return draw_conversations(workload, seed=seed, salt=salt, vocabulary=words, count=count)
    if isinstance(workload, JsonlParams):
        return read_requests(workload, seed=seed, salt=salt, vocabulary=words, count=count)
    if isinstance(workload, TraceParams):
        return replay(workload, seed=seed, salt=salt, vocabulary=words)
    if isinstance(workload, SharedPrefixParams):
        requests = share_prefix(workload, seed=seed, salt=salt, vocabulary=words)
    elif isinstance(workload, MultiTurnParams | AgentParams):
        requests = converse(workload, seed=seed, salt=salt, vocabulary=words)
    else:
        requests = synthesize(workload, seed=seed, salt=salt, vocabulary=words)
    return Traffic(requests, {}, None, "engine" if words.counted else "words")


def check_workload(workload: WorkloadParams) -> None:
    """Raise ParamsError for what can be known before an engine is launched.

    A file must be there and have enough usable records, as far as no tokens need be counted.
    """
    if isinstance(workload, ShareGptParams):
        check_conversations(workload)
    elif isinstance(workload, JsonlParams):
        generate(workload, seed=workload.seed, salt="")
    elif isinstance(workload, TraceParams):
        choose_records(workload, read_source(workload.path))


def fingerprint(requests: Sequence[Request]) -> str:
    """Return the sha256, as hex, of every field of exactly these requests in this order."""
    digest = hashlib.sha256()
    for request in requests:
        digest.update(json.dumps(asdict(request)).encode() + b"\n")
    return digest.hexdigest()
