"""Turns the model that ships, a GGUF file, into a Hugging Face folder: make_model.py GGUF FOLDER.

Run by a Python that has transformers, torch and gguf; the weights are dequantised to bfloat16.
"""

import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig


def main() -> None:
    """Write the folder unless it is there."""
    source, folder = Path(sys.argv[1]), Path(sys.argv[2])
    if (folder / "config.json").exists():
        return
    part = folder.with_name(f"{folder.name}.part")
    place = {"pretrained_model_name_or_path": source.parent, "gguf_file": source.name}
    model = AutoModelForCausalLM.from_pretrained(
        **place, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
    )
    model.save_pretrained(part)
    AutoTokenizer.from_pretrained(**place).save_pretrained(part)
    part.rename(folder)


if __name__ == "__main__":
    main()
