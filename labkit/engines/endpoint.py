"""A server that already runs, as an engine: found and looked at, never launched or stopped.

It must not keep an API key: the key is read from the environment variable when it is needed.
"""

import urllib.error
import urllib.parse
from collections.abc import Callable
from typing import Any

from labkit.address import check_proxy, check_url, make_redact, read_key
from labkit.engines import vllm
from labkit.engines.scrape import (
    ERRORS,
    LOOPBACK,
    Sample,
    Site,
    count_tokens,
    empty_sample,
    get_json,
    get_text,
    map_llamacpp,
)
from labkit.errors import EndpointError, EngineError, ParamsError
from labkit.params import EngineParams, name_nearest

UNSETTABLE = (
    "max_num_seqs",
    "max_num_batched_tokens",
    "max_model_len",
    "enable_chunked_prefill",
    "enable_prefix_caching",
    "gpu_memory_utilization",
    "block_size",
    "scheduling_policy",
    "static_batching",
    "executable",
    "num_threads",
    "port",
)


class EndpointEngine:
    """A running endpoint; `base_url` is the one that answered, without a slash at its end."""

    pid: int | None = None

    def __init__(self, params: EngineParams, base_url: str, model: str) -> None:
        """Take an endpoint that was found; its metrics are looked for at once."""
        self.base_url = base_url
        self.model = model
        self.command: list[str] = []
        self._key_env = params.api_key_env
        self._root = base_url.removesuffix("/v1")
        self._flavour = self._find_flavour()

    def effective(self) -> dict[str, Any]:
        """Return nothing: an endpoint does not tell its knobs."""
        return {}

    def sample(self) -> Sample:
        """Return what its /metrics tell, or a sample of None where it has none that are known.

        Raises EngineError if metrics that were there before don't answer.
        """
        if self._flavour is None:
            return empty_sample()
        try:
            if self._flavour == "vllm":
                return vllm.sample(Site(self._root, self._key_env), {})
            return map_llamacpp(self._text("/metrics"), self._slots())
        except ERRORS as error:
            told = make_redact(read_key(self._key_env))(str(error))
            raise EngineError(f"expected metrics at {self._root}/metrics, found: {told}") from None

    def request_options(self) -> dict[str, Any]:
        """Return what fixes a completion's length, where the server is known to have it."""
        return {"ignore_eos": True} if self._flavour else {}

    @property
    def count_tokens(self) -> Callable[[str], int] | None:
        """What counts tokens through the server, None for one that has no way to ask."""
        if self._flavour is None:
            return None
        try:
            self._count("a")
        except (*ERRORS, KeyError, TypeError):
            return None
        return self._count

    def _count(self, text: str) -> int:
        key = read_key(self._key_env)
        return count_tokens(
            self._root, text, flavour=str(self._flavour), model=self.model, api_key=key
        )

    def reset_cache(self) -> bool:
        """Do nothing: the cache may serve others, too."""
        return False

    def pids(self) -> list[int]:
        """Return nothing: the process is not ours, and may be on another machine."""
        return []

    def check(self) -> None:
        """Do nothing: requests will tell whether it is still there."""

    def _find_flavour(self) -> str | None:
        try:
            text = self._text("/metrics")
        except ERRORS:
            text = ""
        for flavour in ("vllm", "llamacpp"):
            if f"\n{flavour}:" in f"\n{text}":
                return flavour
        return None

    def _slots(self) -> list[dict[str, Any]]:
        slots = get_json(f"{self._root}/slots", api_key=read_key(self._key_env))
        return list(slots)

    def _text(self, path: str) -> str:
        return get_text(f"{self._root}{path}", api_key=read_key(self._key_env))


def connect(params: EngineParams) -> EndpointEngine:
    """Find the endpoint of `base_url`, with or without /v1, and the model that it serves.

    Raises EndpointError if nothing that lists models answers there, or the model isn't one of them.
    """
    check(params)
    try:
        return _find(params)
    except EndpointError as error:
        redact = make_redact(read_key(params.api_key_env))
        raise EndpointError(redact(" ".join(str(error).split()))) from None


def _find(params: EngineParams) -> EndpointEngine:
    asked = str(params.base_url).rstrip("/")
    places = [asked] if asked.endswith("/v1") else [f"{asked}/v1", asked]
    reasons = []
    for place in places:
        try:
            listed = get_json(f"{place}/models", api_key=read_key(params.api_key_env))
            names = [str(each["id"]) for each in listed["data"]]
        except urllib.error.HTTPError as error:
            if error.code in (401, 403):
                way = "set engine.api_key_env to the name of the variable that holds a valid key"
                raise EndpointError(
                    f"expected {place} to accept the key, found HTTP {error.code}; {way}"
                ) from None
            reasons.append(f"{place}/models: HTTP {error.code}")
        except (*ERRORS, KeyError, TypeError) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            reasons.append(f"{place}/models: {reason or type(error).__name__}")
        else:
            return EndpointEngine(params, place, _choose_model(params.model, names, place))
    raise EndpointError(
        f"expected an OpenAI-compatible server at engine.base_url {params.base_url}, found "
        f"{'; '.join(reasons)}; start it or correct the address"
    )


def check(params: EngineParams) -> None:
    """Raise ParamsError for knobs that can't be set from here, a wrong URL, proxy or key."""
    for knob in UNSETTABLE:
        if (found := getattr(params, knob)) is not None:
            raise ParamsError(
                f"expected no engine.{knob} for an endpoint, found {found!r}: what already runs "
                f"can't be set from here; leave it out, or launch the engine with labkit"
            )
    for knob in ("extra_args", "env"):
        if getattr(params, knob):
            raise ParamsError(f"expected no engine.{knob} for an endpoint; leave them out")
    check_url(str(params.base_url), name="engine.base_url")
    if urllib.parse.urlsplit(str(params.base_url)).hostname not in LOOPBACK:
        check_proxy(str(params.base_url))
    read_key(params.api_key_env)


def _choose_model(asked: str | None, names: list[str], place: str) -> str:
    if asked is None and len(names) == 1:
        return names[0]
    if asked is None:
        raise EndpointError(
            f"expected one model at {place}, found {', '.join(names) or 'none'}; set engine.model"
        )
    if asked not in names:
        raise EndpointError(
            f"expected {place} to serve {asked!r}, found that it does not"
            f"{name_nearest(asked, names)}"
        )
    return asked
