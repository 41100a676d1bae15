"""``Session``: one cassette in use, with its exchanges, played or not, and those added to it."""

from __future__ import annotations

import os
import secrets
from collections import Counter, deque
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain
from pathlib import Path
from threading import Event, RLock
from typing import TYPE_CHECKING, Literal, TypeAlias
from uuid import UUID

from toolreel._internal import CassetteError, VaryError, log
from toolreel._secrets import known_secrets as known_secrets_of
from toolreel._secrets import scrubbed, scrubbed_body, scrubbed_url, secrets_in_request, secrets_to_scrub
from toolreel.cassette._lookup import (
    RERECORD,
    Change,
    RequestKey,
    canonical_body,
    changed_lines,
    drift_text,
    request_key,
    request_name,
)
from toolreel.cassette._serializer import SessionHeader, read_cassette, write_cassette
from toolreel.cassette._stored_exchange import (
    REQUEST_HEADERS,
    Exchange,
    StoredResponse,
    with_storable_headers,
)
from toolreel.cassette._vary import (
    Vary,
    apply_rules_to_body,
    check_rules_distinguish_requests,
    distinct_rules,
)
from toolreel_core._config_checks import check_choice
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import read_json

if TYPE_CHECKING:
    import httpx

    from toolreel.cassette._httpx2 import Httpx2Transport

Mode: TypeAlias = Literal["replay", "record", "auto", "extend"]
"""How a cassette is used: ``replay``, ``record``, ``auto`` or ``extend``; see :func:`use_cassette`."""

MODES: tuple[Mode, ...] = ("replay", "record", "auto", "extend")


