"""Where exchanges with an upstream go: to the network, onto a cassette, or from one."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b, sha256
from pathlib import Path
from threading import Event
from typing import Any, Final, TypeAlias

import httpx

from toolreel._internal import AdapterError, CassetteError, SecretFound
from toolreel._replay import BEHIND_PROXY, recover_runs, save_journals
from toolreel.cassette import (
    RERECORD,
    CassetteTransport,
    Exchange,
    Session,
    StoredResponse,
    areplay_response,
    canonical_body,
    compared_endpoint,
    differing_bytes,
    drift_text,
)
from toolreel.proxy._conversations import Conversation, Conversations
from toolreel.proxy._settings import ProxySettings
from toolreel_core._client_requests import ClientRequest
from toolreel_core._errors import ReplayMismatch, ToolreelError
from toolreel_core._jsontext import Json, as_tree, canonical, read
from toolreel_core._plan import Preset, exact_config
from toolreel_core._proxy import Extras, Profile

# Makes the journals of a conversation from its cassette, as ``toolreel cassettes journal`` does.


def make_journals(cassette: Path, profile: Profile, settings: Mapping[str, Any]) -> str:
    """Write the journals next to a cassette, one a run; returns why there are none, or nothing.

    :param profile: under which its replies were read
    :param settings: of the loop; they take precedence
    """
    config, provider = exact_config(profile.config), canonical(profile.provider.changes())
    preset = Preset((BEHIND_PROXY,), config=config, provider=provider)
    try:
        runs = recover_runs(Session(cassette), preset=preset, settings=settings)
        ends = ("", *(f"+{number}" for number in range(2, len(runs) + 1)))
        save_journals(runs, [cassette.with_name(f"{cassette.stem}{end}.journal.jsonl") for end in ends])
    except (ToolreelError, AdapterError, OSError) as error:
        return str(error)
    return ""


# Recorded exchanges of a folder of cassettes, found by what is asked.
#
# Many sessions are replayed from one folder, in any order and as often as they are repeated: of equal
# requests, the recorded answers are given in turn, and after the last the first again.


Tell: TypeAlias = Callable[[Mapping[str, Json]], None]
"""Takes one entry of the log."""

_COMPARED: Final = 2_000
"""Recorded requests among which the nearest is searched."""


class Shelf:
    """The recorded exchanges.

    :param folder: with cassettes, which are read at once
    :raises CassetteError: if one cannot be read
    """

    def __init__(self, folder: Path) -> None:
        self._folder: Final = folder
        self._answers: Final[dict[tuple[str, bytes], list[tuple[Path, StoredResponse]]]] = {}
        self._turn: Final[dict[tuple[str, bytes], int]] = {}
        self._asked: Final[list[tuple[Path, Exchange]]] = []
        for path in sorted(folder.glob("*.yaml")):
            recording = Session(path)
            for exchange in recording.exchanges:
                self.add(path, exchange)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that were asked."""
        bodies = (as_tree(read(each.body.decode("utf-8", "replace")).value_or("")) for _, each in self._asked)
        names = (body.get("model") for body in bodies)
        return tuple(dict.fromkeys(name for name in names if isinstance(name, str)))

    def add(self, path: Path, exchange: Exchange) -> None:
        """Put an exchange on the shelf."""
        key = _key(exchange.url, exchange.body)
        self._answers.setdefault(key, []).append((path, exchange.answer))
        self._asked.append((path, exchange))

    def next_answer(self, url: str, body: bytes) -> tuple[Path, StoredResponse] | None:
        """The next recorded answer to a request, and the cassette that it is from."""
        key = _key(url, body)
        found = self._answers.get(key)
        if not found:
            return None
        turn = self._turn.get(key, 0)
        self._turn[key] = turn + 1
        return found[turn % len(found)]

    def mismatch(self, url: str, body: bytes) -> ReplayMismatch:
        """Why a request has no answer, with its difference from the nearest one."""
        asked, name = canonical_body(body), compared_endpoint(url)
        text = f"POST {name} is in no recording of {self._folder}"
        near = min(
            [each for each in self._asked if compared_endpoint(each[1].url) == name][:_COMPARED],
            key=lambda each: differing_bytes(canonical_body(each[1].body), asked),
            default=None,
        )
        if near is None:
            return ReplayMismatch(
                f"{text}, which has none of that kind. Record it with --record {self._folder}."
            )
        path, exchange = near
        lines = drift_text(canonical_body(exchange.body), asked)
        return ReplayMismatch(f"{text}; the nearest is {exchange.name} of {path}:\n{lines}\n{RERECORD}.")


def _key(url: str, body: bytes) -> tuple[str, bytes]:
    return compared_endpoint(url), sha256(canonical_body(body)).digest()


