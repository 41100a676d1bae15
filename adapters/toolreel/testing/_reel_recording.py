"""The recording of one test: its files, and the transports and endpoints that record to it or replay it."""

from __future__ import annotations

import os
import random
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolreel._driver import Wanted
from toolreel._internal import CassetteError, EndpointConfigError, MissingExtra, VaryError
from toolreel._journal import FileJournal, MemoryJournal, Recorded, read_journal
from toolreel._replay import AllowedDifferences
from toolreel._secrets import key_as_secret, key_notice, known_secrets, refuse_secrets_in_line
from toolreel.cassette import Change, Recording, Session, StoredResponse, Vary, changes, distinct, varying
from toolreel.http import AsyncHttpEndpoint, HttpEndpoint
from toolreel.testing._recording_paths import ReelFiles
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import JsonText, parse
from toolreel_core._loop import start, step
from toolreel_core._plan import Plan
from toolreel_core._protocol import Event, Settled, UserSpoke

if TYPE_CHECKING:
    from toolreel.cassette import AsyncHttpx2Transport, Httpx2Transport

try:
    import httpx
except ImportError:
    raise MissingExtra.of("http", "httpx") from None


# The journal of one run in a test: compared with the recorded one, or replacing it.


class ReelJournal:
    """Collects the events of a run.

    :param allowed: what may differ from the recorded events
    """

    def __init__(
        self, plan: Plan, path: Path, recorded: Recorded | None, allowed: AllowedDifferences | None = None
    ) -> None:
        self.path = path
        self.recorded = recorded
        self.allowed = allowed
        self._plan = plan
        self._kept: list[tuple[Wanted | None, Event]] = []
        self._memory = MemoryJournal(plan)

    @property
    def text(self) -> str:
        """The content of the journal file."""
        return self._memory.text

    def record(self, effect: Wanted | None, event: Event) -> None:
        """Record an event and the effect that it answers."""
        self._kept.append((effect, event))
        self._memory.record(effect, event)

    @property
    def exchange(self) -> int:
        """The number of the exchange that a conversation has reached, from 1."""
        number, at = 1, start(self._plan)
        for _, event in self._kept:
            number += isinstance(event, UserSpoke) and isinstance(at.state.phase, Settled)
            at = step(at.state, event)
        return number

    def check(self, *, whole: bool = True) -> None:
        """Fail if the events differ from the recorded ones.

        The plan is not compared: a changed limit that has no effect is not a difference.

        :param whole: whether the run is over; else the recorded events may go on
        :raises ReplayMismatch: at the first difference
        """
        if self.recorded is None:
            return
        was, now = self.recorded.text.splitlines()[1:], self._memory.lines[1:]
        was = was if whole else was[: len(now)]
        for number, (old, new) in enumerate(zip_longest(was, now), 1):
            if old != new and not self._is_allowed(number):
                raise ReplayMismatch(f"{self.path}: {_first_difference(number, old, new)}")

    def _is_allowed(self, number: int) -> bool:
        """Whether the rules explain why this event differs."""
        if self.allowed is None or self.recorded is None:
            return False
        records = self.recorded.records
        if number > min(len(records), len(self._kept)):
            return False
        return self.allowed.same(records[number - 1], *self._kept[number - 1])

    def refuse_secrets(self, known: Mapping[str, str]) -> None:
        """Fail if it contains a secret.

        :raises SecretFound: names the place, never the secret
        """
        for number, line in enumerate(self._memory.lines, 1):
            refuse_secrets_in_line(line, known, f"{self.path}, line {number}")

    def save(self, known: Mapping[str, str]) -> None:
        """Write it, replacing an existing file."""
        with FileJournal(self.path, self._plan, known_secrets=known, overwrite=True) as file:
            for effect, event in self._kept:
                file.record(effect, event)


def _first_difference(number: int, old: str | None, new: str | None) -> str:
    if old is None:
        return f"the run continued after the {number - 1} recorded events"
    if new is None:
        return f"the run ended before recorded event {number}"
    found = [*changes(parse(JsonText(old)), parse(JsonText(new)))] or [Change("", old, new)]
    first, advice = found[0], varying(found)
    return (
        f"event {number} is not the recorded one; first change: {first.place}\n"
        f"  recorded: {first.old}\n  now:      {first.new}" + (f"\n{advice}" if advice else "")
    )


@contextmanager
def naming_exchange(journal: ReelJournal | None) -> Generator[None]:
    """Say in which exchange of a conversation a replay differs, unless it is the first."""
    try:
        yield
    except ReplayMismatch as error:
        number = 1 if journal is None else journal.exchange
        if number == 1:
            raise
        raise ReplayMismatch(f"exchange {number} of the conversation: {error}") from None


