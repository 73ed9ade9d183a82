"""Requests for a warm-up: as long as those that are measured, with other words.

This module must not know how a request is sent.
"""

from collections.abc import Sequence

from labkit.workload.draw import draw_words, extend_salt, seed_rng
from labkit.workload.request import Request
from labkit.workload.vocabulary import CountTokens, choose_vocabulary


def imitate(
    requests: Sequence[Request],
    num_requests: int,
    *,
    seed: int,
    salt: str,
    count: CountTokens | None = None,
) -> list[Request]:
    """Return requests of the lengths and formats of the first ones, none of a task or a trace.

    A length that nobody counted is taken from the number of words.
    """
    vocabulary = choose_vocabulary(count)
    made = []
    for index in range(num_requests):
        like = requests[index % len(requests)]
        num_words = like.prompt_tokens or sum(len(text.split()) for _, text in like.messages)
        rng = seed_rng(seed, "warm-up", index)
        words = draw_words(num_words, rng, vocabulary, extend_salt(salt, index))
        made.append(
            Request(
                request_id=f"w{index:05d}",
                messages=(("user", " ".join(words)),),
                max_tokens=like.max_tokens,
                prompt_tokens=num_words,
                response_format=like.response_format,
            )
        )
    return made
