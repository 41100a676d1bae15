"""One cassette in use: what it holds, what of it has been played, and what was added to it.

vcrpy's ``Cassette`` keeps the interactions; looking one up costs the same however many there
are, and any number of clients may use one :class:`Recording` at once.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Final

from toolreel.errors import ReplayMismatch
from toolreel_adapters import cassette_format
from toolreel_adapters.cassette_file import CassetteFile
from toolreel_adapters.cassette_key import RequestKey, canonical_body, endpoint, request_key, scrubbed_url
from toolreel_adapters.drift import difference, drift
from toolreel_adapters.errors import CassetteError, MissingExtra
from toolreel_adapters.secret_scan import known_secrets as known_secrets_of

try:
    from vcr.cassette import Cassette
    from vcr.record_mode import RecordMode
    from vcr.request import Request
except ImportError as error:
    raise MissingExtra.of("record", "vcrpy") from error

__all__ = ["REQUEST_HEADERS", "RESPONSE_HEADERS", "Recording", "StoredResponse", "scrubbed"]

REQUEST_HEADERS: Final = frozenset({"accept", "content-type"})
"""The only request headers that a cassette holds."""

RESPONSE_HEADERS: Final = frozenset({"content-encoding", "content-type", "retry-after", "x-request-id"})
"""The only response headers that a cassette holds, and that a recording or replaying client sees."""

_COMPARED: Final = 50
"""How many of the next unplayed interactions are looked at to explain a miss."""

_RERECORD: Final = "If the change is meant, record the session again"


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A response as it stands in a cassette."""

    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    """Names in lower case; see :data:`RESPONSE_HEADERS`."""
    body: bytes
    """Decoded, unless ``headers`` name a ``content-encoding``."""


