"""What to do about an endpoint that refuses the key or asks to wait, from what it says.

It must not know keys, nor how anything is sent.
"""

import re


def advise(said: str, scheme: str, key_place: str | None) -> str:
    """Return what to do; `scheme` is what it asks for, `key_place` says where a key was taken from.

    labkit sends `Authorization: Bearer`, as OpenAI does.
    """
    if scheme and scheme.lower() != "bearer":
        return f"it asks for {scheme} where labkit sends Bearer; use an address that takes a key"
    header = re.search(r"\b((?:x-)?api-key|ocp-apim-subscription-key)\b", said, re.IGNORECASE)
    if header:
        return (
            f"it wants the key in the header {header[1]} where labkit sends Authorization: Bearer; "
            f"use an address that takes Bearer, or a gateway in between"
        )
    if key_place is None:
        return "name the key's variable, api_key_env or --api-key-env, or a provider"
    return (
        f"check the key in {key_place}: that it is whole and current, without a prefix or blanks, "
        f"and of this endpoint rather than another"
    )


def advise_wait(retry_after: str) -> str:
    """Return what to do about an endpoint that has enough for now, by the Retry-After it sent.

    That is whole seconds or a date (RFC 9110, 10.2.3).
    """
    told = retry_after.strip()
    if told.isdecimal():
        return f"it asks to wait {told} s: try again then, with fewer requests at once"
    if told:
        return f"it asks to wait until {told[:40]}: try again then, with fewer requests at once"
    return "it limits requests: wait and try again, with fewer at once, or see what the key allows"
