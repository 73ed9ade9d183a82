"""The providers file: by name, where endpoints are, what they serve, and which is the default.

It holds keys, and a key may stand where another word belongs: of what is wrong in it only names,
places and line numbers are told, never what is there. This module must not know how a key is used.
"""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labkit.errors import ParamsError
from labkit.params.document import read_yaml

NAMES = ("providers.yaml", "providers.yml", "providers.json")
VARIABLE = "LABKIT_PROVIDERS"
FIELDS = ("base_url", "api_key", "model_id")
FROM_VARIABLES = "env"
"""The provider that the environment variables describe; it is in no file."""


@dataclass(frozen=True, slots=True)
class Provider:
    """One endpoint; `api_key` is a key, or names a variable as `${NAME}` or `env:NAME`."""

    base_url: str
    model_id: str
    api_key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Providers:
    """What a providers file holds."""

    path: Path
    by_name: dict[str, Provider]
    default: str | None

    def choose(self, name: str | None = None) -> tuple[str, Provider]:
        """Return a provider with its name, the default one without; raises ParamsError."""
        chosen = name or self.default
        if chosen is None:
            raise ParamsError(
                f"expected default_provider in {self.path}, found none; set it, or name a provider"
            )
        if chosen not in self.by_name:
            known = ", ".join(self.by_name)
            raise ParamsError(
                f"expected the provider {chosen} in {self.path}, found {known}; name one of these"
            )
        return chosen, self.by_name[chosen]


def read_providers(path: Path) -> Providers:
    """Read a providers file, JSON or YAML; raises ParamsError for one that is not whole."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ParamsError(
            f"expected a providers file at {path}, found: {error.strerror}; "
            f"set engine.providers_file or {VARIABLE}"
        ) from None
    except ValueError:
        raise ParamsError(f"expected text in UTF-8 in {path}, found something else") from None
    data = _parse(text, path)
    if not isinstance(data, dict) or not isinstance(data.get("providers"), dict):
        raise ParamsError(f"expected providers: with names below it in {path}, found none")
    _refuse_others(list(data), ("providers", "default_provider"), f"at the top of {path}")
    if not data["providers"]:
        raise ParamsError(f"expected at least one provider in {path}, found none")
    by_name = {
        _check_name(name, path): _read_provider(name, entry, path)
        for name, entry in data["providers"].items()
    }
    default = data.get("default_provider")
    if default is not None and default not in by_name:
        raise ParamsError(
            f"expected default_provider to be one of {', '.join(by_name)} in {path}, "
            f"found another (not shown)"
        )
    return Providers(path, by_name, default)


def find_providers_file(*folders: Path) -> Path | None:
    """Return the file that LABKIT_PROVIDERS names, else the first one in these folders, or None."""
    if named := os.environ.get(VARIABLE):
        return Path(named).expanduser()
    places = (folder / name for folder in folders for name in NAMES)
    return next((place for place in places if place.is_file()), None)


def settle_provider(engine: Any, params_file: Path) -> None:
    """Write into the engine section of an endpoint which file and provider are meant.

    So the run's own params name both, whatever the default is later. A relative path is meant from
    the present folder or, if nothing is there, from beside the params file. The file is read only
    for its default. Raises ParamsError.
    """
    if not isinstance(engine, dict) or engine.get("kind") != "endpoint":
        return
    if engine.get("base_url") is not None or engine.get("provider") == FROM_VARIABLES:
        return
    asked = engine.get("providers_file")
    if asked is None:
        place = find_providers_file(params_file.parent, Path())
    elif not isinstance(asked, str):
        return
    else:
        place = Path(asked).expanduser()
        if not place.exists() and (params_file.parent / place).exists():
            place = params_file.parent / place
    if place is None:
        return
    engine["providers_file"] = str(place)
    if engine.get("provider") is None:
        engine["provider"] = read_providers(place).choose()[0]


def _parse(text: str, path: Path) -> Any:
    try:
        if path.suffix == ".json":
            return json.loads(text, object_pairs_hook=_refuse_twins)
        return read_yaml(text, f"in {path}")
    except RecursionError:
        line = ""
    except (ValueError, ParamsError) as error:
        lines = re.findall(r"line (\d+)", str(error))
        line = f" near line {lines[-1]}" if lines else ""
    kind = "JSON" if path.suffix == ".json" else "YAML"
    raise ParamsError(
        f"expected {kind} without a key given twice in {path}, found something else{line} "
        f"(not shown, as it may hold a key)"
    )


def _refuse_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("twins")
    return dict(pairs)


def _check_name(name: Any, path: Path) -> str:
    if isinstance(name, str) and re.fullmatch(r"[\w.-]{1,60}", name) and name != FROM_VARIABLES:
        return name
    raise ParamsError(
        f"expected names of providers of letters, digits, '.', '_' or '-' in {path}, and none "
        f"that is {FROM_VARIABLES}, found another (not shown)"
    )


def _read_provider(name: str, entry: Any, path: Path) -> Provider:
    where = f"of provider {name} in {path}"
    if not isinstance(entry, dict):
        raise ParamsError(f"expected {', '.join(FIELDS)} {where}, found none of them")
    for one in FIELDS:
        if entry.get(one) in (None, ""):
            raise ParamsError(f"expected {one} {where}, found none; all of {', '.join(FIELDS)} "
                              f"are required")  # fmt: skip
        if not isinstance(entry[one], str):
            raise ParamsError(f"expected a text as {one} {where}, found another kind of value "
                              f"(not shown); put it in quotes")  # fmt: skip
    _refuse_others(list(entry), FIELDS, where)
    if not entry["base_url"].startswith(("http://", "https://")):
        raise ParamsError(
            f"expected base_url {where} to begin with http:// or https://, found another beginning "
            f"(not shown, as it may be the key)"
        )
    return Provider(entry["base_url"], entry["model_id"], entry["api_key"])


def _refuse_others(found: Sequence[Any], known: Sequence[str], where: str) -> None:
    if others := len(set(found) - set(known)):
        raise ParamsError(
            f"expected only {', '.join(known)} {where}, found {others} more (not shown); "
            f"leave them out"
        )
