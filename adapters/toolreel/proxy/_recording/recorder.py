"""Where exchanges with an upstream go: to the network, onto a cassette, or from one."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from threading import Condition, Thread
from typing import Any, Final

import httpx

from toolreel._internal import CassetteError, SecretFound
from toolreel.cassette import AsyncRecordTransport, areplayed
from toolreel.proxy._recording.conversations import Conversation, Conversations
from toolreel.proxy._recording.journal_queue import JournalQueue, Tell
from toolreel.proxy._recording.journals import JournalJob
from toolreel.proxy._recording.shelf import Shelf
from toolreel.proxy._settings import ProxySettings
from toolreel_core._client_requests import ClientRequest
from toolreel_core._jsontext import Json
from toolreel_core._proxy import Extras, Profile


class Recorder:
    """The recordings of a proxy.

    :raises CassetteError: if the folder has a cassette that cannot be read
    """

    def __init__(self, settings: ProxySettings, tell: Tell) -> None:
        self._settings: Final = settings
        self._tell: Final = tell
        self._salt: Final = os.urandom(16)
        self._writer: Final = Writer(self._save, self._finish)
        self._journals: Final = JournalQueue(tell)
        self._closes_at_exit = False
        folder = None if settings.folder is None else Path(settings.folder)
        self._conversations: Final = None if folder is None or settings.replays else Conversations(folder)
        self._shelf: Final = Shelf(folder) if folder is not None and settings.mode != "record" else None
        if folder is not None and not settings.replays:
            folder.mkdir(parents=True, exist_ok=True)

    @property
    def recorded(self) -> int:
        """Number of exchanges that can be replayed."""
        return 0 if self._shelf is None else len(self._shelf)

    @property
    def replays_only(self) -> bool:
        """Whether nothing reaches an upstream."""
        return self._settings.replays

    @property
    def models(self) -> tuple[str, ...]:
        """The models that were recorded."""
        return () if self._shelf is None else self._shelf.models

    def caller(self, key: str) -> str:
        """A name for the owner of this key, which means nothing elsewhere; the key itself is not kept."""
        return blake2b(key.encode("utf-8", "replace"), key=self._salt).hexdigest()

    def begin(self, request: ClientRequest, profile: Profile, caller: str) -> Conversation | None:
        """The conversation of a request, if conversations are recorded."""
        if self._conversations is None:
            return None
        return self._conversations.take(request, profile, caller)

    def transport(
        self, inner: httpx.AsyncBaseTransport, conversation: Conversation | None
    ) -> httpx.AsyncBaseTransport:
        """What performs the exchanges of a request."""
        if conversation is not None:
            inner = AsyncRecordTransport(
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
            self._writer.end(each)

    def write(self, conversation: Conversation) -> None:
        """Write a conversation to disk soon."""
        if not self._closes_at_exit:  # not every server tells applications of its end
            self._closes_at_exit = True
            atexit.register(self.close)
        if conversation.recording.grown:
            self._writer.save(conversation)

    def close(self) -> None:
        """Write what is left, and the journals of all conversations; call it when no request is under way."""
        atexit.unregister(self.close)
        self._journals.begin_close()
        if self._conversations is not None:
            for each in self._conversations.take_all():
                self._writer.end(each)
        self._writer.close()
        self._journals.close()

    def hurry(self) -> None:
        """Leave out the journals that are not made yet; all cassettes are written."""
        self._journals.hurry()

    def _save(self, conversation: Conversation) -> None:
        if conversation.withheld:
            return
        try:
            conversation.recording.save()
        except (SecretFound, CassetteError, OSError) as error:
            conversation.withheld = str(error)
            self._tell({"conversation": conversation.name, "is": "not recorded", "why": str(error)})

    def _finish(self, conversation: Conversation) -> None:
        """Have the journals made of a conversation that rests."""
        if not conversation.withheld and conversation.recording.total:
            profile, settings = conversation.profile, _settings_of(self._settings.extras)
            self._journals.add(JournalJob.of(conversation.name, conversation.path, profile, settings))


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
        found = self._shelf.find(url, body)
        if found is not None:
            path, answer = found
            return await areplayed(answer, path, request)
        if self._inner is None:
            raise self._shelf.mismatch(url, body)
        return await self._inner.handle_async_request(request)


_PAUSE: Final = 1.0
"""Seconds in which what comes is gathered: a cassette is written as a whole, so a session of ten fast turns
is written once or twice instead of ten times."""


class Writer:
    """Saves conversations soon, and ends those that are over.

    :param save: writes the cassette of one
    :param end: writes what is left to do for one that is saved
    """

    def __init__(self, save: Callable[[Conversation], None], end: Callable[[Conversation], None]) -> None:
        self._save: Final = save
        self._end: Final = end
        self._changed: Final = Condition()
        self._due: dict[str, Conversation] = {}
        self._over: dict[str, Conversation] = {}
        self._closing = False
        self._closed = False
        self._thread: Thread | None = None

    def save(self, conversation: Conversation) -> None:
        """Save it soon; after the end at once, for a request that was not given the time to end before."""
        if self._closed:
            self._save(conversation)
            return
        with self._changed:
            first = self._idle
            self._due[conversation.name] = conversation
            self._wake(first=first)

    def end(self, conversation: Conversation) -> None:
        """End it, after it has been saved."""
        with self._changed:
            first = self._idle
            self._over[conversation.name] = conversation
            self._wake(first=first)

    def close(self) -> None:
        """Do all that is left; then nothing more is ended."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()
        self._closed = True

    @property
    def _idle(self) -> bool:
        return not self._due and not self._over

    def _wake(self, *, first: bool) -> None:
        """Wake the thread for the first of what comes; woken for each, it would hold up requests."""
        if self._thread is None:
            # A daemon: the writer closes it, at exit at the latest.
            self._thread = Thread(target=self._run, name="toolreel-recordings", daemon=True)
            self._thread.start()
        if first:
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._due or self._over or self._closing)
                self._changed.wait_for(lambda: self._closing, _PAUSE)
                due, self._due = self._due, {}
                over, self._over = self._over, {}
            if not due and not over:
                return
            for conversation in due.values():
                self._save(conversation)
            for conversation in over.values():
                self._end(conversation)
