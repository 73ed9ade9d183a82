"""Run by vLLM's own Python: what its parser and configuration say against commands.

It reads a JSON list of argument lists on stdin and tells, for each, one line or null. It is run as
a file and knows nothing of labkit.
"""

import contextlib
import importlib
import io
import json
import os
import sys
from types import ModuleType
from typing import Any

PARTS = ("Value error, ", "Assertion failed, ")


def main() -> None:
    """Tell what is wrong with each command."""
    commands = json.load(sys.stdin)
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    cli_args = find_module(
        "vllm.entrypoints.launchers.cli_args", "vllm.entrypoints.openai.cli_args"
    )

    told: list[str | None] = []
    for command in commands:
        parser = cli_args.make_arg_parser(FlexibleArgumentParser(prog="vllm serve"))
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said):
                options = parser.parse_args(command[1:])
                cli_args.validate_parsed_serve_args(options)
                configure(options)
        except SystemExit:
            told.append(" ".join(said.getvalue().splitlines()[-1:]))
        except Exception as error:
            told.append(find_reason(str(error)) or type(error).__name__)
        else:
            told.append(None)
    print("labkit-told " + json.dumps(told), flush=True)
    os._exit(0)


def find_module(*names: str) -> ModuleType:
    """Return the first of the modules that this version has."""
    for name in names:
        with contextlib.suppress(ModuleNotFoundError):
            return importlib.import_module(name)
    raise ModuleNotFoundError(f"none of {', '.join(names)}")


def configure(options: Any) -> None:
    """Resolve the configuration as a launch would, without starting anything."""
    from vllm.engine.arg_utils import AsyncEngineArgs

    if getattr(options, "model_tag", None):
        options.model = options.model_tag
    config = AsyncEngineArgs.from_cli_args(options).create_engine_config()
    size = config.cache_config.block_size
    if config.device_config.device_type == "cpu" and size and size % 32:
        raise ValueError(f"block_size ({size}) must be a multiple of 32 on a CPU")


def find_reason(text: str) -> str:
    """Return the line of a validation error that says what is wrong."""
    for line in text.splitlines():
        for part in PARTS:
            if part in line:
                return line.partition(part)[2].partition(" [type=")[0].strip()
    return " ".join(text.split())[:400]


if __name__ == "__main__":
    main()
