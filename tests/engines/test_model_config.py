"""What a model says of itself: a Hugging Face folder, the hub's cache, the head of a GGUF file."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from labkit.engines.gguf import read_gguf
from labkit.engines.model_config import FIELDS, read_model_config
from labkit.params import EngineParams

LLAMA = {
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_size": 4096,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}


def read(model: str, kind: str = "vllm", **env: str) -> tuple[dict[str, Any] | None, str | None]:
    return read_model_config(
        EngineParams.model_validate({"kind": kind, "model": model, "env": env})
    )


def write_text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def write_gguf(path: Path, values: dict[str, Any], version: int = 3) -> Path:
    """Write the head of a GGUF file: whole numbers as u32, texts, and lists of whole numbers."""
    data = b"GGUF" + struct.pack("<IQQ", version, 0, len(values))
    for key, value in values.items():
        data += write_text(key)
        if isinstance(value, str):
            data += struct.pack("<I", 8) + write_text(value)
        elif isinstance(value, list):
            data += struct.pack("<IIQ", 9, 4, len(value))
            data += struct.pack(f"<{len(value)}I", *value)
        else:
            data += struct.pack("<II", 4, value)
    path.write_bytes(data)
    return path


def test_a_folder_tells_its_layers(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    found, why = read(str(tmp_path))
    assert why is None
    assert found is not None
    assert set(found) == {*FIELDS, "source"}
    assert (found["num_hidden_layers"], found["num_key_value_heads"]) == (32, 8)
    assert (found["dtype"], found["source"], found["head_dim"]) == ("bfloat16", "config.json", None)


def test_the_language_model_of_several_is_told(tmp_path: Path) -> None:
    document = {"dtype": "float16", "text_config": {"num_hidden_layers": 4, "sliding_window": 512}}
    (tmp_path / "config.json").write_text(json.dumps(document))
    found, _ = read(str(tmp_path))
    assert found is not None
    assert (found["num_hidden_layers"], found["sliding_window"]) == (4, 512)
    assert found["dtype"] == "float16"


def test_a_window_that_is_switched_off_is_none(tmp_path: Path) -> None:
    document = {**LLAMA, "sliding_window": 4096, "use_sliding_window": False}
    (tmp_path / "config.json").write_text(json.dumps(document))
    found, _ = read(str(tmp_path))
    assert found is not None
    assert found["sliding_window"] is None


def test_a_name_of_the_hub_is_looked_up_in_its_cache(tmp_path: Path) -> None:
    kept = tmp_path / "hub" / "models--org--name"
    for revision, layers in (("a", 1), ("b", 2)):
        (kept / "snapshots" / revision).mkdir(parents=True)
        document = {**LLAMA, "num_hidden_layers": layers}
        (kept / "snapshots" / revision / "config.json").write_text(json.dumps(document))
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text("b")
    found, _ = read("org/name", HF_HOME=str(tmp_path))
    assert found is not None
    assert found["num_hidden_layers"] == 2


@pytest.mark.parametrize(
    ("text", "told"), [("[]", "no object"), ("{", "can't be read"), ("[" * 99_999, "can't be read")]
)
def test_a_damaged_file_is_a_reason(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "config.json").write_text(text)
    found, why = read(str(tmp_path))
    assert found is None
    assert told in str(why)


def test_what_is_not_here_is_a_reason(tmp_path: Path) -> None:
    found, why = read("org/none", HF_HOME=str(tmp_path))
    assert (found, why) == (None, "no config.json of org/none is on this machine")
    params = EngineParams.model_validate({"kind": "endpoint", "base_url": "http://127.0.0.1:1"})
    assert read_model_config(params)[0] is None


def test_the_model_that_ships(model: Path) -> None:
    found, why = read("smollm2", "llamacpp")
    assert why is None
    assert found is not None
    told = {name: found[name] for name in FIELDS if found[name] is not None}
    assert told == {
        "num_hidden_layers": 30,
        "num_attention_heads": 9,
        "num_key_value_heads": 3,
        "hidden_size": 576,
        "max_position_embeddings": 8192,
    }


def test_a_head_ends_at_the_vocabulary(tmp_path: Path) -> None:
    values = {"general.architecture": "a", "a.block_count": 3, "a.attention.head_count_kv": [1, 2],
              "tokens": list(range(5000)), "later": 1}  # fmt: skip
    found = read_gguf(write_gguf(tmp_path / "m.gguf", values))
    assert found == {
        "general.architecture": "a", "a.block_count": 3, "a.attention.head_count_kv": [1, 2],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"GGML", "no GGUF file"),
        (b"GGUF" + struct.pack("<I", 9), "version is 9"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**60), "ends inside"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 5), "ends inside"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + write_text("k") + struct.pack("<I", 99), "99"),
    ],
)
def test_a_damaged_head_is_told(tmp_path: Path, data: bytes, told: str) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=told):
        read_gguf(path)
    found, why = read(str(path), "llamacpp")
    assert found is None
    assert "can't be read" in str(why)
