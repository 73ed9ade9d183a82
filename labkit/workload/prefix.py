"""Requests that share a system prompt with others of their group, so that a cache can help.

The salt is in front of each group's prefix: what a group shares stays shared within a point, and
nothing leaks from one point to another. This module must not know how a request is sent.
"""

from labkit.params import SharedPrefixParams
from labkit.workload.draw import draw_below, draw_length, draw_words, extend_salt, seed_rng
from labkit.workload.request import Request
from labkit.workload.vocabulary import Vocabulary


def share_prefix(
    workload: SharedPrefixParams, *, seed: int, salt: str, vocabulary: Vocabulary
) -> list[Request]:
    """Return requests of a system and a user message; each draws its group, evenly.

    Without a prefix (0 tokens) the salt is in front of each prompt, as in a synthetic workload.
    """
    prefixes = [
        " ".join(
            draw_words(
                workload.prefix_tokens,
                seed_rng(seed, "group", group),
                vocabulary,
                extend_salt(salt, "group", group),
            )
        )
        for group in range(workload.num_groups)
    ]
    requests = []
    for index in range(workload.num_requests):
        rng = seed_rng(seed, index)
        prefix = prefixes[draw_below(workload.num_groups, rng)]
        prompt_tokens = draw_length(workload.prompt_tokens, rng)
        max_tokens = draw_length(workload.completion_tokens, rng)
        own_salt = "" if prefix else extend_salt(salt, index)
        words = draw_words(prompt_tokens, rng, vocabulary, own_salt)
        system = (("system", prefix),) if prefix else ()
        requests.append(
            Request(
                request_id=f"r{index:05d}",
                messages=(*system, ("user", " ".join(words))),
                max_tokens=max_tokens,
                prompt_tokens=workload.prefix_tokens + prompt_tokens,
            )
        )
    return requests
