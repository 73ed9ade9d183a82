"""What an endpoint's description leads to: a providers file, variables, or the file .env.

A key is read when it is needed and kept nowhere; what is handed about is its source, a text that
`EngineParams.key_source` makes. It must not know engines, clients, or how anything is sent.
"""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from labkit.address.checks import check_key, check_url
from labkit.errors import ParamsError
from labkit.home import find_home
from labkit.params.providers import FROM_VARIABLES, find_providers_file, read_providers

PREFIXES = ("OPENAI", "TAOTOKEN")
"""Of the variables that describe an endpoint: _BASE_URL, _API_KEY, and _MODEL or _MODEL_ID."""


def read_key(source: str | None) -> str | None:
    """Return the API key that a source leads to now, None without a source.

    A source is `env:NAME`, or NAME alone, for a variable, and `provider:FILE#NAME` for a providers
    file. Raises ParamsError if there is no key, or one that can't be sent.
    """
    if not source:
        return None
    kind, _, rest = source.partition(":")
    if kind == "provider":
        file, _, name = rest.rpartition("#")
        return find_place(name, file).read_key()
    return _read_variable_key(source.removeprefix("env:"))


@dataclass(frozen=True, slots=True)
class Place:
    """An endpoint as it is described somewhere: where it is, what it serves, where its key is."""

    base_url: str
    model: str | None
    told_by: str
    """What described it, for a message."""
    key_variable: str | None = None
    key: str | None = field(default=None, repr=False)

    def read_key(self) -> str | None:
        """Return the key; raises ParamsError if its variable is not set."""
        return _read_variable_key(self.key_variable) if self.key_variable else self.key


def find_place(provider: str, providers_file: str | None) -> Place:
    """Return the endpoint that a provider's name stands for; raises ParamsError."""
    if provider == FROM_VARIABLES:
        place = find_place_in_variables()
        if place is None:
            wanted = " or ".join(f"{prefix}_BASE_URL" for prefix in PREFIXES)
            raise ParamsError(
                f"expected {wanted} in the environment for provider {FROM_VARIABLES}, found "
                f"neither; export one with its _API_KEY and _MODEL, or write them into .env"
            )
        return place
    path = Path(str(providers_file))
    _, found = read_providers(path).choose(provider)
    told_by = f"provider {provider} in {path}"
    check_url(found.base_url, name=f"base_url of {told_by}")
    named = re.fullmatch(r"\$\{([^}]+)\}|env:(.+)", found.api_key)
    if named:
        variable = named[1] or named[2]
        return Place(found.base_url, found.model_id, told_by, key_variable=variable)
    check_key(found.api_key, where=f" as api_key of {told_by}")
    return Place(found.base_url, found.model_id, told_by, key=found.api_key)


def find_place_in_variables() -> Place | None:
    """Return the endpoint of OPENAI_BASE_URL or TAOTOKEN_BASE_URL, None if neither is set.

    A URL and a key of different names are never put together. Raises ParamsError if both are set.
    """
    found = [prefix for prefix in PREFIXES if read_variable(f"{prefix}_BASE_URL")]
    if not found:
        return None
    if len(found) > 1:
        both = " and ".join(f"{prefix}_BASE_URL" for prefix in found)
        raise ParamsError(f"expected one endpoint in the environment, found {both}; unset one")
    prefix = found[0]
    names = [f"{prefix}_BASE_URL", f"{prefix}_API_KEY"]
    models = [f"{prefix}_MODEL", f"{prefix}_MODEL_ID"]
    model = next((name for name in models if read_variable(name)), None)
    told_by = f"the variables {', '.join([*names, *([model] if model else [])])}"
    base_url = str(read_variable(names[0]))
    check_url(base_url, name=f"a URL in {names[0]}")
    return Place(base_url, read_variable(model) if model else None, told_by, key_variable=names[1])


def find_asked(provider: str | None, providers_file: Path | None) -> Place:
    """Return the endpoint that is meant where no URL is given; raises ParamsError if none is.

    It is the named provider; else what the variables describe, else the default provider.
    """
    if provider == FROM_VARIABLES:
        return find_place(provider, None)
    if provider is None and providers_file is None and (place := find_place_in_variables()):
        return place
    path = providers_file or find_providers_file(Path(), Path("params"), find_home() / "params")
    if path is None:
        raise ParamsError(
            f"expected a URL, a provider, or {PREFIXES[0]}_BASE_URL in the environment, found no "
            f"such variable and no providers file here; give one"
        )
    name, _ = read_providers(path).choose(provider)
    return find_place(name, str(path))


def tell_source(source: str | None) -> str | None:
    """Return where a key is, in words, None without a source."""
    if not source:
        return None
    kind, _, rest = source.partition(":")
    if kind != "provider":
        return f"the variable {source.removeprefix('env:')}"
    file, _, name = rest.rpartition("#")
    if name == FROM_VARIABLES:
        return "the variable that ends with _API_KEY"
    return f"api_key of provider {name} in {file}"


def read_variable(name: str) -> str | None:
    """Return an environment variable or, if it is unset, what .env says; None if neither does.

    .env is looked for in the present folder, then in the nearest one above it that holds `params`.
    It is never put into the environment, which other programs inherit. Raises ParamsError for one
    that is no text.
    """
    if name in os.environ:
        return os.environ[name]
    for folder in dict.fromkeys((Path.cwd(), find_home())):
        if (path := folder / ".env").is_file():
            from dotenv import dotenv_values  # only who has the file waits for it

            try:
                return dotenv_values(path, interpolate=False).get(name)
            except (OSError, ValueError):
                raise ParamsError(f"expected NAME=value in UTF-8 in {path}, found something else") \
                    from None  # fmt: skip
    return None


def _read_variable_key(name: str) -> str:
    key = read_variable(name)
    if not key:
        raise ParamsError(
            f"expected an API key in the environment variable {name}, found it unset; "
            f"export {name}=... in this shell, or write it into .env"
        )
    check_key(key, where=f" in the environment variable {name}")
    return key