class Recorder:
    """The recordings of a proxy.

    :raises CassetteError: if the folder has a cassette that cannot be read
    """

    def __init__(self, settings: ProxySettings, tell: Tell) -> None:
        self._settings: Final = settings
        self._salt: Final = os.urandom(16)
        self._writer: Final = Writer(_settings_of(settings.extras), tell)
        self._closes_at_exit = False
        folder = None if settings.folder is None else Path(settings.folder)
        self._conversations: Final = None if folder is None or settings.replays else Conversations(folder)
        self._shelf: Final = Shelf(folder) if folder is not None and settings.mode != "record" else None
        if folder is not None and not settings.replays:
            folder.mkdir(parents=True, exist_ok=True)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that were recorded."""
        return () if self._shelf is None else self._shelf.models

    def caller_name(self, key: str) -> str:
        """A name for the owner of this key, which means nothing elsewhere; the key itself is not kept."""
        return blake2b(key.encode("utf-8", "replace"), key=self._salt).hexdigest()

    def take_conversation(self, request: ClientRequest, profile: Profile, caller: str) -> Conversation | None:
        """The conversation of a request, if conversations are recorded."""
        if self._conversations is None:
            return None
        return self._conversations.take(request, profile, caller)

    def transport_for(
        self, inner: httpx.AsyncBaseTransport, conversation: Conversation | None
    ) -> httpx.AsyncBaseTransport:
        """What performs the exchanges of a request."""
        if conversation is not None:
            inner = CassetteTransport(
                conversation.recording, inner, limit=self._settings.limits.response_bytes
            )
        return (
            inner
            if self._shelf is None
            else _FromShelf(self._shelf, None if self._settings.replays else inner)
        )

    def put_back(self, conversation: Conversation, said: Sequence[Json], size: int) -> None:
        """Let a conversation wait for its next request.

        Before the client has the end of the reply, since its next request may follow at once.

        :param said: the reply, if there was one
        :param size: bytes of the request
        """
        if self._conversations is None:
            return
        if self._shelf is not None:
            exchanges = conversation.recording.exchanges
            for exchange in exchanges[conversation.shelved :]:
                self._shelf.add(conversation.path, exchange)
            conversation.shelved = len(exchanges)
        for each in self._conversations.put_back(conversation, said, size):
            self._writer.make_journals_soon(each)

    def save_soon(self, conversation: Conversation) -> None:
        """Write a conversation to disk soon."""
        if not self._closes_at_exit:  # not every server tells applications of its end
            self._closes_at_exit = True
            atexit.register(self.close)
        if conversation.recording.has_changes:
            self._writer.save_soon(conversation)

    def close(self) -> None:
        """Write what is left, and the journals of all conversations; call it when no request is under way."""
        atexit.unregister(self.close)
        self._writer.close(() if self._conversations is None else self._conversations.take_all())

    def skip_journals(self) -> None:
        """Leave out the journals that are not made yet; all cassettes are written."""
        self._writer.skip_journals()


def _settings_of(extras: Extras) -> dict[str, Any]:
    if extras.none:
        return {}
    return {key: value for key, value in extras.settings.items() if key != "max_turns"}


class _FromShelf(httpx.AsyncBaseTransport):
    """Answers from recordings; what is in none goes on, if there is a transport for it."""

    def __init__(self, shelf: Shelf, inner: httpx.AsyncBaseTransport | None) -> None:
        self._shelf = shelf
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = await request.aread()
        url = str(request.url)
        found = self._shelf.next_answer(url, body)
        if found is not None:
            path, answer = found
            return await areplay_response(answer, path, request)
        if self._inner is None:
            raise self._shelf.mismatch(url, body)
        return await self._inner.handle_async_request(request)


_PAUSE: Final = 1.0
"""Seconds in which what comes is gathered: a cassette is written as a whole, so a session of ten fast turns
is written once or twice instead of ten times."""
_STOPPED: Final = "stopped before; the cassettes are whole, toolreel cassettes journal makes journals"


class Writer:
    """Saves conversations soon, and makes the journals of those that are over, in a thread.

    :param settings: of the loop, under which replies were read
    """

    def __init__(self, settings: Mapping[str, Any], tell: Tell) -> None:
        self._settings: Final = settings
        self._tell: Final = tell
        self._pool: Final = ThreadPoolExecutor(1, "toolreel-recordings")
        self._due: Final[dict[str, Conversation]] = {}
        self._closing: Final = Event()
        self._hurried = False
        self._left = 0
        """Conversations that go without their journals."""

    def save_soon(self, conversation: Conversation) -> None:
        """Save it soon; after the end at once, for a request that was not given the time to end before."""
        if self._closing.is_set():
            self._save(conversation)
        elif conversation.name not in self._due:
            self._due[conversation.name] = conversation
            self._pool.submit(self._save_due)

    def make_journals_soon(self, conversation: Conversation) -> None:
        """Make its journals, after it has been saved."""
        self._pool.submit(self._make_journals, conversation)

    def skip_journals(self) -> None:
        """Leave out the journals that are not made yet. It takes no lock: handlers of signals call it."""
        self._hurried = True

    def close(self, conversations: Iterable[Conversation]) -> None:
        """Do all that is left, and make the journals of these; then nothing more is ended."""
        self._closing.set()
        self._pool.shutdown()
        for each in conversations:
            self._make_journals(each)
        if self._left:
            self._tell({"is": "without a journal", "conversations": self._left, "why": _STOPPED})

    def _save_due(self) -> None:
        if self._due:
            self._closing.wait(_PAUSE)
        while self._due:
            self._save(self._due.popitem()[1])

    def _save(self, conversation: Conversation) -> None:
        if conversation.withheld:
            return
        try:
            conversation.recording.save()
        except (SecretFound, CassetteError, OSError) as error:
            conversation.withheld = str(error)
            self._tell({"conversation": conversation.name, "is": "not recorded", "why": str(error)})

    def _make_journals(self, conversation: Conversation) -> None:
        if self._hurried:
            self._left += 1
            return
        if conversation.withheld or not conversation.recording.exchanges:
            return
        if why := make_journals(conversation.path, conversation.profile, self._settings):
            self._tell({"conversation": conversation.name, "is": "without a journal", "why": why})
