"""What is asked of an engine: lists of requests, made from params and a seed alone.

It must not know how a request is sent, which engine answers it, or what was measured.
"""

import hashlib
import json
from collections.abc import Sequence

from labkit.params import WorkloadParams
from labkit.workload.request import Request
from labkit.workload.synthetic import synthesize

__all__ = ["Request", "fingerprint", "generate"]


def generate(workload: WorkloadParams, *, seed: int, salt: str) -> list[Request]:
    """Return the requests of a workload; the same arguments give the same list anywhere.

    `salt` decides the first words of each prompt and nothing else, so points that differ in salt
    alone ask for the same lengths and the same bodies; an empty salt changes no word.
    """
    return synthesize(workload, seed=seed, salt=salt)


def fingerprint(requests: Sequence[Request]) -> str:
    """Return the sha256, as hex, of exactly these requests in this order."""
    digest = hashlib.sha256()
    for request in requests:
        row = [request.request_id, request.prompt, request.prompt_tokens, request.max_tokens]
        digest.update(json.dumps(row).encode() + b"\n")
    return digest.hexdigest()
