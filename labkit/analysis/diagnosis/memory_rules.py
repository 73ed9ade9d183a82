"""Faults that lie with the KV pool: full, too small for max_num_seqs, or its prefixes not reused.

It reads one row at a time and must not know about sweeps.
"""

from labkit.analysis import words
from labkit.analysis.diagnosis.rule import Evidence, Match, Row, Rule, cite, find_knob
from labkit.analysis.row import read

FULL = 0.95
NEARLY_FULL = 0.9
MIN_WAITING = 0.5
MAX_HIT_RATE = 0.05
SHARING = ("shared_prefix", "multi_turn", "agent")
FULL_MESSAGES = (
    "context size has been exceeded",
    "kv cache is full",
    "failed to find a memory slot",
)
"""How llama.cpp ends requests for which its pool has no room."""


def check_pool(row: Row) -> Match | None:
    """Find a full pool: by preemptions, by errors that say so, or by waiting beside free places."""
    errors = _find_full_errors(row)
    if errors:
        cause = (
            "The sequences together outgrew the KV pool, and the engine ended requests for want of "
            "room."
        )
        return Match(cause, "high", (*errors, *_tell_usage(row)))
    if row.get("validity") == "INVALID":
        return None
    preempted, usage = row.get("num_preemptions"), read(row, "kv_cache_usage.max")
    if preempted:
        told = cite(row, "num_preemptions", f"{words.count(preempted, 'preemption')} over the load")
        cause = (
            "The KV pool ran out, so running requests were pushed back and read their prompts anew."
        )
        return Match(cause, "high", (told, *_tell_usage(row)))
    waiting, running = (read(row, f"num_requests_{name}.mean") for name in ("waiting", "running"))
    limit = find_knob(row, "max_num_seqs")
    if usage is None or waiting is None or running is None or not limit:
        return None
    if usage < FULL or waiting < MIN_WAITING or running >= NEARLY_FULL * limit:
        return None
    evidence = (
        *_tell_usage(row),
        cite(
            row, "num_requests_waiting.mean", f"{words.number(waiting)} requests waited on average"
        ),
        cite(row, "num_requests_running.mean", f"{words.number(running)} of {limit} places in use"),
    )
    return Match("Requests waited for room in the KV pool, not for a place.", "medium", evidence)


def _find_full_errors(row: Row) -> list[Evidence]:
    told = [str(one) for one in _list_messages(row.get("error_examples"))]
    hit = next((one for one in told if any(m in one.lower() for m in FULL_MESSAGES)), None)
    if hit is None:
        return []
    failed = row.get("num_error") or 0
    return [Evidence(f"{words.count(failed, 'request')} failed: {hit[:160]}", "num_error", failed)]


def _list_messages(examples: object) -> list[object]:
    if isinstance(examples, dict):
        return [text for one in examples.values() for text in _list_messages(one)]
    if isinstance(examples, list | tuple):
        return [text for one in examples for text in _list_messages(one)]
    return [] if examples is None else [examples]


def _tell_usage(row: Row) -> list[Evidence]:
    usage = read(row, "kv_cache_usage.max")
    if usage is None:
        return []
    text = f"KV usage reached {words.percent(usage)}"
    if usage > 1:  # llama.cpp counts what a step asks for, granted or not
        text = f"running requests asked for {words.percent(usage)}"
    capacity = row.get("kv_cache_capacity_tokens")
    if capacity:
        text += f" of {words.count(capacity, 'token')}"
    return [cite(row, "kv_cache_usage.max", text)]


def check_bound(row: Row) -> Match | None:
    """Find a max_num_seqs above what the pool fits, where the pool was nearly full in fact."""
    limit, capacity = find_knob(row, "max_num_seqs"), row.get("kv_cache_capacity_tokens")
    lengths = [read(row, f"{name}.mean") for name in ("prompt_tokens", "completion_tokens")]
    usage, waiting = read(row, "kv_cache_usage.max"), read(row, "num_requests_waiting.mean")
    if not limit or not capacity or usage is None or waiting is None or None in lengths:
        return None
    length = sum(one or 0.0 for one in lengths)
    if length <= 0 or usage < NEARLY_FULL or waiting < MIN_WAITING:
        return None
    fitting = capacity / length
    if fitting >= limit:
        return None
    evidence = (
        Evidence(
            f"the pool fits {words.number(fitting)} requests of {words.number(length)} tokens, "
            f"max_num_seqs is {limit}",
            "kv_cache_capacity_tokens",
            capacity,
        ),
        *_tell_usage(row),
        cite(
            row, "num_requests_waiting.mean", f"{words.number(waiting)} requests waited on average"
        ),
    )
    cause = f"Memory, not max_num_seqs {limit}, sets how many requests run at once."
    return Match(cause, "high", evidence)


def check_reuse(row: Row) -> Match | None:
    """Find prompts that share a prefix by design and were read anew each time."""
    workload, rate = row.get("workload") or {}, row.get("prefix_cache_hit_rate")
    kind = workload.get("kind")
    if 1 in (workload.get("num_steps"), workload.get("num_turns")):
        return None  # a task of one call has no earlier one to share with
    if workload.get("prefix_tokens") == 0:
        return None  # a sweep of the shared length begins at nothing shared
    on = find_knob(row, "enable_prefix_caching")
    if kind not in SHARING or rate is None or rate >= MAX_HIT_RATE or (row.get("num_ok") or 0) < 4:
        return None
    told = cite(row, "prefix_cache_hit_rate", f"{words.percent(rate)} of prompt tokens from cache")
    if on is False:
        cause = f"The prompts of {kind} share their beginning, and prefix caching is off."
        return Match(cause, "high", (told,))
    cause = f"The prompts of {kind} share their beginning, yet next to nothing was reused."
    return Match(cause, "medium", (told, *_tell_usage(row)))


KV_POOL_FULL = Rule(
    "kv_pool_full",
    "The KV pool is full",
    1,
    "pressure",
    "Lower max_num_seqs until preemptions or errors end. Then enlarge the pool: raise "
    "gpu_memory_utilization by 0.02 at a time, or lower max_model_len; on llama.cpp raise n_ctx.",
    check=check_pool,
    explains_invalid=True,
)
POOL_BOUNDS_CONCURRENCY = Rule(
    "pool_bounds_concurrency",
    "Memory bounds concurrency",
    3,
    "pressure",
    "Raising max_num_seqs can do nothing. Enlarge the pool first (gpu_memory_utilization, or an "
    "fp8 kv_cache_dtype), or shorten requests; then raise max_num_seqs again.",
    check=check_bound,
)
PREFIX_REUSE_MISSED = Rule(
    "prefix_reuse_missed",
    "Shared prefixes are read again",
    8,
    "phases",
    "Set enable_prefix_caching true. If it is on, compare the prompts: a date, an id or a salt "
    "before the shared part makes every prefix new. Then see whether the pool is so full that it "
    "throws prefixes away.",
    check=check_reuse,
    blames="enable_prefix_caching",
)
