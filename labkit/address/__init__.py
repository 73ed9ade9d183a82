"""Where an endpoint is and the key it wants: found, and refused here if they can't work.

It must not know engines, clients, or how anything is sent.
"""

from labkit.address.checks import EXAMPLE, check_key, check_proxy, check_url, make_redact
from labkit.address.forms import explain_form, list_forms
from labkit.address.places import (
    PREFIXES,
    Place,
    find_asked,
    find_place,
    find_place_in_variables,
    read_key,
    read_variable,
    tell_source,
)

__all__ = [
    "EXAMPLE",
    "PREFIXES",
    "Place",
    "check_key",
    "check_proxy",
    "check_url",
    "explain_form",
    "find_asked",
    "find_place",
    "find_place_in_variables",
    "list_forms",
    "make_redact",
    "read_key",
    "read_variable",
    "tell_source",
]
