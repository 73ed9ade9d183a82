"""Bytes a token in the KV cache; the models' numbers are from their published configurations."""

from typing import Any

import pytest

from labkit.analysis.kv_size import size_kv

LLAMA_8B = {
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
    "hidden_size": 4096, "dtype": "bfloat16",
}  # fmt: skip
DEEPSEEK_V3 = {
    "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128,
    "kv_lora_rank": 512, "qk_rope_head_dim": 64, "dtype": "bfloat16",
}  # fmt: skip
SMOLLM2 = {
    "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3, "head_dim": 64,
}  # fmt: skip


def size(config: dict[str, Any], *command: str, kind: str = "vllm") -> float:
    found, why = size_kv(config, command, kind)
    assert found is not None, why
    return found.bytes_per_token


def test_models_that_are_known() -> None:
    assert size(LLAMA_8B) == 131_072  # 2 * 32 * 8 * 128 * 2
    assert size(DEEPSEEK_V3) == 70_272  # 61 * (512 + 64) * 2
    assert size({**SMOLLM2, "dtype": "bfloat16"}) == 23_040  # 2 * 30 * 3 * 64 * 2
    assert size({**LLAMA_8B, "num_key_value_heads": None}) == 4 * 131_072  # a KV head a query head


@pytest.mark.parametrize(
    ("command", "share"),
    [
        (("--kv-cache-dtype", "fp8"), 0.5),
        (("--kv-cache-dtype=fp8_e5m2",), 0.5),
        (("--kv_cache_dtype", "auto"), 1),
        (("--kv-cache-dtype", "auto", "--dtype", "float32"), 2),
        (("--dtype", "float32", "--kv-cache-dtype", "bfloat16"), 1),
        (("serve", "auto"), 1),
    ],
)
def test_the_engine_may_be_told_another_type(command: tuple[str, ...], share: float) -> None:
    assert size(LLAMA_8B, *command) == 131_072 * share


@pytest.mark.parametrize(
    ("command", "each"),
    [
        ((), 23_040),  # f16 unless told
        (("--set", "cache_type_k=8", "--set", "cache_type_v=8"), 23_040 * 34 / 64),
        # llama.cpp's log of 2,048 cells: K (q8_0) 11.95 MiB, V (f16) 22.50 MiB
        (("--set", "cache_type_k=8"), (11.953125 + 22.5) * 2**20 / 2048),
        (("--set", 'cache_type_v="q4_0"'), 23_040 * (0.5 + 18 / 128)),
    ],
)
def test_llamacpp_has_types_of_its_own(command: tuple[str, ...], each: float) -> None:
    assert size(SMOLLM2, *command, kind="llamacpp") == pytest.approx(each)


def test_a_window_bounds_what_a_sequence_takes() -> None:
    # 4 layers of 2 * 1 * 8 * 2 = 32 bytes; three of them keep no more than 100 tokens.
    kinds = ["sliding_attention"] * 3 + ["full_attention"]
    config = {
        "num_hidden_layers": 4, "num_key_value_heads": 1, "head_dim": 8, "dtype": "float16",
        "sliding_window": 100, "layer_types": kinds,
    }  # fmt: skip
    found, _ = size_kv(config, [], "vllm")
    assert found is not None
    assert found.bytes_per_token == 128
    assert found.sequence_bytes(100) == 12_800
    assert found.sequence_bytes(1000) == 3 * 32 * 100 + 32 * 1000
    every, _ = size_kv({**config, "layer_types": None}, [], "vllm")
    assert every is not None
    assert every.sequence_bytes(1000) == 12_800


def test_heads_may_differ_from_layer_to_layer() -> None:
    config = {
        "num_hidden_layers": 3, "num_key_value_heads": [1, 2, 3], "head_dim": 8, "dtype": "float16",
    }  # fmt: skip
    assert size(config) == (1 + 2 + 3) * 8 * 4


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({}, "no number of layers"),
        ({"num_hidden_layers": 2, "dtype": "float16"}, "no KV heads"),
        ({**LLAMA_8B, "dtype": "int3"}, "int3, whose size is not known"),
        ({**LLAMA_8B, "num_attention_heads": 0}, "no head size"),
        ({**LLAMA_8B, "num_key_value_heads": [1]}, "no KV heads"),
    ],
)
def test_what_is_missing_is_told(config: dict[str, Any], told: str) -> None:
    found, why = size_kv(config, [], "vllm")
    assert found is None
    assert told in why
