"""Faults that lie with the scheduler's knobs: places, token budget, chunked prefill.

It reads one row at a time and must not know about sweeps.
"""

from labkit.analysis import words
from labkit.analysis.diagnosis.rule import Evidence, Match, Row, Rule, cite, find_knob
from labkit.analysis.row import read

MIN_WAITING = 1.0
FULL_PLACES = 0.7
MIN_PLACES = 0.4
"""Some engines tell running requests between steps only, so that a full batch reads as less."""
MAX_USAGE = 0.8
MIN_STEPS = 8.0
MIN_TTFT_SHARE = 0.5
MIN_DECODE_SHARE = 0.4
"""Of the budget, from which the decodes starve the prompts."""
MIN_STALL = 5.0
"""P99 of the gaps over their median, from which a stream stalls."""
MIN_JITTER = 2.0
"""P95 of TTFT over its median."""
MIN_N = 10


def is_at_limit(row: Row) -> bool:
    """Tell whether max_num_seqs was reached and less than a place, or 30 %, was free on average."""
    limit, running = find_knob(row, "max_num_seqs"), row.get("num_requests_running")
    if not limit or not running or running["max"] < limit:
        return False
    share = running["mean"] / limit
    return bool(share >= FULL_PLACES or (share >= MIN_PLACES and limit - running["mean"] < 1))


def check_places(row: Row) -> Match | None:
    """Find requests that wait for a place while the KV pool has room."""
    limit, usage = find_knob(row, "max_num_seqs"), read(row, "kv_cache_usage.max")
    waiting, running = (read(row, f"num_requests_{name}.mean") for name in ("waiting", "running"))
    if usage is None or waiting is None or running is None or not is_at_limit(row):
        return None
    if waiting < MIN_WAITING or usage >= MAX_USAGE or row.get("num_preemptions"):
        return None
    if find_knob(row, "static_batching"):
        return None
    evidence = (
        cite(
            row, "num_requests_waiting.mean", f"{words.number(waiting)} requests waited on average"
        ),
        cite(
            row,
            "num_requests_running.mean",
            f"{words.number(running)} ran on average, max_num_seqs is {limit}",
        ),
        cite(row, "kv_cache_usage.max", f"KV usage never passed {words.percent(usage)}"),
    )
    cause = f"All {limit} places of max_num_seqs were taken while the KV pool had room."
    if limit == 1:
        cause = "The one place of max_num_seqs was taken while the KV pool had room."
    sure = waiting >= running >= FULL_PLACES * limit
    return Match(cause, "high" if sure else "medium", evidence)


def check_budget(row: Row) -> Match | None:
    """Find prompts that take many steps, where decodes starve them or requests wait beside places.

    Long prompts alone do not tell: a chunk may already be all that the machine can do in a step.
    """
    budget, prompt = find_knob(row, "max_num_batched_tokens"), read(row, "prompt_tokens.mean")
    running, waiting = (read(row, f"num_requests_{name}.mean") for name in ("running", "waiting"))
    ttft, whole = read(row, "ttft_s.mean"), read(row, "e2e_latency_s.mean")
    if not budget or prompt is None or running is None or ttft is None or not whole:
        return None
    if is_at_limit(row) and (waiting or 0.0) >= MIN_WAITING:
        return None  # the wait for a place is in TTFT
    if prompt <= budget or find_knob(row, "enable_chunked_prefill") is False:
        return None
    decodes, limit = max(0.0, running - 1), find_knob(row, "max_num_seqs")
    starved = decodes >= MIN_DECODE_SHARE * budget
    beside = (waiting or 0.0) >= MIN_WAITING and limit and running < FULL_PLACES * limit
    if not starved and (not beside or (read(row, "kv_cache_usage.max") or 1.0) >= MAX_USAGE):
        return None
    room = max(1.0, budget - decodes)
    steps = prompt / room
    if steps < MIN_STEPS or ttft < MIN_TTFT_SHARE * whole:
        return None
    evidence = (
        Evidence(
            f"a prompt of {words.number(prompt)} tokens takes about {words.number(steps)} steps: "
            f"the budget is {budget}, less one token for each running decode",
            "prompt_tokens.mean",
            prompt,
        ),
        cite(
            row,
            "ttft_s.mean",
            f"TTFT is {words.seconds(ttft)} of {words.seconds(whole)}, "
            f"{words.percent(ttft / whole)} of a request's time",
        ),
        cite(row, "num_requests_running.mean", f"{words.number(running)} requests ran on average"),
    )
    cause = f"A step of {budget} tokens leaves prompts too little room beside the decodes."
    if not starved:
        cause = (
            f"Steps of {budget} tokens fill up with prompts while places and the pool have room."
        )
    return Match(cause, "medium", evidence)


def check_chunking(row: Row) -> Match | None:
    """Find streams that stall, or a TTFT that jitters with nobody waiting, with chunking off."""
    if find_knob(row, "enable_chunked_prefill") is not False:
        return None
    evidence = []
    gap, long_gap = read(row, "itl_s.p50"), read(row, "itl_s.p99")
    if gap and long_gap and long_gap >= MIN_STALL * gap and (read(row, "itl_s.n") or 0) >= 100:
        text = f"P99 of the gaps is {words.seconds(long_gap)}, the median {words.seconds(gap)}"
        evidence.append(cite(row, "itl_s.p99", text))
    stalled = bool(evidence)
    middle, late = read(row, "ttft_s.p50"), read(row, "ttft_s.p95")
    calm = (read(row, "num_requests_waiting.mean") or 0.0) < 0.5
    enough = (read(row, "ttft_s.n") or 0) >= 2 * MIN_N
    if middle and late and late >= MIN_JITTER * middle and enough and (calm or stalled):
        text = f"P95 of TTFT is {words.seconds(late)}, the median {words.seconds(middle)}"
        evidence.append(cite(row, "ttft_s.p95", text))
    if not evidence:
        return None
    cause = "A long prompt is read in one step, and every running stream stands still meanwhile."
    return Match(cause, "high" if stalled else "low", tuple(evidence))


CHUNKED_PREFILL_OFF = Rule(
    "chunked_prefill_off",
    "Long prompts hold up every stream",
    4,
    "timeline",
    "Set enable_chunked_prefill true. Then move max_num_batched_tokens: lower for steadier TPOT, "
    "higher for a faster TTFT.",
    check=check_chunking,
    blames="enable_chunked_prefill",
)
BUDGET_TOO_SMALL = Rule(
    "budget_too_small",
    "The token budget holds prompts back",
    5,
    "phases",
    "Leave max_num_seqs. Double max_num_batched_tokens until TTFT falls no more or TPOT rises; "
    "then move max_num_seqs.",
    check=check_budget,
)
MAX_NUM_SEQS_TOO_SMALL = Rule(
    "max_num_seqs_too_small",
    "Requests wait for a place in the batch",
    6,
    "pressure",
    "Leave max_num_batched_tokens. Double max_num_seqs until nobody waits, KV usage nears 90 % or "
    "throughput rises no more.",
    check=check_places,
)
