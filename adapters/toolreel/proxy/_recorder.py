"""Where exchanges with an upstream go: to the network, onto a cassette, or from one."""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b, sha256
from pathlib import Path
from threading import Condition, Thread
from typing import Any, Final, TypeAlias

import httpx

from toolreel._internal import AdapterError, CassetteError, SecretFound
from toolreel._replay import BEHIND_PROXY, recover_runs, save_journals
from toolreel.cassette import (
    RERECORD,
    CassetteTransport,
    Exchange,
    Recording,
    StoredResponse,
    Vary,
    apply_rules_to_body,
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
        runs = recover_runs(Recording.load(cassette), preset=preset, settings=settings)
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
        self._answers: Final[
            dict[tuple[Vary, ...], dict[tuple[str, bytes], list[tuple[Path, StoredResponse]]]]
        ] = {}
        """By the rules of their recording."""
        self._turn: Final[dict[tuple[str, bytes], int]] = {}
        self._asked: Final[list[tuple[Path, Exchange]]] = []
        for path in sorted(folder.glob("*.yaml")):
            recording = Recording.load(path)
            for exchange in recording.exchanges:
                self.add(path, exchange, tuple(recording.rules.all))

    @property
    def models(self) -> tuple[str, ...]:
        """The models that were asked."""
        bodies = (as_tree(read(each.body.decode("utf-8", "replace")).value_or("")) for _, each in self._asked)
        names = (body.get("model") for body in bodies)
        return tuple(dict.fromkeys(name for name in names if isinstance(name, str)))

    def add(self, path: Path, exchange: Exchange, rules: tuple[Vary, ...] = ()) -> None:
        """Put an exchange on the shelf."""
        key = _key(exchange.url, exchange.body, rules)
        self._answers.setdefault(rules, {}).setdefault(key, []).append((path, exchange.answer))
        self._asked.append((path, exchange))

    def find(self, url: str, body: bytes) -> tuple[Path, StoredResponse] | None:
        """The next recorded answer to a request, and the cassette that it is from."""
        for rules, answers in sorted(self._answers.items(), key=lambda each: bool(each[0])):
            key = _key(url, body, rules)
            if found := answers.get(key):
                turn = self._turn.get(key, 0)
                self._turn[key] = turn + 1
                return found[turn % len(found)]
        return None

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


def _key(url: str, body: bytes, rules: Sequence[Vary]) -> tuple[str, bytes]:
    compared = apply_rules_to_body(body, rules).body if rules else canonical_body(body)
    return compared_endpoint(url), sha256(compared).digest()


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
            self._writer.end(each)

    def write(self, conversation: Conversation) -> None:
        """Write a conversation to disk soon."""
        if not self._closes_at_exit:  # not every server tells applications of its end
            self._closes_at_exit = True
            atexit.register(self.close)
        if conversation.recording.has_changes:
            self._writer.save(conversation)

    def close(self) -> None:
        """Write what is left, and the journals of all conversations; call it when no request is under way."""
        atexit.unregister(self.close)
        if self._conversations is not None:
            for each in self._conversations.take_all():
                self._writer.end(each)
        self._writer.close()

    def hurry(self) -> None:
        """Leave out the journals that are not made yet; all cassettes are written."""
        self._writer.hurry()


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
            return await areplay_response(answer, path, request)
        if self._inner is None:
            raise self._shelf.mismatch(url, body)
        return await self._inner.handle_async_request(request)


_PAUSE: Final = 1.0
"""Seconds in which what comes is gathered: a cassette is written as a whole, so a session of ten fast turns
is written once or twice instead of ten times."""
_EVERY: Final = 2.0
"""Seconds between two entries of the log that say how far it is at the end."""
_LOOK: Final = 0.05
"""Seconds between two looks whether it is done."""
_STOPPED: Final = "stopped before; the cassettes are whole, toolreel cassettes journal makes journals"


class Writer:
    """Saves conversations soon, and makes the journals of those that are over, in a thread.

    :param settings: of the loop, under which replies were read
    """

    def __init__(self, settings: Mapping[str, Any], tell: Tell) -> None:
        self._settings: Final = settings
        self._tell: Final = tell
        self._changed: Final = Condition()
        self._due: dict[str, Conversation] = {}
        self._over: dict[str, Conversation] = {}
        self._done = self._total = self._left = 0
        """Conversations that are over: those that have their journals, all, and those that go without."""
        self._closing = self._closed = self._hurried = False
        self._thread: Thread | None = None

    def save(self, conversation: Conversation) -> None:
        """Save it soon; after the end at once, for a request that was not given the time to end before."""
        if self._closed:
            self._save(conversation)
        else:
            self._add(conversation, self._due)

    def end(self, conversation: Conversation) -> None:
        """Make its journals, after it has been saved."""
        self._add(conversation, self._over)

    def hurry(self) -> None:
        """Leave out the journals that are not made yet. It takes no lock: handlers of signals call it."""
        self._hurried = True

    def close(self) -> None:
        """Do all that is left, and say now and then how far it is; then nothing more is ended."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        told_at = time.monotonic()
        while self._thread is not None and self._thread.is_alive():
            self._thread.join(_LOOK)
            if self._total and time.monotonic() - told_at > _EVERY:
                told_at = time.monotonic()
                self._tell({"is": "making journals", "done": self._done, "of": self._total})
        self._closed = True
        if self._left:
            self._tell({"is": "without a journal", "conversations": self._left, "why": _STOPPED})

    def _add(self, conversation: Conversation, among: dict[str, Conversation]) -> None:
        with self._changed:
            if self._thread is None:  # a daemon: the writer closes it, at exit at the latest
                self._thread = Thread(target=self._run, name="toolreel-recordings", daemon=True)
                self._thread.start()
            if not self._due and not self._over:  # woken for each, it would hold up requests
                self._changed.notify()
            among[conversation.name] = conversation

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
            self._done, self._total = 0, len(over)
            for conversation in over.values():
                if self._hurried:
                    self._left += 1
                else:
                    self._finish(conversation)
                    self._done += 1

    def _save(self, conversation: Conversation) -> None:
        if conversation.withheld:
            return
        try:
            conversation.recording.save()
        except (SecretFound, CassetteError, OSError) as error:
            conversation.withheld = str(error)
            self._tell({"conversation": conversation.name, "is": "not recorded", "why": str(error)})

    def _finish(self, conversation: Conversation) -> None:
        if conversation.withheld or not conversation.recording.total:
            return
        if why := make_journals(conversation.path, conversation.profile, self._settings):
            self._tell({"conversation": conversation.name, "is": "without a journal", "why": why})