class Recording:
    """A cassette that is being replayed or recorded; made by :meth:`load` or :meth:`blank`."""

    def __init__(self, cassette: Cassette, file: CassetteFile, path: Path) -> None:
        self.path: Final = path
        self._cassette: Final[Any] = cassette
        self._file: Final = file
        self._lock: Final = Lock()
        self._waiting: Final[dict[RequestKey, deque[int]]] = {}
        self._cursor = 0
        self._misses: list[ReplayMismatch] = []
        for index, key in enumerate(file.keys):
            self._waiting.setdefault(key, deque()).append(index)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recording:
        """The recording in a file, to be replayed.

        :raises CassetteError: when it cannot be read or trusted
        """
        file = CassetteFile()
        cassette = Cassette.load(path=os.fspath(path), record_mode=RecordMode.NONE, **_parts(file))
        return cls(cassette, file, Path(path))

    @classmethod
    def blank(cls, path: str | os.PathLike[str]) -> Recording:
        """A recording without interactions, to be filled and saved; the file is not touched before that."""
        file = CassetteFile()
        return cls(Cassette(os.fspath(path), record_mode=RecordMode.ALL, **_parts(file)), file, Path(path))

    @property
    def total(self) -> int:
        """How many interactions there are."""
        return len(self._cassette.data)

    @property
    def replays(self) -> bool:
        """Whether this recording is there to be replayed, not to be filled."""
        return bool(self._cassette.record_mode == RecordMode.NONE)

    @property
    def unplayed(self) -> tuple[int, ...]:
        """The interactions that have not been played yet, counted from 0; none while recording."""
        with self._lock:
            return self._unplayed()

    def play(self, method: str, url: str, body: bytes) -> StoredResponse:
        """The stored response to a request, which each interaction gives once.

        Of several interactions with the same request the first that is unplayed is taken.

        :raises ReplayMismatch: when there is none; its text shows how the nearest one differs
        """
        if not self.replays:
            raise CassetteError(f"{self.path}: is being recorded: play it under replaying()")
        index = self._take(request_key(method, url, body))  # most bodies are canonical as they come
        if index is None:
            body = canonical_body(body)
            key = request_key(method, url, body)
            index = self._take(key)
            if index is None:
                raise self._miss(method, url, body, repeated=key in self._waiting)
        return _stored(self._cassette.data[index][1])

    def append(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, response: StoredResponse
    ) -> StoredResponse:
        """Add an interaction, without anything that a cassette does not hold.

        :returns: the response as a replaying client will get it
        """
        if self.replays:
            raise CassetteError(f"{self.path}: is being replayed: add to it under recording()")
        kept = {name.lower(): value for name, value in headers.items() if name.lower() in REQUEST_HEADERS}
        request = Request(method, scrubbed_url(url), body, kept)
        stored = _response_dict(response)
        with self._lock:
            self._cassette.append(request, stored)
        return _stored(stored)

    def finish(self) -> None:
        """Say that the session is over; everything must have been played, and nothing else asked for.

        :raises ReplayMismatch: when a request was not in the recording, though somebody may have
            swallowed the exception, or when interactions are left; every one of them is named
        """
        with self._lock:
            left, misses, total = self._unplayed(), [*self._misses], len(self._cassette.data)
        if misses:
            raise ReplayMismatch(str(misses[0]))
        if left:
            lines = (f"  interaction {n + 1} of {total}: {_name(self._cassette.data[n][0])}" for n in left)
            raise ReplayMismatch(
                f"{self.path}: the session is over, but these were recorded and not asked for:\n"
                + "\n".join(lines)
                + f"\n{_RERECORD}."
            )

    def save(self, known_secrets: Mapping[str, str] | None = None) -> None:
        """Write the cassette, all of it or nothing; an old file stays whole until the new one is on disk.

        :param known_secrets: values that must not be in it, by name; those in this process's
            environment when none are given
        :raises SecretFound: when it would hold a secret
        :raises CassetteError: when it cannot be written
        """
        if self.replays:
            raise CassetteError(f"{self.path}: is being replayed: there is nothing new to save")
        with self._lock:
            known = known_secrets_of(os.environ) if known_secrets is None else known_secrets
            self._file.known_secrets = known
            self._cassette._save(force=True)

    def _take(self, key: RequestKey) -> int | None:
        with self._lock:
            index = self._waiting_for(key)
            if index is not None:
                self._cassette.play_counts[index] += 1
            return index

    def _waiting_for(self, key: RequestKey) -> int | None:
        index, keys = self._first_unplayed(), self._file.keys
        if index < len(keys) and keys[index] == key:
            return (
                index  # most sessions are asked for in order; a hash of the body would be another look at it
            )
        waiting = self._waiting.get(key)
        while waiting and self._cassette.play_counts[waiting[0]]:
            waiting.popleft()
        return waiting[0] if waiting else None

    def _first_unplayed(self) -> int:
        counts, total = self._cassette.play_counts, len(self._cassette.data)
        while self._cursor < total and counts[self._cursor]:
            self._cursor += 1
        return self._cursor

    def _unplayed(self) -> tuple[int, ...]:
        if not self.replays:
            return ()
        counts, total = self._cassette.play_counts, len(self._cassette.data)
        return tuple(index for index in range(self._first_unplayed(), total) if not counts[index])

    def _miss(self, method: str, url: str, body: bytes, *, repeated: bool) -> ReplayMismatch:
        asked = f"{method.upper()} {endpoint(url)}"
        left, total = self.unplayed, self.total
        text = f"{self.path}: {asked} is not in the recording"
        if repeated:
            text = f"{self.path}: {asked} was recorded, but is asked for more often than that"
        if not left:
            text += f"; all {total} interactions have been played. {_RERECORD}."
        else:
            index = self._nearest(asked, body, left[:_COMPARED])
            text += f"; the nearest that is still unplayed is interaction {index + 1} of {total}:\n"
            text += f"{self._comparison(index, asked, body)}\n{_RERECORD}."
        mismatch = ReplayMismatch(text)
        with self._lock:
            self._misses.append(mismatch)
        return mismatch

    def _nearest(self, asked: str, body: bytes, candidates: Iterable[int]) -> int:
        def likeness(index: int) -> tuple[bool, int]:
            request = self._cassette.data[index][0]
            return _name(request) == asked, -difference(canonical_body(request.body or b""), body)

        return max(candidates, key=likeness)

    def _comparison(self, index: int, asked: str, body: bytes) -> str:
        request = self._cassette.data[index][0]
        if _name(request) != asked:
            return f"first change: the endpoint\n  recorded: {_name(request)}\n  request:  {asked}"
        return drift(canonical_body(request.body or b""), body)


def _parts(file: CassetteFile) -> dict[str, Any]:
    return {"serializer": cassette_format, "persister": file, "match_on": ()}


def _name(request: Request) -> str:
    return f"{request.method.upper()} {endpoint(request.uri)}"


def _response_dict(response: StoredResponse) -> dict[str, Any]:
    headers: dict[str, list[str]] = {}
    for name, value in response.headers:
        if name.lower() in RESPONSE_HEADERS:
            headers.setdefault(name.lower(), []).append(value)
    status = {"code": response.status, "message": response.reason}
    return {"status": status, "headers": headers, "body": {"string": response.body}}


def scrubbed(response: StoredResponse) -> StoredResponse:
    """The response as a replaying client will get it: without anything that a cassette does not hold."""
    return _stored(_response_dict(response))


def _stored(response: Mapping[str, Any]) -> StoredResponse:
    status, body = response["status"], response["body"]["string"]
    headers = tuple((name, value) for name, values in response["headers"].items() for value in values)
    return StoredResponse(status["code"], status["message"], headers, body)
