"""What the client itself can do on this machine, measured against a server that does no work.

A result is the engine's only as far as the client is not the limit; this says where that limit is.
It must not know engines or runs.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from labkit.client.load import Client, LoadResult, Order
from labkit.client.stream import Target
from labkit.errors import LabkitError
from labkit.params import LoadParams
from labkit.records import read_jsonl
from labkit.workload import Request

STREAMS = 32
GAP_S = 0.02


def measure_headroom(client: Client) -> dict[str, Any]:
    """Return what one worker can send and receive, and what it adds to a latency; about 2 s.

    requests_per_s and chunks_per_s are per second of the worker's own CPU time: what it does when
    a core is its own. added_ttft_s is when the client says that a first token came minus when the
    server sent it, over 32 streams of 20 ms; added_tpot_s the error of the time per token. Raises
    LabkitError if the server can't be started or does not answer.
    """
    with _serve() as root, tempfile.TemporaryDirectory() as name:
        place = Path(name)
        small = _fire(client, root, place / "small.jsonl", count=200, tokens=1, streams=8)
        long = _fire(client, root, place / "long.jsonl", count=16, tokens=1000, streams=8)
        paced = place / "paced.jsonl"
        _fire(client, root, paced, count=STREAMS, tokens=15, streams=STREAMS, gap_s=GAP_S)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{root}/stamps", timeout=5) as reply:
            true: dict[str, list[float]] = json.loads(reply.read())
        records = [record for record in read_jsonl(paced) if record["status"] == "ok"]
    if len(records) < STREAMS or small.num_error or long.num_error:
        raise LabkitError("expected the client's self-test to be answered, found failed requests")
    ttft, tpot = [], []
    for record in records:
        told, sent = record["chunk_at_s"], true[record["request_id"]]
        ttft.append(told[0] - sent[0])
        tpot.append(abs((told[-1] - told[0]) - (sent[-1] - sent[0])) / (len(sent) - 1))
    return {
        "requests_per_s": round(small.num_done / small.client["cpu_s"], 1),
        "chunks_per_s": round(16 * 1000 / long.client["cpu_s"], 1),
        "added_ttft_s": _describe(ttft),
        "added_tpot_s": _describe(tpot),
        "streams": STREAMS,
        "num_workers": 1,
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _fire(
    client: Client, root: str, out: Path, *, count: int, tokens: int, streams: int,
    gap_s: float = 0.0,
) -> LoadResult:  # fmt: skip
    names = [f"r{index:03d}" for index in range(count)]
    requests = [Request(name, (("user", f"{name} a"),), tokens, 2) for name in names]
    target = Target(f"{root}/v1", "null", "completions", 0.0, {"gap_s": gap_s}, 20.0)
    load = LoadParams(max_concurrency=streams, num_workers=1)
    order = Order(requests, [], target, load, 0, None, out)
    return client.fire(order, on_progress=lambda progress: None, check=lambda: None)


def _describe(values: list[float]) -> dict[str, float | int]:
    p50, p99 = (round(float(np.percentile(values, q)), 6) for q in (50, 99))
    return {"p50": p50, "p99": p99, "n": len(values)}


@contextlib.contextmanager
def _serve() -> Iterator[str]:
    with subprocess.Popen(
        [sys.executable, "-m", "labkit.client.nullserver"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=Path(__file__).parents[2],
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        try:
            port = process.stdout.readline().strip()
            if not port:
                raise LabkitError("expected the client's self-test server to start, found it ended")
            yield f"http://127.0.0.1:{port.decode()}"
        finally:
            process.kill()
