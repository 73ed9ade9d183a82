"""What a model's own configuration says of the size of its KV cache.

It reads a Hugging Face folder, the cache of the hub, or the head of a GGUF file, and never the
network. It must not know what follows from the numbers.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit.engines.gguf import read_gguf
from labkit.engines.model import find_model
from labkit.errors import ParamsError
from labkit.params import EngineParams

FIELDS = (
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "hidden_size",
    "kv_lora_rank",
    "qk_rope_head_dim",
    "sliding_window",
    "layer_types",
    "max_position_embeddings",
    "dtype",
)
GGUF_FIELDS = {
    "num_hidden_layers": "block_count",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "head_dim": "attention.key_length",
    "hidden_size": "embedding_length",
    "kv_lora_rank": "attention.kv_lora_rank",
    "qk_rope_head_dim": "rope.dimension_count",
    "sliding_window": "attention.sliding_window",
    "max_position_embeddings": "context_length",
}
"""labkit's (and transformers') name -> GGUF's, after the name of the architecture."""
INNER = ("text_config", "llm_config", "language_config")
"""Where models of several kinds of input keep what the language model is."""

Config = dict[str, Any]


def read_model_config(params: EngineParams) -> tuple[Config | None, str | None]:
    """Return (FIELDS with None for what is not told, and `source`), or (None, why not)."""
    if params.kind == "endpoint":
        return None, "the model of an endpoint is not on this machine"
    if params.kind == "llamacpp":
        return _read_gguf(params.model)
    path = _find_json(str(params.model), params.env)
    if path is None:
        return None, f"no config.json of {params.model} is on this machine"
    return _read_json(path)


def _read_gguf(model: str | None) -> tuple[Config | None, str | None]:
    try:
        path = find_model(model)
        head = read_gguf(path)
    except (ParamsError, OSError, ValueError) as error:
        return None, f"the head of the model's file can't be read: {error}"
    name = head.get("general.architecture")
    told = {field: head.get(f"{name}.{key}") for field, key in GGUF_FIELDS.items()}
    if told["kv_lora_rank"] is None:
        told["qk_rope_head_dim"] = None  # every model has it there, and only MLA caches it
    return {**dict.fromkeys(FIELDS), **told, "source": path.name}, None


def _read_json(path: Path) -> tuple[Config | None, str | None]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        return None, f"{path.name} can't be read: {error}"
    if not isinstance(document, dict):
        return None, f"{path.name} holds no object"
    for inner in INNER:
        if isinstance(document.get(inner), dict):
            document = {**document, **document[inner]}
    told = {field: document.get(field) for field in FIELDS}
    told["dtype"] = document.get("dtype") or document.get("torch_dtype")
    if document.get("use_sliding_window") is False:
        told["sliding_window"] = None
    return {**told, "source": path.name}, None


def _find_json(model: str, env: Mapping[str, str]) -> Path | None:
    folder = Path(model).expanduser() if model.startswith("~") else Path(model)
    if (folder / "config.json").is_file():
        return folder / "config.json"
    told = {**os.environ, **env}
    home = told.get("HF_HOME") or "~/.cache/huggingface"
    hub = Path(told.get("HF_HUB_CACHE") or f"{home}/hub").expanduser()
    kept = hub / f"models--{model.replace('/', '--')}"
    try:
        revision = (kept / "refs" / "main").read_text(encoding="utf-8").strip()
        found = [kept / "snapshots" / revision / "config.json"]
    except OSError:
        found = sorted(kept.glob("snapshots/*/config.json"))
    return next((path for path in found if path.is_file()), None)
