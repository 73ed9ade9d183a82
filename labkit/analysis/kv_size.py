"""Bytes that a model keeps for each token in the KV cache, from its own configuration.

    plain   2 (key and value) * KV heads * head size * bytes of a number, for each layer
    MLA     (kv_lora_rank + qk_rope_head_dim) * bytes of a number, for each layer

A layer with a sliding window keeps no more tokens of a sequence than its window. Sources: the GQA
paper (Ainslie et al. 2023) for shared KV heads, DeepSeek-V2's report for MLA. It must not know how
a configuration was read.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

BYTES = {"float32": 4.0, "bfloat16": 2.0, "float16": 2.0, "half": 2.0, "fp8": 1.0, "fp8_e4m3": 1.0,
         "fp8_e5m2": 1.0, "fp8_inc": 1.0, "int8": 1.0,
         "f32": 4.0, "f16": 2.0, "bf16": 2.0, "q8_0": 34 / 32, "q5_1": 24 / 32, "q5_0": 22 / 32,
         "q4_1": 20 / 32, "q4_0": 18 / 32}  # fmt: skip
"""A number of the KV cache: torch's names, vLLM's and SGLang's, and ggml's with block scales."""
GGML = {"0": "f32", "1": "f16", "2": "q4_0", "3": "q4_1", "6": "q5_0", "7": "q5_1", "8": "q8_0",
        "30": "bf16"}  # fmt: skip
"""ggml_type as a number."""


@dataclass(frozen=True, slots=True)
class KvSize:
    """Bytes a token in full layers and in layers with a window, and that window in tokens."""

    full_bytes: float
    windowed_bytes: float
    window_tokens: int | None

    @property
    def bytes_per_token(self) -> float:
        """What one more token takes while no window is full."""
        return self.full_bytes + self.windowed_bytes

    def sequence_bytes(self, tokens: float) -> float:
        """Return what a sequence of so many tokens takes."""
        inside = tokens if self.window_tokens is None else min(tokens, self.window_tokens)
        return self.full_bytes * tokens + self.windowed_bytes * inside


def size_kv(
    config: Mapping[str, Any], command: Sequence[str], kind: str
) -> tuple[KvSize | None, str]:
    """Return the size of a token in the KV cache, or None and what is missing.

    `command` is that of the engine, which may ask for another type of number than the model's.
    """
    layers = config.get("num_hidden_layers")
    if not isinstance(layers, int):
        return None, "the model's configuration tells no number of layers"
    types = _find_types(config, command, kind)
    sizes = [BYTES.get(one) for one in types]
    key_bytes, value_bytes = sizes
    if key_bytes is None or value_bytes is None:
        return None, f"the KV cache holds numbers of type {types[0]}, whose size is not known"
    if (rank := config.get("kv_lora_rank")) is not None:
        rope = config.get("qk_rope_head_dim") or 0
        each = [(rank + rope) * key_bytes] * layers
    else:
        heads, head_size = _find_heads(config, layers)
        if heads is None or head_size is None:
            return None, "the model's configuration tells no KV heads or no head size"
        each = [number * head_size * (key_bytes + value_bytes) for number in heads]
    windowed = _find_windowed(config, layers)
    window = config.get("sliding_window") if any(windowed) else None
    own = sum(size for size, is_in in zip(each, windowed, strict=True) if is_in)
    return KvSize(sum(each) - own, own, window), ""


def _find_heads(config: Mapping[str, Any], layers: int) -> tuple[list[int] | None, int | None]:
    queries = config.get("num_attention_heads")
    keys = config.get("num_key_value_heads")
    keys = queries if keys is None else keys
    heads = list(keys) if isinstance(keys, list) else None if keys is None else [keys] * layers
    size = config.get("head_dim")
    hidden = config.get("hidden_size")
    if size is None and isinstance(hidden, int) and isinstance(queries, int) and queries > 0:
        size = hidden // queries
    return (heads if heads is None or len(heads) == layers else None), size


def _find_windowed(config: Mapping[str, Any], layers: int) -> list[bool]:
    if not config.get("sliding_window"):
        return [False] * layers
    kinds = config.get("layer_types")
    if isinstance(kinds, list) and len(kinds) == layers:
        return ["sliding" in str(kind) for kind in kinds]
    return [True] * layers


def _find_types(config: Mapping[str, Any], command: Sequence[str], kind: str) -> tuple[str, str]:
    """Return the types of keys and values, by the names of BYTES."""
    if kind == "llamacpp":
        told = [find_set(command, f"cache_type_{letter}") or "1" for letter in "kv"]
        key, value = (GGML.get(one, one.lower()) for one in told)
        return key, value
    asked = _find_flag(command, "kv-cache-dtype")
    if asked in (None, "auto"):
        asked = _find_flag(command, "dtype")
    if asked in (None, "auto"):
        asked = str(config.get("dtype")).removeprefix("torch.")
    return str(asked), str(asked)


def _find_flag(command: Sequence[str], name: str) -> str | None:
    for place, word in enumerate(command):
        bare, joined, value = word.lstrip("-").partition("=")
        if word.startswith("--") and bare.replace("_", "-") == name:
            return value if joined else next(iter(command[place + 1 :]), None)
    return None


def find_set(command: Sequence[str], name: str) -> str | None:
    """Return the value of llama.cpp's `--set NAME=JSON`."""
    found = [re.fullmatch(rf'{name}="?([\w.]+)"?', word) for word in command]
    return next((match[1] for match in reversed(found) if match), None)