_REPLAY_URL: Final = "http://replay.invalid/v1"
"""Cassettes leave the host out of matching; this one cannot exist (RFC 2606)."""


class ReelRecording:
    """The recording of one test without its runs: a cassette, and journals.

    :param recording: whether to record; otherwise the recording is replayed
    :param vary: what may differ between recorded and new requests, besides the rules in the recording; each
        rule has to fit a request of the test
    :param shared: rules for other tests too, which need not fit a request of this one
    """

    def __init__(
        self,
        files: ReelFiles,
        live: LiveSide | None = None,
        *,
        recording: bool = False,
        vary: Sequence[Vary] = (),
        shared: Sequence[Vary] = (),
    ) -> None:
        self.files: Final = files
        self.recording: Final = recording
        self.live: Final = live or LiveSide()
        self._vary = distinct(vary)
        self._shared = distinct(shared)
        self._session: Session | None = None
        self._journals: list[ReelJournal] = []
        self._endpoint: HttpEndpoint | None = None
        self._secrets: dict[str, str] = {}

    @property
    def base_url(self) -> str:
        """Base URL for a client: the live server's, or an invalid one while replaying.

        :raises EndpointConfigError: while recording, if no server is configured
        """
        if not self.recording:
            return _REPLAY_URL
        if not self.live.base_url:
            raise EndpointConfigError(
                "recording needs a model: name its server with --reel-live-url URL, or in TOOLREEL_LIVE_URL"
            )
        return self.live.base_url

    @property
    def api_key(self) -> str:
        """API key for a client: the live server's, or a placeholder while replaying; never recorded."""
        return (self.live.api_key if self.recording else "") or "none"

    def vary(self, *rules: Vary) -> None:
        """Say what may differ between recorded and new requests; before the first use of the reel.

        :raises VaryError: if the reel has been used
        """
        if self._session or self._journals:
            raise VaryError("reel.vary: the reel has been used already; give the rules before its first use")
        self._vary = distinct(self._vary, rules)

    @property
    def given(self) -> Sequence[Vary]:
        """The rules that the test gave."""
        return self._vary

    @property
    def now(self) -> datetime:
        """The time of the recording, in UTC and whole seconds; the same in each replay.

        :raises CassetteError: in a replay of a test that didn't ask for it
        """
        return self._open_session().now

    def new_id(self, name: str = "") -> str:
        """A new id, a UUID; a replay makes the same ids again.

        :param name: ids of one name are numbered among themselves, so that tasks and threads that run at
            once, each with a name of its own, get the same ids in any order
        :raises CassetteError: in a replay of a test that didn't ask for ids or random numbers
        """
        return self._open_session().new_id(name)

    @property
    def random(self) -> random.Random:
        """A generator of random numbers; a replay draws the same ones again, if it draws in the same order.

        :raises CassetteError: in a replay of a test that didn't ask for ids or random numbers
        """
        return self._open_session().random

    @property
    def fits(self) -> Mapping[Vary, int]:
        """For each rule, the number of requests of this test that it fits."""
        return self._session.rules.fits if self._session else dict.fromkeys(self._shared, 0)

    @property
    def transport(self) -> httpx.BaseTransport:
        """A new transport for an ``httpx.Client``; any number of them share the recording."""
        return self._open_session().transport()

    @property
    def async_transport(self) -> httpx.AsyncBaseTransport:
        """A new transport for an ``httpx.AsyncClient``; any number of them share the recording."""
        return self._open_session().async_transport()

    @property
    def httpx2_transport(self) -> Httpx2Transport:
        """The same as :attr:`transport`, for an ``httpx2.Client``, such as the openai SDK takes."""
        return self._open_session().httpx2_transport()

    @property
    def async_httpx2_transport(self) -> AsyncHttpx2Transport:
        """The same as :attr:`async_transport`, for an ``httpx2.AsyncClient``."""
        return self._open_session().async_httpx2_transport()

    @property
    def endpoint(self) -> HttpEndpoint:
        """An endpoint for a driver of your own; closed at the end of the test."""
        if self._endpoint is None:
            key = self.live.api_key_env if self.recording else None
            self._endpoint = HttpEndpoint(self.base_url, api_key_env=key, transport=self.transport)
        return self._endpoint

    def async_endpoint(self) -> AsyncHttpEndpoint:
        """An async endpoint: ``async with reel.async_endpoint() as endpoint``."""
        key = self.live.api_key_env if self.recording else None
        return AsyncHttpEndpoint(self.base_url, api_key_env=key, transport=self.async_transport)

    def journal(self, plan: Plan) -> ReelJournal:
        """The journal of the next run, for a driver of your own; checked at the end of the test."""
        path = self.files.journal(len(self._journals) + 1)
        self._check_exists()
        recorded = read_journal(path) if not self.recording and path.exists() else None
        self._journals.append(ReelJournal(plan, path, recorded, self._allowed_differences(recorded)))
        return self._journals[-1]

    def check(self) -> None:
        """Fail a replay that has left the recording so far; what is left of it may still come.

        :raises toolreel.ReplayMismatch: for the first event or request that is not in the recording
        """
        for journal in self._journals:
            journal.check(whole=False)
        if self._session:
            self._session.check()

    def finish(self) -> None:
        """End the test: fail if the replay differs from the recording, or did not use all of it.

        :raises toolreel.ReplayMismatch: while replaying; names the first difference
        :raises VaryError: if a rule of the recording or of this test fits no request
        """
        for journal in self._journals:
            journal.check()
        if self._session or (not self.recording and self.files.cassette.exists()):
            self._open_session().finish()
        elif self._vary:
            raise VaryError(
                f"the test made no request, so the rule ({self._vary[0].text}) fits none: remove it"
            )
        over = self.files.journals[len(self._journals) :]
        if self._journals and over and not self.recording:
            raise ReplayMismatch(f"{over[0]}: was recorded, but the test had only {len(self._journals)} runs")

    def keep_secret(self, secrets: Mapping[str, str]) -> None:
        """Refuse to save a recording that has one of these values, by name."""
        self._secrets.update(secrets)

    def save(self) -> tuple[Path, ...]:
        """Write the recording completely or not at all; return the paths.

        :raises SecretFound: if it would contain a secret; nothing is written
        """
        for journal in self._journals:
            journal.refuse_secrets(self._known_secrets)
        written = self._save_cassette()
        for stale in self.files.journals[len(self._journals) :]:
            stale.unlink()
        for journal in self._journals:
            journal.save(self._known_secrets)
        return (*written, *(journal.path for journal in self._journals))

    @property
    def wants_key(self) -> bool:
        """Whether the live server refused a request that had no key."""
        if not self.recording or self.live.api_key_env or self._session is None:
            return False
        answers = (exchange.answer for exchange in self._session.exchanges)
        return any(isinstance(answer, StoredResponse) and answer.status in {401, 403} for answer in answers)

    def close(self) -> None:
        """Close the connections of the endpoint."""
        if self._endpoint is not None:
            self._endpoint.close()

    @property
    def _known_secrets(self) -> dict[str, str]:
        return self.live.secrets | self._secrets

    def _save_cassette(self) -> tuple[Path, ...]:
        if self._session is None or not self._session.grown:
            self.files.cassette.unlink(missing_ok=True)
            return ()
        self._session.save(self._known_secrets)
        return (self.files.cassette,)

    def _check_exists(self) -> None:
        if not self.recording and not self.files.exist:
            raise CassetteError(f"{self.files.cassette}: there is no recording of this test yet")

    def _open_session(self) -> Session:
        if self._session is None:
            self._check_exists()
            self._session = Session.of(
                self.files.cassette,
                "record" if self.recording else "replay",
                vary=self._vary,
                shared=self._shared,
            )
        return self._session

    def _allowed_differences(self, recorded: Recorded | None) -> AllowedDifferences | None:
        """What may differ from a recorded run; ``None`` without rules."""
        if recorded is None:
            return None
        tape = self.replayed_tape()
        rules = tape.rules.all if tape else distinct(self._vary, self._shared)
        return AllowedDifferences(recorded, rules) if rules else None

    def replayed_tape(self) -> Recording | None:
        """The cassette of a replay; ``None`` if there is none, since no request was answered."""
        return self._open_session() if self.files.cassette.exists() else None


@dataclass(frozen=True, slots=True)
class LiveSide:
    """The server to record from."""

    base_url: str | None = field(default=None, repr=False)
    api_key_env: str | None = None
    """Name of the environment variable that holds the key."""

    @property
    def api_key(self) -> str:
        """The key, if there is one."""
        return os.environ.get(self.api_key_env or "", "").strip()

    @property
    def secrets(self) -> dict[str, str]:
        """Values to keep out of recordings."""
        return known_secrets(os.environ) | key_as_secret(str(self.api_key_env), self.api_key)

    @property
    def key_notice(self) -> str:
        """What to say about a key for which recordings are not searched; empty if there is nothing to say."""
        return key_notice(str(self.api_key_env), self.api_key)
