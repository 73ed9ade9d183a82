"""Requests of drawn words that have nothing to do with each other: synthetic, mixed, structured.

Request i does not depend on how many there are. Lengths and bodies come from the seed; the first
words come from the salt and the index, so that prompts of two salts, or two requests of one, part
within these words. This module must not know how a request is sent.
"""

from typing import Any

from labkit.params import MixedParams, StructuredParams, SyntheticParams
from labkit.workload.draw import draw_length, draw_words, extend_salt, seed_rng
from labkit.workload.request import Request
from labkit.workload.vocabulary import Vocabulary

SCHEMA_NAME = "answer"


def synthesize(
    workload: SyntheticParams | MixedParams | StructuredParams,
    *,
    seed: int,
    salt: str,
    vocabulary: Vocabulary,
) -> list[Request]:
    """Return `workload.num_requests` requests of one user message each."""
    requests = []
    for index in range(workload.num_requests):
        rng = seed_rng(seed, index)
        wanted = workload.prompt_tokens
        if isinstance(workload, MixedParams) and rng.random() < workload.long_share:
            wanted = workload.long_prompt_tokens
        prompt_tokens = draw_length(wanted, rng)
        max_tokens = draw_length(workload.completion_tokens, rng)
        words = draw_words(prompt_tokens, rng, vocabulary, extend_salt(salt, index))
        requests.append(
            Request(
                request_id=f"r{index:05d}",
                messages=(("user", " ".join(words)),),
                max_tokens=max_tokens,
                prompt_tokens=prompt_tokens,
                response_format=_name_format(workload),
            )
        )
    return requests


def _name_format(
    workload: SyntheticParams | MixedParams | StructuredParams,
) -> dict[str, Any] | None:
    if not isinstance(workload, StructuredParams) or not workload.constrained:
        return None
    schema = {"name": SCHEMA_NAME, "schema": workload.json_schema, "strict": True}
    return {"type": "json_schema", "json_schema": schema}
