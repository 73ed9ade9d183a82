"""labkit and `vllm bench serve` against one vLLM with the same requests: do they agree?

It launches vLLM from a params file, sends the same prompts with both clients in turn, forgets the
prefix cache before each, and compares output tokens/s and median TPOT. Target: within 5 %.

    .venv/bin/python benchmarks/agreement.py PARAMS.yaml [--rounds 3]

The environment of vLLM needs pandas for its own benchmark.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from statistics import median

from labkit.analysis.latencies import measure
from labkit.client.load import Client, Order
from labkit.client.stream import Target
from labkit.engines import Engine, open_engine
from labkit.engines.flags import read_model
from labkit.params import Params, load_params
from labkit.records import read_jsonl
from labkit.workload import Request, generate

Told = tuple[float, float]
"""Output tokens/s and median TPOT in seconds."""


def main() -> None:
    """Run both clients in turn and print what each told and how far apart they are."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("params", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    params = load_params(chosen.params)
    with tempfile.TemporaryDirectory() as name, Client() as client:
        place = Path(name)
        with open_engine(params.engine, folder=place) as engine:
            count = engine.count_tokens
            traffic = generate(params.workload, seed=1, salt="agreement", count=count)
            warm = traffic.requests[:4]
            fire(client, engine, params, warm, place / "warm.jsonl")
            ours, theirs = [], []
            for number in range(chosen.rounds):
                engine.reset_cache()
                out = place / f"{number}.jsonl"
                ours.append(fire(client, engine, params, traffic.requests, out))
                engine.reset_cache()
                theirs.append(bench(engine, params, traffic.requests, place))
    for title, place_of, unit, scale in (
        ("output throughput", 0, "tokens/s", 1.0),
        ("median TPOT", 1, "ms", 1000.0),
    ):
        mine = median(told[place_of] for told in ours) * scale
        other = median(told[place_of] for told in theirs) * scale
        print(
            f"{title}: labkit {mine:.2f} {unit}, vllm bench serve {other:.2f} {unit}, "
            f"apart by {abs(mine / other - 1):.1%} (target 5 %)"
        )
    print(f"rounds (tokens/s, TPOT s): labkit {ours}; vllm bench serve {theirs}")


def fire(
    client: Client, engine: Engine, params: Params, requests: list[Request], out: Path
) -> Told:
    """Send with labkit, and derive both figures from its records as a summary does."""
    target = Target(
        engine.base_url, engine.model, "completions", 0.0, engine.request_options(),
        params.load.request_timeout_s,
    )  # fmt: skip
    order = Order(requests, [], target, params.load, 0, None, out)
    client.fire(order, on_progress=lambda progress: None, check=engine.check)
    rows = [row for row in read_jsonl(out) if row["status"] == "ok"]
    assert len(rows) == len(requests), "some requests failed"
    seconds = max(row["last_token_at_s"] for row in rows) - min(row["sent_at_s"] for row in rows)
    tpots = [measure(row, scheduled=False)["tpot_s"] for row in rows]
    return sum(row["completion_tokens"] for row in rows) / seconds, median(tpots)


def bench(engine: Engine, params: Params, requests: list[Request], place: Path) -> Told:
    """Send the same prompts with vLLM's own client."""
    prompts = place / "prompts.jsonl"
    lengths = {request.max_tokens for request in requests}
    assert len(lengths) == 1, "its custom data set takes one output length"
    lines = [json.dumps({"prompt": request.messages[-1][1]}) for request in requests]
    prompts.write_text("\n".join(lines) + "\n")
    root = engine.base_url.removesuffix("/v1")
    command = [
        str(params.engine.executable), "bench", "serve", "--backend", "openai",
        "--base-url", root, "--endpoint", "/v1/completions",
        "--model", read_model(params.engine, "vLLM"), "--served-model-name", engine.model,
        "--dataset-name", "custom", "--dataset-path", str(prompts),
        "--custom-output-len", str(lengths.pop()), "--num-prompts", str(len(requests)),
        "--skip-chat-template", "--disable-shuffle", "--ignore-eos", "--temperature", "0",
        "--max-concurrency", str(params.load.max_concurrency), "--disable-tqdm",
        "--save-result", "--result-dir", str(place), "--result-filename", "bench.json",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads((place / "bench.json").read_text())
    assert told["completed"] == len(requests), told
    return float(told["output_throughput"]), told["median_tpot_ms"] / 1000


if __name__ == "__main__":
    main()
