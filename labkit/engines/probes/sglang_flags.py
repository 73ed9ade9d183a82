"""Run by SGLang's own Python: what its parser and checks say against commands.

It reads a JSON list of argument lists on stdin and tells, for each, one line or null. Each has a
child of its own, as resolving settings changes the process. It is run as a file and knows nothing
of labkit.
"""

import contextlib
import io
import json
import os
import sys


def main() -> None:
    """Tell what is wrong with each command."""
    commands = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        import sglang.srt.arg_groups.pipeline
        import sglang.srt.server_args  # noqa: F401

    told = [ask_child(command) for command in commands]
    print("labkit-told " + json.dumps(told), flush=True)
    os._exit(0)


def ask_child(command: list[str]) -> str | None:
    """Return what a forked child finds wrong with a command."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(out)
        os.write(into, json.dumps(check(command)).encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as file:
        found = file.read()
    _, status = os.waitpid(child, 0)
    if not found:
        return f"its parser ended with status {os.waitstatus_to_exitcode(status)}"
    told: str | None = json.loads(found)
    return told


def check(command: list[str]) -> str | None:
    """Resolve the settings as a launch would, without starting anything."""
    from sglang.srt.server_args import prepare_server_args

    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(sys.stderr):
            settings = prepare_server_args(command)
            settings.resolve_once()
            settings.check_server_args()
    except SystemExit:
        return " ".join(said.getvalue().splitlines()[-1:])
    except Exception as error:
        return " ".join(str(error).split())[:400] or type(error).__name__
    return None


if __name__ == "__main__":
    main()
