"""Records: what the journal of an evaluation stores of each finished run, one JSON line each."""

from __future__ import annotations

from dataclasses import dataclass

from toolreel_core._jsontext.canonical import Json, JsonText
from toolreel_core.evals._plan.cells import Cell
from toolreel_core.evals._verdicts.verdict import Verdict

VERSION = 1
"""Version of the format of headers and records."""


@dataclass(frozen=True, slots=True)
class SentRequest:
    """One request of a run, in the order in which they were sent, retries included."""

    turn: int
    ms: int
    """Milliseconds until the reply was complete."""
    status: int | None
    """The HTTP status, where there was one."""
    failure: str = ""
    """The kind of a failure on the wire, such as ``timeout``."""
    finish: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None
    """The cost reported by the provider; ``None`` if it reports none."""
    model: str = ""
    """The model that answered, as reported."""
    provider: str = ""
    fingerprint: str = ""
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a run; all but the last were retried."""

    ms: int
    verdict: Verdict
    asked: tuple[SentRequest, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """One finished run."""

    key: str
    cell: Cell
    trial: int
    version: int
    """Of the scenario."""
    configuration: JsonText
    """The effective configuration, whole, as :mod:`toolreel_core.evals._plan.configuration` tells it."""
    digest: str
    """Of the effective configuration."""
    tools_sent: bool
    verdict: Verdict
    loop: str
    """The name of the loop's outcome."""
    final: str
    """The final text; empty if there is none."""
    world: Json
    """The contents of the world at the end."""
    language_shape: str
    """``ok``, ``drift`` or ``unknown``; empty without a language policy."""
    turns: int
    calls: int
    attempts: tuple[Attempt, ...]
    error_status: int | None = None
    error_body: Json = None
    """The body of an error response, parsed where it is JSON; at most 20,000 characters of it."""
    error_hint: str = ""
    """``provider: message``, as reported by a router."""
    cassette: str = ""
    """The path of the recording, relative to the evaluation's directory; empty if nothing was recorded."""

    @property
    def ms(self) -> int:
        """Milliseconds of all attempts together."""
        return sum(attempt.ms for attempt in self.attempts)
