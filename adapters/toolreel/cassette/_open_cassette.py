"""``Recording``: one cassette in use, with its exchanges, played or not, and those added to it."""

from __future__ import annotations

import os
import secrets
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain
from pathlib import Path
from threading import Event, RLock
from typing import Final, Self
from uuid import UUID

from toolreel._internal import CassetteError, log
from toolreel._secrets import known_secrets as known_secrets_of
from toolreel._secrets import scrubbed, scrubbed_body, secrets_sent, secrets_to_scrub
from toolreel.cassette._lookup import (
    RERECORD,
    RequestKey,
    canonical_body,
    drift_text,
    request_key,
    request_name,
)
from toolreel.cassette._serializer import Header, cassette_text, read_cassette, replace_file
from toolreel.cassette._stored_exchange import (
    Exchange,
    StoredResponse,
    stored_exchange,
)
from toolreel.cassette._vary import RulesInUse, Vary, distinct_rules
from toolreel_core._errors import ReplayMismatch


class Recording:
    """A cassette that is being replayed, recorded, or first replayed and then extended. Thread-safe.

    Made by :meth:`load` or :meth:`blank`. Both take ``vary``, rules for this session
    besides those in the file, which have to fit a request of it, and ``shared``, rules that need not.
    """

    def __init__(
        self,
        exchanges: Sequence[Exchange],
        header: Header,
        path: str | os.PathLike[str],
        vary: Sequence[Vary] = (),
        shared: Sequence[Vary] = (),
        *,
        replays: bool = False,
    ) -> None:
        self.path: Final = Path(path)
        self.replays: Final = replays
        """Whether this recording is only replayed."""
        self._exchanges: Final = [*exchanges]
        self._lock: Final = RLock()
        self.rules: Final = RulesInUse(distinct_rules(header.vary, vary), shared)
        """What may vary in requests."""
        self._left: Final[dict[RequestKey, deque[int]]] = {}
        """The places of the exchanges that have not been played, by request."""
        for place, exchange in enumerate(exchanges):
            self._left.setdefault(self._recorded_key(exchange), deque()).append(place)
        self.header = header
        """What the file says, with the time and the seed that this session has drawn."""
        self._ids: Final[Counter[str]] = Counter()
        self.under_way: Final[dict[object, Callable[[], None]]] = {}
        """While recording: what to call for each exchange that the client has left at the end."""
        self.over: Final = Event()
        """Set at the end of the session."""
        self._misses: list[ReplayMismatch] = []
        self._header: Final = header
        self._recorded: Final = len(exchanges)
        self._sent: dict[str, str] = {}

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], vary: Sequence[Vary] = (), shared: Sequence[Vary] = ()
    ) -> Self:
        """The recording in a file, for a replay.

        :raises CassetteError: if the file is missing, unreadable or invalid
        """
        header, exchanges = read_cassette(Path(path))
        log("cassette", "debug", "cassette_loaded", {"path": path})
        return cls(exchanges, header, path, vary, shared, replays=True)

    @classmethod
    def blank(
        cls, path: str | os.PathLike[str], vary: Sequence[Vary] = (), shared: Sequence[Vary] = ()
    ) -> Self:
        """An empty recording; the file is not touched before :meth:`save`, and its rules are kept.

        :raises VaryError: if one of these rules cannot be used, which must not be lost in silence
        """
        kept: tuple[Vary, ...] = ()
        with suppress(CassetteError):
            kept = read_cassette(Path(path))[0].vary
        return cls((), Header(vary=kept), path, vary, shared)

    @property
    def now(self) -> datetime:
        """The time of the recording, in UTC and whole seconds; the same in each replay.

        :raises CassetteError: in a replay of a session that didn't ask for it
        """
        with self._lock:
            if self.header.now is None:
                self._check_may_draw("now")
                self.header = replace(self.header, now=datetime.now(UTC).replace(microsecond=0))
            assert self.header.now is not None  # noqa: S101 - drawn above
            return self.header.now

    def new_id(self, name: str = "") -> str:
        """A new id, a UUID; a replay makes the same ids again.

        :param name: ids of one name are numbered among themselves, so that tasks and threads that run at
            once, each with a name of its own, get the same ids in any order
        :raises CassetteError: in a replay of a session that didn't ask for ids
        """
        with self._lock:
            if self.header.seed is None:
                self._check_may_draw("new_id()")
                self.header = replace(self.header, seed=secrets.randbelow(2**32))
            self._ids[name] += 1
            material = f"{self.header.seed}:{self._ids[name]}:{name}"
        return str(UUID(bytes=sha256(material.encode()).digest()[:16], version=4))

    def _check_may_draw(self, wanted: str) -> None:
        if self.replays:
            raise CassetteError(
                f"{self.path}: was recorded by a session that did not use {wanted}: record it again"
            )

    @property
    def total(self) -> int:
        """The number of exchanges."""
        return len(self._exchanges)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All exchanges, in order; they do not count as played."""
        return tuple(self._exchanges)

    @property
    def has_changes(self) -> bool:
        """Whether exchanges were added, or values drawn that have to be the same in each replay."""
        return self.total > self._recorded or self.header != self._header

    @property
    def unplayed(self) -> tuple[int, ...]:
        """The places of the exchanges that have not been played, counted from 0."""
        with self._lock:
            return tuple(sorted(chain.from_iterable(self._left.values())))

    def play(self, method: str, url: str, *body: bytes) -> StoredResponse:
        """The recorded answer to a request; each exchange answers once.

        Of several exchanges with the same request, the first unplayed one answers.

        :param body: in one or more pieces
        :raises ReplayMismatch: if no exchange fits; shows how the nearest one differs
        """
        stored = self.play_on(method, url, *body)
        if stored is None:
            raise self._mismatch_error(method, url, *body)
        return stored

    def play_on(self, method: str, url: str, *body: bytes) -> StoredResponse | None:
        """The same as :meth:`play`; ``None`` if the request is to be sent, since all exchanges were played.

        :raises ReplayMismatch: if exchanges are left, or nothing is to be recorded
        """
        place = self._take_place(method, url, *body)
        if place is not None:
            return self._exchanges[place].answer
        if self.replays or self.unplayed:
            raise self._mismatch_error(method, url, *body)
        return None

    def pass_over(self, method: str, url: str, *body: bytes, whole: bool = True) -> None:
        """Count the next exchange for a request as played, if there is one.

        :param whole: whether it may be complete; else only one that broke off counts
        """
        self._take_place(method, url, *body, whole=whole)

    def append(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        answer: StoredResponse,
        credentials: Collection[str] = (),
    ) -> StoredResponse:
        """Add an exchange; headers that a cassette does not store are removed.

        :param credentials: names of further headers whose values are secrets, in lower case
        :returns: the answer as a replaying client will get it
        """
        if self.replays:
            raise CassetteError(f"{self.path}: is being replayed, so nothing can be recorded in it")
        sent = secrets_sent(url, headers, credentials)
        with self._lock:
            exchange = stored_exchange(self.total + 1, method, url, headers, body, answer)
            exchange = replace(exchange, answer=_without_secrets(secrets_to_scrub(sent), exchange.answer))
            self._sent |= sent
            self._exchanges.append(exchange)
            if self.rules.all:
                self.rules.count(self.rules.compared_body(body))
        return exchange.answer

    def check_misses(self) -> None:
        """Check that every request so far was in the recording: the client may have caught the exception.

        :raises ReplayMismatch: for the first that was not
        """
        with self._lock:
            misses = [*self._misses]
        if misses:
            raise ReplayMismatch(str(misses[0]))

    def finish(self) -> None:
        """End the session, and check that every exchange was played.

        :raises ReplayMismatch: if exchanges are left (lists all of them), or if a request was not in the
            recording, since the client may have caught that exception
        :raises VaryError: if a rule of the file or of this session fits no request
        """
        self.end_exchanges()
        self.check_misses()
        if left := self.unplayed:
            lines = (
                f"  {one.name} of {self._recorded}: {request_name(one.method, one.url)}"
                for one in (self._exchanges[place] for place in left)
            )
            raise ReplayMismatch(
                f"{self.path}: the session is over, but these were recorded and not asked for:\n"
                + "\n".join(lines)
                + f"\n{RERECORD}."
            )
        self.rules.check(self.path)

    def end_exchanges(self) -> None:
        """Record what has come so far of exchanges that are still under way; none can be added later."""
        self.over.set()
        for leave in [*self.under_way.values()]:
            leave()

    def save(self, known_secrets: Mapping[str, str] | None = None) -> bool:
        """Write the cassette atomically if anything was recorded; returns whether it was written.

        Besides ``known_secrets``, credentials that the client has sent are searched, since a server may echo
        them.

        :param known_secrets: secret values by name; by default, those in the environment variables
        :raises SecretFound: if the recording contains a secret; the old file stays
        :raises CassetteError: if the file cannot be written; the old file stays
        """
        if self.has_changes:
            known = known_secrets_of(os.environ) if known_secrets is None else known_secrets
            try:
                with self._lock:
                    text = cassette_text(self.header, self._exchanges, {**known, **self._sent})
            except CassetteError as error:
                raise type(error)(f"{self.path}: {error}") from error
            replace_file(self.path, text.encode())
            log("cassette", "info", "cassette_saved", {"path": self.path})
        return self.has_changes

    def _recorded_key(self, exchange: Exchange) -> RequestKey:
        pieces = exchange.pieces
        if self.rules.all or len(pieces) == 1:  # those of a conversation are canonical
            pieces = (self._compared_body(exchange.body),)
        return request_key(request_name(exchange.method, exchange.url), pieces)

    def _take_place(self, method: str, url: str, *body: bytes, whole: bool = True) -> int | None:
        """The place of the exchange for a request, which counts as played from now on."""
        name, compared = request_name(method, url), None
        with self._lock:
            if self.rules.all:
                compared = self.rules.compared_body(b"".join(body))
                left = self._left.get(request_key(name, [compared.body]))
            else:  # most bodies are canonical already, so parsing is the fallback
                left = self._left.get(request_key(name, body))
                left = left or self._left.get(request_key(name, [canonical_body(b"".join(body))]))
            if not left or not (whole or self._exchanges[left[0]].broke):
                return None
            if compared:
                self.rules.count(compared)
            return left.popleft()

    def _mismatch_error(self, method: str, url: str, *body: bytes) -> ReplayMismatch:
        """Why a request has no answer: how it differs from the next one of its endpoint."""
        name, asked = request_name(method, url), self._compared_body(b"".join(body))
        unplayed, total = [self._exchanges[place] for place in self.unplayed], self.total
        text = f"{self.path}: {name} is not in the recording"
        if request_key(name, [asked]) in self._left:
            text = f"{self.path}: {name} was recorded, but is asked for more often than that"
        if not unplayed:
            text += f"; all {total} interactions have been played. {RERECORD}."
        else:
            own = (each for each in unplayed if request_name(each.method, each.url) == name)
            following = next(own, unplayed[0])
            recorded = request_name(following.method, following.url)
            change = f"first change: the endpoint\n  recorded: {recorded}\n  request:  {name}"
            if recorded == name:
                change = drift_text(self._compared_body(following.body), asked)
            text += (
                f"; the next that is still unplayed is {following.name} of {total}:\n{change}\n{RERECORD}."
            )
        mismatch = ReplayMismatch(text)
        with self._lock:
            self._misses.append(mismatch)
        return mismatch

    def _compared_body(self, body: bytes) -> bytes:
        return self.rules.compared_body(body).body if self.rules.all else canonical_body(body)


def _without_secrets(secrets: Mapping[str, str], answer: StoredResponse) -> StoredResponse:
    """The answer without what its request has sent.

    A body in an encoding, or one that is not UTF-8, stays as it is: it is searched before it is written.
    """
    if not secrets:
        return answer
    body, broke = answer.body, answer.broke
    with suppress(UnicodeDecodeError):
        body = scrubbed_body(body.decode(), secrets).encode()
    return StoredResponse(
        answer.status,
        scrubbed(answer.reason, secrets),
        tuple((name, scrubbed(value, secrets)) for name, value in answer.headers),
        body,
        broke and replace(broke, message=scrubbed(broke.message, secrets)),
    )
