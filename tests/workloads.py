"""What tests of workloads share: params from a few fields, the data files, a toy tokenizer."""

import re
from pathlib import Path

from pydantic import TypeAdapter

from labkit.params import WorkloadParams

DATA = Path(__file__).parent / "data"
ADAPTER: TypeAdapter[WorkloadParams] = TypeAdapter(WorkloadParams)


def make_workload(**fields: object) -> WorkloadParams:
    """Return the params of one workload; prompts of 30 tokens and 8 completion tokens if unset."""
    if fields.get("kind") in ("sharegpt", "jsonl", "trace"):
        return ADAPTER.validate_python(fields)
    return ADAPTER.validate_python({"prompt_tokens": 30, "completion_tokens": 8} | fields)


def count_words(text: str) -> int:
    """Count a token for each word and each run of line ends."""
    return len(re.findall(r"\n+|\S+", text))
