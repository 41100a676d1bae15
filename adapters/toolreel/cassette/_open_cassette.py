"""``Recording``: one cassette in use, with its interactions, played or not, and those added to it.

A lookup takes constant time, and a recording is thread-safe.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Event, Lock
from typing import Final, Self

from toolreel._internal import CassetteError, VaryError, log
from toolreel._secrets import (
    SecretRules,
    scrubbed,
    scrubbed_body,
    scrubbed_url,
    searched_for,
    secrets_sent,
)
from toolreel._secrets import known_secrets as known_secrets_of
from toolreel.cassette._file import CassetteFile
from toolreel.cassette._lookup import (
    RERECORD,
    SentRequest,
    Unplayed,
    canonical_body,
    mismatch_text,
    named,
    request_key,
    ruled_key,
    ruled_keys,
)
from toolreel.cassette._serializer import FrozenValues, Header, Interaction, as_bytes
from toolreel.cassette._stored_exchange import (
    CANCELLED,
    CLOSED,
    REQUEST_HEADERS,
    Break,
    Exchange,
    StoredResponse,
    answer_in,
    parts_of,
)
from toolreel.cassette._vary import Compared, RulesInUse, Vary, distinct
from toolreel_core._errors import ReplayMismatch


class Recording:
    """A cassette that is being replayed, recorded, or first replayed and then extended.

    Made by :meth:`load`, :meth:`blank` or :meth:`extended`. All three take ``vary``, rules for this session
    besides those in the file, which have to fit a request of it, and ``shared``, rules that need not.
    """

    def __init__(
        self,
        interactions: list[Interaction],
        file: CassetteFile,
        path: Path,
        vary: Sequence[Vary] = (),
        shared: Sequence[Vary] = (),
        *,
        replays: bool = False,
    ) -> None:
        self.path: Final = path
        self.replays: Final = replays
        """Whether this recording is only replayed."""
        self._interactions: Final = interactions
        self._file: Final = file
        self._lock: Final = Lock()
        self.rules: Final = RulesInUse(distinct(file.header.vary, vary), shared)
        """What may vary in requests."""
        try:
            self._unplayed: Final = Unplayed(ruled_keys(file.keys, self.rules.all))
        except VaryError as error:
            raise VaryError(f"{path}: {error}") from None
        self.frozen: Final = FrozenValues(file.header, draws=not self.replays, name=str(path))
        """Time, ids and random numbers of the session, the same in each replay."""
        self.under_way: Final[dict[object, Callable[[], None]]] = {}
        """While recording: what to call for each exchange that the client has left at the end."""
        self.over: Final = Event()
        """Set at the end of the session."""
        self._misses: list[ReplayMismatch] = []
        self._recorded: Final = len(file.keys)
        self._sent: dict[str, str] = {}

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], vary: Sequence[Vary] = (), shared: Sequence[Vary] = ()
    ) -> Recording:
        """The recording in a file, for a replay.

        :raises CassetteError: if the file is missing, unreadable or invalid
        """
        file = CassetteFile()
        interactions = file.load(Path(path))
        log("cassette", "debug", "cassette_loaded", {"path": path})
        return cls(interactions, file, Path(path), vary, shared, replays=True)

    @classmethod
    def of_text(cls, text: str, path: str | os.PathLike[str]) -> Recording:
        """The recording in a text, such as one of several in a file, for a replay.

        :param path: what errors call it
        :raises CassetteError: if the text is invalid
        """
        file = CassetteFile()
        return cls(file.load_text(text, Path(path)), file, Path(path), replays=True)

    @classmethod
    def blank(
        cls, path: str | os.PathLike[str], vary: Sequence[Vary] = (), shared: Sequence[Vary] = ()
    ) -> Self:
        """An empty recording; the file is not touched before :meth:`save`, and its rules are kept."""
        file = CassetteFile()
        file.header = Header(vary=_rules_in(path))
        return cls([], file, Path(path), vary, shared)

    @classmethod
    def extended(
        cls, path: str | os.PathLike[str], vary: Sequence[Vary] = (), shared: Sequence[Vary] = ()
    ) -> Recording:
        """The recording in a file, to be replayed and then extended; empty if there is no file.

        :raises CassetteError: if the file exists, and is unreadable or invalid
        """
        if not os.path.lexists(path):
            return cls.blank(path, vary, shared)
        loaded = cls.load(path)
        return cls(loaded._interactions, loaded._file, Path(path), vary, shared)

    @property
    def total(self) -> int:
        """The number of interactions."""
        return len(self._interactions)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All interactions, in order; they do not count as played."""
        return tuple(
            Exchange(
                n,
                entry["request"]["method"],
                entry["request"]["uri"],
                as_bytes(entry["request"]["body"]),
                answer_in(entry),
            )
            for n, entry in enumerate(self._interactions, 1)
        )

    @property
    def grown(self) -> bool:
        """Whether interactions were added, or values drawn that have to be the same in each replay."""
        return self.total > self._recorded or self.frozen.header != self._file.header

    @property
    def unplayed(self) -> tuple[int, ...]:
        """The numbers of the interactions that have not been played, counted from 0."""
        with self._lock:
            return self._unplayed.left

    def play(self, method: str, url: str, *body: bytes) -> StoredResponse | Break:
        """The recorded answer to a request; each interaction answers once.

        Of several interactions with the same request, the first unplayed one answers.

        :param body: in one or more pieces
        :raises ReplayMismatch: if no interaction fits; shows how the nearest one differs
        """
        if not (self._recorded or self.replays):
            raise CassetteError(f"{self.path}: is being recorded: play it under replaying()")
        stored = self._take_answer(method, url, *body)
        if stored is None:
            raise self._mismatch_error(method, url, *body)
        return stored

    def play_on(self, method: str, url: str, body: bytes) -> StoredResponse | Break | None:
        """The same as :meth:`play`; ``None`` if all interactions have been played.

        :raises ReplayMismatch: if interactions are left, and none of them is for this request
        """
        stored = self._take_answer(method, url, body)
        if stored is None and self.unplayed:
            raise self._mismatch_error(method, url, body)
        return stored

    def breaks(self, method: str, url: str, *body: bytes) -> bool:
        """Whether the answer to a request would be a failed exchange; it does not count as played.

        One that the client gave up is passed over: why it did so stands in its journal alone.
        """
        index = self._find_interaction(method, url, *body, take=False)
        failed = None if index is None else self._interactions[index].get("error")
        if failed and failed["kind"] in {CLOSED, CANCELLED}:
            self.pass_over(method, url, *body)
            return False
        return failed is not None

    def pass_over(self, method: str, url: str, *body: bytes) -> None:
        """Count the next interaction for a request as played, if there is one."""
        self._find_interaction(method, url, *body, take=True)

    def append(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        answer: StoredResponse | Break,
        credentials: Collection[str] = (),
    ) -> StoredResponse | Break:
        """Add an interaction; headers that a cassette does not store are removed.

        :param credentials: names of further headers whose values are secrets, in lower case
        :returns: the answer as a replaying client will get it
        """
        if self.replays:
            raise CassetteError(f"{self.path}: is being replayed: add to it under recording()")
        kept = {name.lower(): [value] for name, value in headers.items() if name.lower() in REQUEST_HEADERS}
        request = {"method": method, "uri": scrubbed_url(url), "headers": kept, "body": body}
        sent = secrets_sent(url, headers, credentials)
        interaction = {"request": request, **parts_of(_without_sent_secrets(searched_for(sent), answer))}
        with self._lock:
            self._sent |= sent
            self._interactions.append(interaction)
            if self.rules.all:
                self.rules.count(self.rules.compared(body))
        return answer_in(interaction)

    def check(self) -> None:
        """Check that every request so far was in the recording: the client may have caught the exception.

        :raises ReplayMismatch: for the first that was not
        """
        with self._lock:
            misses = [*self._misses]
        if misses:
            raise ReplayMismatch(str(misses[0]))

    def finish(self) -> None:
        """End the session, and check that every interaction was played.

        :raises ReplayMismatch: if interactions are left (lists all of them), or if a request was not in the
            recording, since the client may have caught that exception
        :raises VaryError: if a rule of the file or of this session fits no request
        """
        self.end_exchanges()
        self.check()
        with self._lock:
            left, total = self._unplayed.left, self._recorded
        if left:
            lines = (f"  interaction {n + 1} of {total}: {named(self._interactions[n])}" for n in left)
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

    def save(
        self, known_secrets: Mapping[str, str] | None = None, secret_rules: SecretRules | None = None
    ) -> None:
        """Write the cassette atomically: the old file stays until the new one is on disk.

        Besides ``known_secrets``, credentials that the client has sent are searched, since a server may echo
        them.

        :param known_secrets: secret values by name; by default, those in the environment variables
        :param secret_rules: the project's rules; by default, those in the file named by ``TOOLREEL_SECRETS``
        :raises SecretFound: if the recording contains a secret; nothing is written
        :raises CassetteError: if the file cannot be written
        """
        if self.replays:
            raise CassetteError(f"{self.path}: is being replayed: there is nothing new to save")
        with self._lock:
            self._set_secrets(known_secrets, secret_rules)
            self._file.save(self.path, self._interactions)
        log("cassette", "info", "cassette_saved", {"path": self.path})

    def text(
        self, known_secrets: Mapping[str, str] | None = None, secret_rules: SecretRules | None = None
    ) -> str:
        """The text that :meth:`save` writes, with the same parameters and errors."""
        with self._lock:
            self._set_secrets(known_secrets, secret_rules)
            return self._file.text(self._interactions)

    def _set_secrets(self, known: Mapping[str, str] | None, rules: SecretRules | None) -> None:
        known = known_secrets_of(os.environ) if known is None else known
        self._file.header = self.frozen.header
        self._file.known_secrets = {**known, **self._sent}
        self._file.secret_rules = rules

    def _find_interaction(self, method: str, url: str, *body: bytes, take: bool) -> int | None:
        """The index of the interaction for a request; ``take`` marks it as played in the same locked step."""
        with self._lock:
            compared = self.rules.compared(b"".join(body)) if self.rules.all else None
            if compared is not None:
                index = self._unplayed.find(ruled_key(request_key(method, url)[0], compared))
            else:
                index = self._unplayed.find(request_key(method, url, *body))
                if index is None:  # most bodies are canonical already, so parsing is the fallback
                    index = self._unplayed.find(request_key(method, url, canonical_body(b"".join(body))))
            if index is not None and take:
                self._unplayed.play(index)
                if compared is not None:
                    self.rules.count(compared)
            return index

    def _take_answer(self, method: str, url: str, *body: bytes) -> StoredResponse | Break | None:
        """The answer to a request, which counts as played."""
        index = self._find_interaction(method, url, *body, take=True)
        return None if index is None else answer_in(self._interactions[index])

    def _mismatch_error(self, method: str, url: str, *body: bytes) -> ReplayMismatch:
        asked = SentRequest(method, url, self._body_after_rules(b"".join(body)))
        key = request_key(asked.method, asked.url, asked.body)
        if self.rules.all:
            key = ruled_key(key[0], Compared(asked.body, ()))
        why = mismatch_text(
            asked,
            self._interactions,
            self.unplayed,
            repeated=self._unplayed.holds(key),
            compared=self._body_after_rules,
        )
        mismatch = ReplayMismatch(f"{self.path}: {why}")
        with self._lock:
            self._misses.append(mismatch)
        return mismatch

    def _body_after_rules(self, body: bytes) -> bytes:
        return self.rules.compared(body).body if self.rules.all else canonical_body(body)


