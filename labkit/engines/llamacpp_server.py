"""The process that the llama.cpp engine runs in: CommonParams from arguments, served until SIGTERM.

It is run as a file, so that it starts fast and knows nothing of labkit but the two marks that begin
the lines it tells: what CommonParams holds once the server is up, or what was wrong.
"""

import argparse
import difflib
import json
import os
import sys
import tempfile
import threading
from typing import Any

MARK_EFFECTIVE = "labkit-effective "
MARK_ERROR = "labkit-error "
DEFAULT_UBATCH = 512


def parse(arguments: list[str]) -> argparse.Namespace:
    """Read the arguments, which carry llama.cpp's own names."""
    parser = argparse.ArgumentParser(prog="llamacpp_server")
    parser.add_argument("--model", required=True)
    parser.add_argument("--alias", required=True)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--parallel", type=int)
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--ctx-per-slot", type=int)
    parser.add_argument("--cache-prompt", choices=["true", "false"])
    parser.add_argument("--set", action="append", default=[], metavar="NAME=JSON")
    parser.add_argument("--check", action="store_true", help="only say whether they are right")
    return parser.parse_args(arguments)


def build(options: argparse.Namespace) -> Any:
    """Return CommonParams with the options set; raises ValueError for a wrong one."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = options.model
    params.model_alias = {options.alias}
    params.hostnames = [options.host]
    params.port = options.port
    params.endpoint_metrics = True
    params.endpoint_slots = True
    params.slot_save_path = f"{tempfile.gettempdir()}/"  # without it no slot may be erased
    params.cache_ram_mib = 0  # the 8 GiB cache in host memory would answer from an earlier point
    params.cpuparams.n_threads = options.threads
    params.cpuparams_batch.n_threads = options.threads
    if options.parallel is not None:
        params.n_parallel = options.parallel
    if options.batch_size is not None:
        params.n_batch = options.batch_size
        params.n_ubatch = min(DEFAULT_UBATCH, options.batch_size)
    if options.ctx_per_slot is not None:
        params.n_ctx = options.ctx_per_slot * params.n_parallel
    if options.cache_prompt is not None:
        params.cache_prompt = options.cache_prompt == "true"
    for item in options.set:
        name, _, value = item.partition("=")
        assign(params, name, json.loads(value))
    return params


def assign(params: Any, name: str, value: Any) -> None:
    """Set an attribute, or a part's such as `cpuparams.poll`; raises ValueError."""
    *parts, last = name.split(".")
    place = params
    for part in [*parts, last]:
        if part.startswith("_") or not hasattr(place, part):
            known = [each for each in dir(place) if not each.startswith("_")]
            near = difflib.get_close_matches(part, known, n=1)
            tail = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"{name} is not an attribute of llama.cpp's CommonParams{tail}")
        if part is not last:
            place = getattr(place, part)
    try:
        setattr(place, last, value)
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        raise ValueError(f"{name} does not take {value!r}: {error}") from None


def describe(params: Any) -> dict[str, Any]:
    """Return what the server works with, under llama.cpp's names.

    llama.cpp cuts n_batch to the context (`llama_context`: n_batch = min(n_ctx, n_batch)).
    """
    n_batch = min(params.n_batch, params.n_ctx) if params.n_ctx else params.n_batch
    return {
        "n_parallel": params.n_parallel,
        "n_ctx": params.n_ctx,
        "n_batch": n_batch,
        "n_ubatch": min(params.n_ubatch, n_batch),
        "n_threads": params.cpuparams.n_threads,
        "n_threads_batch": params.cpuparams_batch.n_threads,
        "cache_prompt": params.cache_prompt,
        "cont_batching": params.cont_batching,
        "kv_unified": params.kv_unified,
    }


def tell(mark: str, fact: Any) -> None:
    """Write one marked line, at once and whole."""
    os.write(1, f"{mark}{json.dumps(fact)}\n".encode())


def main() -> int:
    """Serve until a signal ends it; return 2 for a wrong argument, 1 for a failed start."""
    options = parse(sys.argv[1:])
    try:
        params = build(options)
    except ImportError as error:
        tell(MARK_ERROR, f"xllamacpp cannot be imported: {error}")
        return 2
    except ValueError as error:
        tell(MARK_ERROR, str(error))
        return 2
    if options.check:
        return 0
    import xllamacpp

    try:
        server = xllamacpp.Server(params)
    except RuntimeError as error:
        tell(MARK_ERROR, f"llama.cpp did not start: {error}")
        return 1
    tell(MARK_EFFECTIVE, {**describe(params), "address": server.listening_address})
    threading.Event().wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