class Session:
    """One cassette in use; makes transports for HTTP clients. Thread-safe.

    :func:`use_cassette` opens one for a ``with`` block. Without it, nothing is checked before :meth:`finish`,
    and nothing is written before :meth:`save`.

    :param vary: what may differ in requests, besides the rules of the file, which stay in it;
        :meth:`finish` fails if one of either fits no request
    :param shared: more such rules, which need not fit a request of this session
    :raises CassetteError: if the file is to be replayed, and is missing, unreadable or invalid
    :raises VaryError: if a rule of the file cannot be used
    :raises ConfigError: if there is no such mode
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        mode: Mode = "replay",
        *,
        vary: Sequence[Vary] = (),
        shared: Sequence[Vary] = (),
    ) -> None:
        check_choice("mode", mode, MODES)
        self.path = Path(path)
        exists = os.path.lexists(path)
        self.replays = mode == "replay" or (mode == "auto" and exists)
        """Whether nothing is recorded."""
        header, exchanges = SessionHeader(), list[Exchange]()
        if self.replays or (mode == "extend" and exists):
            header, exchanges = read_cassette(self.path)
            log("cassette", "debug", "cassette_loaded", {"path": path})
        else:
            with suppress(CassetteError):
                header = SessionHeader(vary=read_cassette(self.path)[0].vary)
        self.header = header
        """What the file says, with the time and the seed that this session has drawn."""
        self.exchanges = exchanges
        """All exchanges, in order."""
        self._read = (header, len(exchanges))
        own = distinct_rules(header.vary, vary)
        self.rules = distinct_rules(own, shared)
        """What may vary in requests."""
        check_rules_distinguish_requests(self.rules)
        self._required_rules = own
        self._fits = Counter[Vary]()
        self._lock = RLock()
        self._left: dict[RequestKey, deque[int]] = {}
        """The places of the exchanges that have not been played, by request."""
        for place, exchange in enumerate(exchanges):
            pieces = exchange.pieces
            if self.rules or len(pieces) == 1:  # those of a conversation are canonical
                pieces = (self._compared_body(exchange.body),)
            self._left.setdefault(request_key(exchange.request_name, pieces), deque()).append(place)
        self._ids = Counter[str]()
        self.under_way: dict[object, Callable[[], None]] = {}
        """While recording: what to call for each exchange that the client has left at the end."""
        self.unrecorded: list[str] = []
        """While recording: why exchanges were left out, such as a body that is too large."""
        self.over = Event()
        """Set at the end of the session."""
        self._faults: list[ReplayMismatch | VaryError] = []
        """Requests that were not in the recording, or of which the rules leave nothing to compare."""
        self._sent: dict[str, str] = {}

    @property
    def now(self) -> datetime:
        """The time of the recording, in UTC and whole seconds; the same in each replay.

        :raises CassetteError: in a replay of a session that didn't ask for it
        """
        with self._lock:
            if self.header.now is None:
                self._check_allows_new_values("now")
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
                self._check_allows_new_values("new_id()")
                self.header = replace(self.header, seed=secrets.randbelow(2**32))
            self._ids[name] += 1
            material = f"{self.header.seed}:{self._ids[name]}:{name}"
        return str(UUID(bytes=sha256(material.encode()).digest()[:16], version=4))

    def _check_allows_new_values(self, value: str) -> None:
        if self.replays:
            raise CassetteError(
                f"{self.path}: was recorded by a session that did not use {value}: record it again"
            )

    @property
    def fits(self) -> Mapping[Vary, int]:
        """For each rule, the number of requests of this session that it fits."""
        return {rule: self._fits[rule] for rule in self.rules}

    @property
    def has_changes(self) -> bool:
        """Whether exchanges were added, or values drawn that have to be the same in each replay."""
        return (self.header, len(self.exchanges)) != self._read

    @property
    def unplayed(self) -> tuple[int, ...]:
        """The places of the exchanges that have not been played, counted from 0."""
        with self._lock:
            return tuple(sorted(chain.from_iterable(self._left.values())))

    def play(self, method: str, url: str, *body: bytes) -> StoredResponse | None:
        """The recorded answer to a request; each exchange answers once, the first unplayed one before others.

        ``None`` if the request is to be sent, since this session records and all exchanges were played.

        :param body: in one or more pieces
        :raises ReplayMismatch: if no exchange fits; shows how the nearest one differs
        """
        exchange = self.skip_exchange(method, url, *body)
        if exchange is not None:
            return exchange.answer
        if self.replays or self.unplayed:
            raise self._mismatch_error(request_name(method, url), b"".join(body))
        return None

    def skip_exchange(self, method: str, url: str, *body: bytes, whole: bool = True) -> Exchange | None:
        """Count the next exchange for a request as played, if there is one, and return it.

        :param whole: otherwise, only an exchange that broke off counts
        """
        name = request_name(method, url)
        used: tuple[Vary, ...] = ()
        with self._lock:
            if self.rules:
                compared, used = apply_rules_to_body(b"".join(body), self.rules)
                left = self._left.get(request_key(name, [compared]))
            else:  # most bodies are canonical already, so parsing is the fallback
                left = self._left.get(request_key(name, body))
                left = left or self._left.get(request_key(name, [canonical_body(b"".join(body))]))
            if not left or not (whole or self.exchanges[left[0]].broke):
                return None
            self._register_used_vary_rules(b"".join(body), used)
            return self.exchanges[left.popleft()]

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
        sent = secrets_in_request(url, headers, credentials)
        with self._lock:
            stored = _answer_without_secrets(secrets_to_scrub(sent), with_storable_headers(answer))
            named = {name.lower(): [value] for name, value in headers.items()}
            kept = {name: named[name] for name in named if name in REQUEST_HEADERS}
            number = len(self.exchanges) + 1
            self.exchanges.append(Exchange(number, method, scrubbed_url(url), kept, (body,), stored))
            self._sent |= sent
            if self.rules:
                self._register_used_vary_rules(body, apply_rules_to_body(body, self.rules)[1])
        return stored

    def check(self) -> None:
        """Check the requests so far: the client may have caught the exception.

        :raises ReplayMismatch: for the first that was not in the recording
        :raises VaryError: for the first of which the rules leave nothing to compare
        """
        with self._lock:
            faults = [*self._faults]
        for first in faults:
            raise type(first)(str(first))

    def finish(self) -> None:
        """End the session, and check that every exchange was played and every rule used.

        :raises ReplayMismatch: if exchanges are left (lists all of them), or if a request was not in the
            recording, since the client may have caught that exception
        :raises VaryError: if a rule of the file or of this session fits no request, or leaves nothing of one
        """
        self.end_exchanges()
        self.check()
        if left := [self.exchanges[place] for place in self.unplayed]:
            lines = (f"\n  {one.name} of {self._read[1]}: {one.request_name}" for one in left)
            raise ReplayMismatch(
                f"{self.path}: the session is over, but these were recorded and not asked for:"
                f"{''.join(lines)}\n{RERECORD}."
            )
        for rule in self._required_rules:
            if not self._fits[rule]:
                raise VaryError(
                    f"{self.path}: the rule ({rule.text}) fits no request of this session: "
                    "correct or remove it"
                )

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
            with self._lock:
                write_cassette(self.path, self.header, self.exchanges, {**known, **self._sent})
            log("cassette", "info", "cassette_saved", {"path": self.path})
        return self.has_changes

    def _register_used_vary_rules(self, body: bytes, used: Sequence[Vary]) -> None:
        self._fits.update(used)
        if used:
            try:
                check_rules_distinguish_requests(used, [read_json(body.decode()).value_or({})])
            except VaryError as error:
                self._faults.append(VaryError(f"{self.path}: {error}"))

    def _mismatch_error(self, name: str, body: bytes) -> ReplayMismatch:
        compared, total = self._compared_body(body), len(self.exchanges)
        problem, rest = "is not in the recording", f"all {total} interactions have been played. {RERECORD}."
        if request_key(name, [compared]) in self._left:
            problem = "was recorded, but is asked for more often than that"
        if left := [self.exchanges[place] for place in self.unplayed]:
            following = next((each for each in left if each.request_name == name), left[0])
            change = "\n".join(changed_lines(Change("the endpoint", following.request_name, name)))
            if following.request_name == name:
                change = drift_text(self._compared_body(following.body), compared)
            rest = f"the next that is still unplayed is {following.name} of {total}:\n{change}\n{RERECORD}."
        mismatch = ReplayMismatch(f"{self.path}: {name} {problem}; {rest}")
        with self._lock:
            self._faults.append(mismatch)
        return mismatch

    def _compared_body(self, body: bytes) -> bytes:
        return apply_rules_to_body(body, self.rules)[0] if self.rules else canonical_body(body)

    # Imported late: most of what reads a recording sends nothing.

    def transport(self, inner: httpx.BaseTransport | None = None) -> httpx.BaseTransport:
        """A new transport for an ``httpx.Client``; each client needs one of its own.

        :param inner: the transport to the network, unused in a replay. By default, requests go out as
            those of a plain ``httpx.Client`` do, through the proxy that the environment names
        """
        from toolreel.cassette._transports import CassetteTransport

        return CassetteTransport(self, inner)

    def async_transport(self, inner: httpx.AsyncBaseTransport | None = None) -> httpx.AsyncBaseTransport:
        """The same as :meth:`transport`, for an ``httpx.AsyncClient``."""
        from toolreel.cassette._transports import CassetteTransport

        return CassetteTransport(self, inner)

    def httpx2_transport(self, inner: httpx.BaseTransport | None = None) -> Httpx2Transport:
        """The same as :meth:`transport`, for an ``httpx2.Client``, which for example the openai SDK uses."""
        from toolreel.cassette._httpx2 import Httpx2Transport

        return Httpx2Transport(self.transport(inner))

    def async_httpx2_transport(self, inner: httpx.AsyncBaseTransport | None = None) -> Httpx2Transport:
        """The same as :meth:`transport`, for an ``httpx2.AsyncClient``."""
        from toolreel.cassette._httpx2 import Httpx2Transport

        return Httpx2Transport(self.async_transport(inner))


def _answer_without_secrets(secrets: Mapping[str, str], answer: StoredResponse) -> StoredResponse:
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


@contextmanager
def use_cassette(
    path: str | os.PathLike[str],
    mode: Mode = "replay",
    *,
    vary: Sequence[Vary] = (),
    known_secrets: Mapping[str, str] | None = None,
) -> Generator[Session]:
    """Record or replay the HTTP traffic of a ``with`` block.

    ``with use_cassette("question.yaml", "auto") as session:`` gives a :class:`Session`; pass
    ``session.transport()`` to your HTTP client. If the block raises, nothing is written.

    :param path: the cassette, a YAML file; its folder is made if it is missing
    :param mode: ``replay`` (the default) answers from the file alone; ``record`` records over the network and
        replaces the file; ``auto`` replays if the file exists, else records; ``extend`` replays the file,
        then records what follows
    :param vary: what may differ between recorded and new requests, besides the rules in the file
    :param known_secrets: secret values by name, which must not be written; by default, those in the
        environment variables of this process
    :raises CassetteError: if the file is missing, unreadable, invalid or not writable
    :raises toolreel.ConfigError: if there is no such mode
    :raises VaryError: at the end of the block, if a rule fits no request, or leaves nothing of one to compare
    :raises SecretFound: at the end of the block, if the recording contains a secret; nothing is written
    :raises toolreel.ReplayMismatch: in the block, for a request that is not in the recording; at its end, if
        there was such a request or an interaction was not requested
    """
    session = Session(path, mode, vary=vary)
    yield session
    session.finish()
    session.save(known_secrets)
