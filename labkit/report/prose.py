"""Sentences as HTML: escaped, and no line ends between a number and its unit.

It must not know what a sentence tells.
"""

import re
from html import escape

_BEFORE_UNIT = re.compile(
    r"(?<=\d) (?=(?:%|s|ms|µs|W|J|bytes|[KMG]iB|[KMG]B|(?:tokens|requests)/s)(?![A-Za-z]))"
)


def write_prose(text: str) -> str:
    """Return a text as HTML; "9.73 s" and "95 %" stay whole where a line is broken."""
    return _BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", escape(text, quote=False))
