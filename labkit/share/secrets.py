"""What must not leave this machine: keys that are known here, and texts that have a key's shape.

It must not know what a file means. No message shows what was found.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator

from labkit.address import make_redact, read_key
from labkit.errors import ParamsError
from labkit.params import load_params
from labkit.params.providers import FROM_VARIABLES, find_providers_file, read_providers
from labkit.plan import make_plan
from labkit.records import RunFolder

REDACTED = "[redacted]"
MIN_CHARS = 8
"""A shorter value of a variable, such as `1`, is no key, and would be found everywhere."""
NAMED = re.compile(r"(?i)(api_?key|secret|passw|credential|(^|_)token$|_pat$|(^|_)auth$)")
"""A variable that holds a secret, by its name."""
SHAPES = re.compile(
    r"(?<![A-Za-z0-9_-])(?:"
    r"(?:sk|pk|rk)-[A-Za-z0-9_-]{20,}"  # OpenAI and those that write keys like it
    r"|(?:hf|ghp|gho|ghs|github_pat|glpat|nvapi|xox[abp])[_-][A-Za-z0-9_-]{20,}"
    r"|AKIA[0-9A-Z]{16}(?![0-9A-Z])"
    r"|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"  # a JSON web token
    r"|[Bb]earer\s+(?!\[redacted)[A-Za-z0-9._~+/-]{16,}=*"
    r")"
    r"|(?<=://)[^\s/@:\"'<>\\]{1,200}:[^\s/@\"'<>\\]{1,200}(?=@)"  # a user and a password
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)"
)
TOLD = re.compile(
    r"(?i)((?:api[-_]?key|access[-_]?token|auth[-_]?token|hf[-_]?token|client[-_]?secret|password)"
    r"(?:\\?[\"'])?\s*[:=\s]\s*\[?(?:\\?[\"'])?)(?!\[redacted)([^\s\"'\\,;(){}\[\]<>]{8,})"
)
"""A key by the word before it, as logs and command lines have it; not looked for in scripts."""
KEY_BLOCK = re.compile(r"-----(BEGIN|END) [A-Z ]*PRIVATE KEY-----")

Clean = Callable[[str], str]


def list_keys(run: RunFolder) -> list[str]:
    """Return the keys that this machine knows: the run's own, those of the providers file that is
    found from here, and every variable that is named like a secret. A key that can't be read now
    is left out: what was written with it went through `make_redact` then.
    """
    found = {told for name, told in os.environ.items() if NAMED.search(name)}
    for source in _list_sources(run):
        try:
            found.add(read_key(source) or "")
        except ParamsError:
            continue
    return sorted(key for key in found if len(key.strip()) >= MIN_CHARS)


def make_clean(keys: Iterable[str], *, words: bool = True) -> Clean:
    """Return a function that takes these keys, and what has a key's shape, out of a text.

    `words` takes out what follows a word such as `api_key=`, too.
    """
    redacts = [make_redact(key) for key in keys]

    def clean(text: str) -> str:
        for redact in redacts:
            text = redact(text)
        text = SHAPES.sub(REDACTED, text)
        return TOLD.sub(rf"\g<1>{REDACTED}", text) if words else text

    return clean


def clean_lines(lines: Iterable[bytes], clean: Clean) -> Iterator[tuple[bytes, bool]]:
    """Yield each line without secrets, and whether it held one; bytes that are no UTF-8 stay.

    All of a private key in several lines is taken out, not only its first.
    """
    inside = False
    for line in lines:
        text = line.decode("utf-8", errors="surrogateescape")
        marks = KEY_BLOCK.findall(text)
        cleaned = f"{REDACTED}\n" if inside else clean(text)
        if marks:
            inside = marks[-1] == "BEGIN"
        if text.endswith("\n") and not cleaned.endswith("\n"):
            cleaned += "\n"
        yield cleaned.encode("utf-8", errors="surrogateescape"), cleaned != text


def _list_sources(run: RunFolder) -> set[str]:
    sources = {f"provider:#{FROM_VARIABLES}"}
    try:
        points = make_plan(load_params(run.params_path))
        sources |= {point.engine.key_source or "" for point in points}
        if (path := find_providers_file(run.path.parent.parent / "params")) is not None:
            sources |= {f"provider:{path}#{name}" for name in read_providers(path).by_name}
    except ParamsError:
        pass  # of a run whose params no longer load; shapes and variables are looked for still
    return sources - {""}
