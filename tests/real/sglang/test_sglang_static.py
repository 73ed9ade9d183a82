"""Real SGLang for CPU in static batching, with all else switched off: `make test-sglang`."""

import os
import signal
import time
from collections.abc import Iterator

import pytest
from real.sglang.running import (
    NEEDED,
    PROMPT,
    complete,
    count_hits,
    fire_late,
    left_clean,
    make_params,
)

from labkit.engines import Engine
from labkit.errors import EngineError

pytestmark = NEEDED


@pytest.fixture(scope="module")
def static(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Static batching, without a prefix cache and without chunks."""
    params = make_params(
        max_num_seqs=2,
        enable_chunked_prefill=False,
        enable_prefix_caching=False,
        gpu_memory_utilization=0.3,  # its own guess is below 0 without chunks
        static_batching=True,
    )
    with left_clean(params, tmp_path_factory.mktemp("static")) as engine:
        yield engine


def test_every_knob_arrives_switched_off(static: Engine) -> None:
    effective = static.effective()
    assert effective["static_batching"] is True
    assert effective["enable_prefix_caching"] is False
    assert effective["enable_chunked_prefill"] is False
    assert effective["max_num_seqs"] == 2


def test_a_late_request_waits_for_the_whole_batch(static: Engine) -> None:
    late_first_at_s, long_end_at_s, waiting = fire_late(static)
    assert late_first_at_s > long_end_at_s
    assert waiting == 1


def test_without_a_prefix_cache_nothing_is_found_again(static: Engine) -> None:
    complete(static, PROMPT, 2)
    assert count_hits(static) == 0


def test_a_kill_is_noticed(static: Engine) -> None:
    assert static.pid is not None
    os.kill(static.pid, signal.SIGKILL)
    killed_at_s = time.monotonic()
    told = ""
    while not told and time.monotonic() < killed_at_s + 2:
        try:
            static.check()
        except EngineError as error:
            told = str(error)
    assert "exit code 137" in told
    with pytest.raises(EngineError):
        static.sample()