def _without_sent_secrets(
    secrets: Mapping[str, str], answer: StoredResponse | Break
) -> StoredResponse | Break:
    """The answer without what its request has sent.

    A body in an encoding, or one that is not UTF-8, stays as it is: it is searched before it is written.
    """
    if not secrets:
        return answer
    if isinstance(answer, Break):
        return replace(answer, message=scrubbed(answer.message, secrets))
    body, broke = answer.body, answer.broke
    # As they are stored: a cookie that comes back keeps its name.
    headers = parts_of(answer)["response"]["headers"]
    with suppress(UnicodeDecodeError):
        body = scrubbed_body(body.decode(), secrets).encode()
    return StoredResponse(
        answer.status,
        scrubbed(answer.reason, secrets),
        tuple((name, scrubbed(value, secrets)) for name, values in headers.items() for value in values),
        body,
        broke and replace(broke, message=scrubbed(broke.message, secrets)),
    )


def _rules_in(path: str | os.PathLike[str]) -> tuple[Vary, ...]:
    """The rules in a file that is about to be replaced; none if there is none, or it cannot be read.

    :raises VaryError: if a rule cannot be used, which must not be lost in silence
    """
    file = CassetteFile()
    with suppress(CassetteError):
        file.load(Path(path))
    return file.header.vary
