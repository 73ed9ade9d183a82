"""What the steps stand on, and how one of them went: who is asked, what was found so far.

It must not know any step, nor how anything is sent.
"""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openai

from labkit.client.load import Client
from labkit.client.probe import Redact, make_prober
from labkit.client.reply import Reply
from labkit.engines import Engine
from labkit.ladder.steps import Facts
from labkit.ladder.verdict import Asked, Heard, Judged
from labkit.params import Params

ANSWER_CHARS = 600


@dataclass(slots=True)
class Ground:
    """What the steps stand on: who is asked, with which key, and what was found so far."""

    params: Params
    folder: Path
    facts: Facts
    redact: Redact
    stack: contextlib.ExitStack
    """Ends what a step opened for those after it: the engine, connections, processes."""
    url: str = ""
    """As it was asked for; of a launched engine, where it answers."""
    model: str | None = None
    """As it was asked for."""
    key: str | None = None
    key_fault: str = ""
    key_place: str | None = None
    base_url: str = ""
    served: tuple[str, ...] = ()
    engine: Engine | None = None
    engine_fault: str = ""
    """Why the load would not begin on this endpoint, where that is so."""

    _prober: openai.OpenAI | None = None
    _client: Client | None = None

    @property
    def timeout_s(self) -> float:
        """How long an answer may take."""
        return self.params.load.request_timeout_s

    def open_prober(self) -> openai.OpenAI:
        """Return what sends single requests to the base URL that was found; it is made once."""
        if self._prober is None:
            made = make_prober(self.base_url, self.key, self.timeout_s)
            self._prober = self.stack.enter_context(made)
        return self._prober

    def open_client(self) -> Client:
        """Return the processes that send a load; they are started once."""
        if self._client is None:
            self._client = self.stack.enter_context(Client())
        return self._client

    def hold_against(self, endpoint: str, body: Mapping[str, Any]) -> Asked:
        """Return what an answer to this body is held against."""
        return Asked(
            base_url=self.base_url,
            model=self.facts.model,
            served=self.served,
            endpoint=endpoint,
            body=body,
            key_place=self.key_place,
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """One step as it went."""

    judged: Judged
    sent: Mapping[str, Any] | None = None
    """{method, url, body}; None where nothing was sent by HTTP."""
    reply: Reply | None = None
    http_status: int | None = None
    said: str | None = None
    """What came where no `reply` is kept: the end of an engine's log, for one."""
    heard: Heard | None = None
    added: Mapping[str, Any] = field(default_factory=dict)
    """What the request had beyond the last one that worked."""

    def describe(self) -> dict[str, Any]:
        """Return what a record tells of it."""
        return {
            "sent": self.sent,
            "http_status": self.reply.status if self.reply else self.http_status,
            "answer": self.reply.text[:ANSWER_CHARS] if self.reply else self.said,
            "found": self.judged.found,
            "verdict": self.judged.verdict,
            "meaning": self.judged.meaning,
            "advice": self.judged.advice,
        }
