"""A trace as requests: its times and its lengths, with drawn words in place of texts unknown.

Where a trace names the blocks of its prompts, the same name gives the same words, so that a
prefix cache meets the reuse of the trace; the salt is then once in front of the prompt, the same
for the whole point. Else each prompt has a salt of its own. This module must not know how a
request is sent.
"""

from collections import Counter
from collections.abc import Iterator

from labkit.errors import ParamsError
from labkit.params import TraceParams
from labkit.workload.draw import draw_words, extend_salt, put_salt, seed_rng
from labkit.workload.request import Request, Traffic
from labkit.workload.source import Source, read_source
from labkit.workload.trace import Record, read_trace
from labkit.workload.vocabulary import Vocabulary

BLOCK_TOKENS = 512
"""Of one hash id: https://github.com/kvcache-ai/Mooncake#-open-source-trace"""


def replay(workload: TraceParams, *, seed: int, salt: str, vocabulary: Vocabulary) -> Traffic:
    """Return a request for every record that the limits leave; others are counted by reason."""
    source = read_source(workload.path)
    kept, skipped = choose_records(workload, source)
    blocks: dict[int, list[str]] = {}
    requests = []
    for index, record in enumerate(kept):
        words = _write(record, index, seed, vocabulary, blocks)
        own_salt = extend_salt(salt, index) if record.blocks is None else salt
        requests.append(
            Request(
                request_id=f"r{index:05d}",
                messages=(("user", " ".join(put_salt(words, vocabulary, own_salt))),),
                max_tokens=record.completion_tokens,
                prompt_tokens=record.prompt_tokens,
                offset_s=record.at_s - kept[0].at_s,
            )
        )
    return Traffic(requests, skipped, source.sha256, "engine" if vocabulary.counted else "words")


def choose_records(workload: TraceParams, source: Source) -> tuple[list[Record], dict[str, int]]:
    """Return the records within the limits, and how many were left out for which reason.

    Raises ParamsError for a bad line, or if fewer are left than were asked for.
    """
    skipped: Counter[str] = Counter()
    kept = list(_keep(read_trace(source), workload, skipped))
    if len(kept) < (workload.num_requests or 1):
        reasons = ", ".join(f"{number} {reason}" for reason, number in skipped.most_common())
        raise ParamsError(
            f"expected {workload.num_requests or 'some'} usable records in {workload.path}, "
            f"found {len(kept)}; skipped: {reasons or 'none'}"
        )
    return kept, dict(skipped)


def _keep(records: list[Record], workload: TraceParams, skipped: Counter[str]) -> Iterator[Record]:
    number, began_at_s = 0, 0.0
    for record in records:
        if reason := _find_fault(record, workload):
            skipped[reason] += 1
        elif number and workload.duration_s and record.at_s - began_at_s >= workload.duration_s:
            skipped["later than duration_s"] += 1
        elif number == workload.num_requests:
            skipped["more than num_requests"] += 1
        else:
            began_at_s = began_at_s if number else record.at_s
            number += 1
            yield record


def _find_fault(record: Record, workload: TraceParams) -> str | None:
    if record.completion_tokens == 0:
        return "failed, no response tokens"
    if record.prompt_tokens == 0:
        return "empty prompt"
    if workload.max_prompt_tokens and record.prompt_tokens > workload.max_prompt_tokens:
        return "prompt longer than max_prompt_tokens"
    if workload.max_completion_tokens and record.completion_tokens > workload.max_completion_tokens:
        return "answer longer than max_completion_tokens"
    return None


def _write(
    record: Record, index: int, seed: int, vocabulary: Vocabulary, blocks: dict[int, list[str]]
) -> list[str]:
    words: list[str] = []
    for name in record.blocks or ():
        if name not in blocks:
            blocks[name] = draw_words(BLOCK_TOKENS, seed_rng(seed, "block", name), vocabulary)
        words += blocks[name]
    rest = record.prompt_tokens - len(words)
    words += draw_words(max(rest, 0), seed_rng(seed, index), vocabulary)
    return words[: record.prompt_tokens]
