"""A server that already runs, as an engine: found and looked at, never launched or stopped.

What it is, is told by the prefix of its metrics' names, and then its adapter looks at it. It must
not keep an API key, which is read when it is needed, nor know any certain engine.
"""

import urllib.error
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from labkit.address import (
    check_proxy,
    check_url,
    find_place,
    list_forms,
    make_redact,
    read_key,
    tell_source,
)
from labkit.engines.scrape import ERRORS, LOOPBACK, Sample, Site, empty_sample, get_json
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


METRICS_PAGES = ("/metrics", "/prometheus/metrics")
"""Where engines tell Prometheus metrics."""
MISFITS = (*ERRORS, LookupError, TypeError, AttributeError)
"""What an adapter raises when a server is not quite the one that it knows."""


class Look(Protocol):
    """What looks at a running engine of one kind: the part of an adapter that needs no launch."""

    @property
    def METRIC_PREFIX(self) -> str:
        """How the names of its metrics begin."""

    def learn(self, site: Site, log: str) -> dict[str, Any]:
        """Return what it tells of itself that later calls need; there is no log here."""

    def sample(self, site: Site, told: Mapping[str, Any]) -> Sample:
        """Return one look at it."""

    def request_options(self) -> dict[str, Any]:
        """Return the fields of a request body that fix the length of a completion."""

    def count_tokens(self, site: Site, text: str, model: str) -> int | None:
        """Return the tokens of a text; None where it can't tell."""


class EndpointEngine:
    """A running endpoint; `base_url` is the one that answered, without a slash at its end."""

    pid: int | None = None

    def __init__(
        self, base_url: str, model: str, key_source: str | None, looks: Sequence[Look]
    ) -> None:
        """Take an endpoint that was found; its metrics are looked for at once."""
        self.base_url = base_url
        self.model = model
        self.command: list[str] = []
        self._site = Site(base_url.removesuffix("/v1"), key_source)
        self._look = self._find_look(looks)
        self._told = self._learn()

    def effective(self) -> dict[str, Any]:
        """Return nothing: an endpoint does not tell its knobs."""
        return {}

    def sample(self) -> Sample:
        """Return what its metrics tell, or a sample of None where it has none that are known.

        Raises EngineError if metrics that were there before don't answer.
        """
        if self._look is None:
            return empty_sample()
        try:
            return self._look.sample(self._site, self._told)
        except MISFITS as error:
            raise self._explain("metrics", error) from None

    def request_options(self) -> dict[str, Any]:
        """Return what fixes a completion's length, where the server is known to have it."""
        return self._look.request_options() if self._look else {}

    @property
    def count_tokens(self) -> Callable[[str], int] | None:
        """What counts tokens through the server, None for one that has no way to ask."""
        if self._look is None:
            return None
        try:
            found = self._look.count_tokens(self._site, "a", self.model)
        except MISFITS:
            return None
        return None if found is None else self._count

    def _count(self, text: str) -> int:
        assert self._look is not None, "counting was offered only with a look"
        try:
            return int(self._look.count_tokens(self._site, text, self.model) or 0)
        except MISFITS as error:
            raise self._explain("a count of tokens", error) from None

    def _explain(self, wanted: str, error: Exception) -> EngineError:
        told = str(error) if isinstance(error, ERRORS) else f"{type(error).__name__}: {error}"
        told = " ".join(make_redact(read_key(self._site.api_key_env))(told).split())
        return EngineError(f"expected {wanted} of {self._site.root}, found: {told}")

    def reset_cache(self) -> bool:
        """Do nothing: the cache may serve others, too."""
        return False

    def pids(self) -> list[int]:
        """Return nothing: the process is not ours, and may be on another machine."""
        return []

    def check(self) -> None:
        """Do nothing: requests will tell whether it is still there."""

    def _find_look(self, looks: Sequence[Look]) -> Look | None:
        for page in METRICS_PAGES:
            try:
                text = f"\n{self._site.text(page)}"
            except ERRORS:
                continue
            for look in looks:
                if f"\n{look.METRIC_PREFIX}" in text:
                    return look
        return None

    def _learn(self) -> dict[str, Any]:
        """Return what it tells of itself; one that wasn't launched by labkit may tell nothing."""
        if self._look is None:
            return {}
        try:
            return self._look.learn(self._site, "")
        except MISFITS:
            return {}


def connect(params: EngineParams, looks: Sequence[Look]) -> EndpointEngine:
    """Find the endpoint, with or without /v1, the model that it serves, and what looks at it.

    Raises EndpointError if nothing that lists models answers there, or the model isn't one of them.
    """
    check(params)
    try:
        return _find(params, looks)
    except EndpointError as error:
        redact = make_redact(read_key(params.key_source))
        raise EndpointError(redact(" ".join(str(error).split()))) from None


def locate(params: EngineParams) -> tuple[str, str | None]:
    """Return the base URL and the model that are meant; raises ParamsError for no such provider."""
    if params.provider is None:
        return str(params.base_url), params.model
    place = find_place(params.provider, params.providers_file)
    return place.base_url, params.model or place.model


def _find(params: EngineParams, looks: Sequence[Look]) -> EndpointEngine:
    base_url, model = locate(params)
    source = params.key_source
    places = sorted(list_forms(base_url), key=lambda form: not form.endswith("/v1"))
    reasons = []
    for place in places:
        try:
            listed = get_json(f"{place}/models", api_key=read_key(source))
            names = [str(each["id"]) for each in listed["data"]]
        except urllib.error.HTTPError as error:
            if error.code in (401, 403):
                way = "set engine.api_key_env to the name of the variable that holds a valid key"
                if told := tell_source(source):
                    way = f"see that {told} holds a valid key, and one of this endpoint"
                raise EndpointError(
                    f"expected {place} to accept the key, found HTTP {error.code}; {way}"
                ) from None
            reasons.append(f"{place}/models: HTTP {error.code}")
        except (*ERRORS, KeyError, TypeError) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            reasons.append(f"{place}/models: {reason or type(error).__name__}")
        else:
            return EndpointEngine(place, _choose_model(model, names, place), source, looks)
    where = "engine.base_url" if params.provider is None else f"provider {params.provider}"
    raise EndpointError(
        f"expected an OpenAI-compatible server at {base_url} ({where}), found "
        f"{'; '.join(reasons)}; start it or correct the address"
    )


def check(params: EngineParams) -> None:
    """Raise ParamsError for knobs that can't be set from here, a wrong URL, proxy or key."""
    base_url = check_place(params)
    if urllib.parse.urlsplit(base_url).hostname not in LOOPBACK:
        check_proxy(base_url)
    read_key(params.key_source)


def check_place(params: EngineParams) -> str:
    """Return the base URL; raises ParamsError for knobs that can't be set, or a wrong URL."""
    for knob in UNSETTABLE:
        if (found := getattr(params, knob)) is not None:
            raise ParamsError(
                f"expected no engine.{knob} for an endpoint, found {found!r}: what already runs "
                f"can't be set from here; leave it out, or launch the engine with labkit"
            )
    for knob in ("extra_args", "env"):
        if getattr(params, knob):
            raise ParamsError(f"expected no engine.{knob} for an endpoint; leave them out")
    base_url, _ = locate(params)
    check_url(base_url, name="engine.base_url")
    return base_url


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
