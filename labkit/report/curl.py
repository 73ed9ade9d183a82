"""A recorded request as a command that sends it again, with a variable in place of the key.

Pure. It must not know why the request is shown.
"""

import json
import shlex
from collections.abc import Mapping
from typing import Any

KEY = '-H "Authorization: Bearer $API_KEY"'
MAX_BODY_CHARS = 2000
"""A longer body is read from the run folder, so that the command stays one to copy."""


def write_curl(sent: Mapping[str, Any], step: str) -> list[str]:
    """Return the lines of a shell command; a long body is taken from ladder.jsonl beside it."""
    url = shlex.quote(str(sent["url"]))
    if sent.get("body") is None:
        return [f"curl -sS -i {KEY} {url}"]
    body = json.dumps(sent["body"], ensure_ascii=False)
    head = f"curl -sS -i {KEY} -H 'Content-Type: application/json'"
    if len(body) <= MAX_BODY_CHARS:
        return [f"{head} \\", f"  {url} \\", f"  -d {shlex.quote(body)}"]
    pick = (
        "import json; print(next(json.dumps(one['sent']['body']) for one in "
        f"map(json.loads, open('ladder.jsonl')) if one['step'] == {step!r}))"
    )
    return [
        "# in the run folder: the body is too long to stand here",
        f"python3 -c {shlex.quote(pick)} \\",
        f"  | {head} \\",
        f"  {url} -d @-",
    ]
