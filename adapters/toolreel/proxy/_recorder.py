"""Where exchanges with an upstream go: to the network, onto a cassette, or from one."""

from __future__ import annotations

import os
import re
from collections import OrderedDict, defaultdict, deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b, sha256
from itertools import count
from pathlib import Path
from threading import Event

import httpx

from toolreel._internal import AdapterError, CassetteError, SecretFound
from toolreel._journal import journal_path
from toolreel._replay import BEHIND_PROXY, recover_runs, save_journals
from toolreel.cassette import (
    CANCELLED,
    CLOSED,
    RERECORD,
    CassetteTransport,
    Exchange,
    Session,
    StoredResponse,
    areplay_response,
    canonical_body,
    compared_endpoint,
    differing_byte_count,
    drift_text,
)
from toolreel.proxy._settings import ProxySettings, Tell
from toolreel_core._client_requests import ClientRequest
from toolreel_core._errors import ReplayMismatch, ToolreelError
from toolreel_core._jsontext import Json, as_tree, canonical, read_json
from toolreel_core._plan import Preset, exact_config_patch
from toolreel_core._proxy import ConversationKey, Profile, continuation_keys, keys_after_each_message

# Recorded exchanges of a folder of cassettes, found by what is asked.
#
# Many sessions are replayed from one folder, in any order and as often as they are repeated: of equal
# requests, the recorded answers are given in turn, and after the last the first again.


_COMPARED = 2_000
"""Recorded requests among which the nearest is searched."""


class Shelf:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._answers = defaultdict[tuple[str, bytes], deque[tuple[Path, StoredResponse]]](deque)
        """The next one is the first."""
        self._asked: list[tuple[Path, Exchange]] = []
        for path in sorted(folder.glob("*.yaml")):
            for exchange in Session(path).exchanges:
                self.add(path, exchange)

    @property
    def models(self) -> tuple[str, ...]:
        bodies = (
            as_tree(read_json(each.body.decode("utf-8", "replace")).value_or("")) for _, each in self._asked
        )
        names = (body.get("model") for body in bodies)
        return tuple(dict.fromkeys(name for name in names if isinstance(name, str)))

    def add(self, path: Path, exchange: Exchange) -> None:
        self._answers[_request_key(exchange.url, exchange.body)].append((path, exchange.answer))
        self._asked.append((path, exchange))

    def next_answer(self, url: str, body: bytes, *, whole: bool) -> tuple[Path, StoredResponse] | None:
        """The next recorded answer; one whose client left only for want of others, unless ``whole``."""
        found = self._answers.get(_request_key(url, body), deque[tuple[Path, StoredResponse]]())
        for answer in [*found]:
            found.rotate(-1)
            broke = answer[1].broke
            if broke is None or broke.kind not in {CANCELLED, CLOSED}:
                return answer
        return found[-1] if found and not whole else None

    def mismatch(self, url: str, body: bytes) -> ReplayMismatch:
        asked, name = canonical_body(body), compared_endpoint(url)
        text = f"POST {name} is in no recording of {self._folder}"
        near = min(
            [each for each in self._asked if compared_endpoint(each[1].url) == name][:_COMPARED],
            key=lambda each: differing_byte_count(canonical_body(each[1].body), asked),
            default=None,
        )
        if near is None:
            return ReplayMismatch(
                f"{text}, which has none of that kind. Record it with --record {self._folder}."
            )
        path, exchange = near
        lines = drift_text(canonical_body(exchange.body), asked)
        return ReplayMismatch(f"{text}; the nearest is {exchange.name} of {path}:\n{lines}\n{RERECORD}.")


def _request_key(url: str, body: bytes) -> tuple[str, bytes]:
    return compared_endpoint(url), sha256(canonical_body(body)).digest()


_KEPT = 2_000
"""Conversations that are remembered; the one that has rested longest is forgotten first."""
_KEPT_BYTES = 256 * 2**20
"""Bytes of their requests at most."""
_KEPT_NAMES = 20_000
"""First words that are remembered, so that the next conversation with the same ones gets a number at once."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9.-]+")
"""Characters that are replaced in names of recordings."""


_PAUSE = 1.0
"""Seconds in which what comes is gathered: a cassette is written as a whole, so a session of ten fast turns
is written once or twice instead of ten times."""
_STOPPED = "stopped before; the cassettes are whole, toolreel cassettes journal makes journals"


@dataclass(slots=True)
class Conversation:
    """One session of a client, as far as its requests tell."""

    name: str
    recording: Session
    profile: Profile
    key: ConversationKey
    """What was said in it so far, under which it waits for the next request."""
    size: int = 0
    """Bytes of its requests, which it holds for as long as it waits."""
    shelved: int = 0
    """How many of its exchanges can be replayed."""
    withheld: str = ""
    """Why it is not written to disk, if it is not."""


class Recorder:
    """The recordings of a proxy, and the conversations under way, recognised by what was said in them.

    A conversation is taken by the request that goes on with it and put back with the reply, so that no two
    requests ever share one, however many sessions say the same words at once.

    :raises CassetteError: if the folder has a cassette that cannot be read
    """

    def __init__(self, settings: ProxySettings, tell: Tell) -> None:
        self._settings = settings
        self._salt = os.urandom(16)
        self._tell = tell
        folder = None if settings.folder is None else Path(settings.folder)
        self.shelf = Shelf(folder) if folder is not None and settings.mode != "record" else None
        self._folder = None if settings.replays else folder
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
        self._waiting: OrderedDict[str, Conversation] = OrderedDict()
        self._by_key: dict[str, dict[str, Conversation]] = {}
        """By both forms of their key, then by name."""
        self._size = 0
        self._numbers = lru_cache(_KEPT_NAMES)(lambda _first: count(1))
        """The numbers of conversations with the same first words."""
        self._thread = ThreadPoolExecutor(1, "toolreel-recordings")
        """Saves conversations, and makes the journals of those that are over."""
        self._due: dict[str, Conversation] = {}
        self._closing = Event()
        self._hurried = False
        self._without_journal = 0

    def caller_name(self, key: str) -> str:
        """A name for the owner of a key, valid in this process only; the key itself is not kept."""
        return blake2b(key.encode("utf-8", "replace"), key=self._salt).hexdigest()

    def take_or_begin_conversation(
        self, request: ClientRequest, profile: Profile, caller: str
    ) -> Conversation | None:
        """The conversation that a request goes on with, or a new one; ``None`` where nothing is recorded."""
        if self._folder is None:
            return None
        keys = continuation_keys(request.entries, caller)
        # Exact keys first: two conversations with the same words differ in the ids of their calls only.
        forms = (*(key.exact for key in keys), *(key.alike for key in keys))
        found = next((waiting for form in forms if (waiting := self._by_key.get(form))), None)
        conversation = (
            self._new_conversation(self._folder, request, profile, keys[0])
            if found is None
            else self._remove_from_waiting(next(iter(found.values())))
        )
        conversation.key = keys[0]
        return conversation

    def transport_for(
        self, inner: httpx.AsyncBaseTransport, conversation: Conversation | None
    ) -> httpx.AsyncBaseTransport:
        if conversation is not None:
            inner = CassetteTransport(
                conversation.recording, inner, limit=self._settings.limits.response_bytes
            )
        if self.shelf is None:
            return inner
        return _FromShelf(self.shelf, None if self._settings.replays else inner)

    def put_back(self, conversation: Conversation, messages: Sequence[Json], size: int) -> None:
        """Write a conversation soon, with a reply and the size of its request, and let it wait."""
        if self.shelf is not None:
            exchanges = conversation.recording.exchanges
            for exchange in exchanges[conversation.shelved :]:
                self.shelf.add(conversation.recording.path, exchange)
            conversation.shelved = len(exchanges)
        while conversation.recording.unrecorded:
            why = f"one exchange: {conversation.recording.unrecorded.pop()}"
            self._tell({"conversation": conversation.name, "is": "not recorded", "why": why})
        conversation.key = keys_after_each_message(conversation.key, messages)[-1]
        conversation.size += size
        for form in conversation.key:
            self._by_key.setdefault(form, {})[conversation.name] = conversation
        self._waiting[conversation.name] = conversation
        self._size += conversation.size
        if conversation.recording.has_changes and self._closing.is_set():
            self._save(conversation)  # of a request that was not given the time to end before
        elif conversation.recording.has_changes and conversation.name not in self._due:
            self._due[conversation.name] = conversation
            self._thread.submit(self._save_due_conversations)
        # The latest conversation stays, however large it is.
        while len(self._waiting) > 1 and (len(self._waiting) > _KEPT or self._size > _KEPT_BYTES):
            self._thread.submit(
                self._make_journals, self._remove_from_waiting(next(iter(self._waiting.values())))
            )

    def skip_journals(self) -> None:
        """Leave out the journals that are not made yet. It takes no lock: handlers of signals call it."""
        self._hurried = True

    def close(self) -> None:
        """Write what is left, and the journals of all conversations; call it when no request is under way."""
        self._closing.set()
        self._thread.shutdown()
        for each in [*self._waiting.values()]:
            self._make_journals(self._remove_from_waiting(each))
        if self._without_journal:
            self._tell({"conversations": self._without_journal, "is": "without a journal", "why": _STOPPED})

    def _save_due_conversations(self) -> None:
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
        """Write the journals next to a cassette, one a run, as ``toolreel cassettes journal`` does."""
        if self._hurried:
            self._without_journal += 1
            return
        if conversation.withheld or not conversation.recording.exchanges:
            return
        profile, extras, path = conversation.profile, self._settings.extras, conversation.recording.path
        config, provider = exact_config_patch(profile.config), canonical(profile.provider.changes())
        preset = Preset((BEHIND_PROXY,), config=config, provider=provider)
        # The settings of the loop under which its replies were read.
        settings = {} if extras.none else {**extras.settings}
        # That limit is for the requests that the proxy adds; the client goes on as long as it likes.
        settings.pop("max_turns", None)
        try:
            runs = recover_runs(Session(path), preset=preset, settings=settings)
            paths = [journal_path(path, number) for number in range(1, len(runs) + 1)]
            save_journals([each.recorded for each in runs], paths)
        except (ToolreelError, AdapterError, OSError) as error:
            self._tell({"conversation": conversation.name, "is": "without a journal", "why": str(error)})

    def _remove_from_waiting(self, conversation: Conversation) -> Conversation:
        del self._waiting[conversation.name]
        self._size -= conversation.size
        for form in {*conversation.key}:  # they are the same before anything was said
            del self._by_key[form][conversation.name]
            if not self._by_key[form]:
                del self._by_key[form]
        return conversation

    def _new_conversation(
        self, folder: Path, request: ClientRequest, profile: Profile, key: ConversationKey
    ) -> Conversation:
        """A conversation whose name says the model and nothing of what was said."""
        model = _NOT_IN_NAMES.sub("-", request.model.rpartition("/")[2]).strip("-.")[:40] or "model"
        first = f"{model}--{key.alike[:10]}"
        while True:
            number = next(self._numbers(first))
            name = first if number == 1 else f"{first}-{number}"
            path = folder / f"{name}.yaml"
            if not path.exists():
                return Conversation(name, Session(path, "record"), profile, key)


@dataclass(frozen=True, slots=True)
class _FromShelf(httpx.AsyncBaseTransport):
    """Answers from recordings; what is in none goes on, if there is a transport for it."""

    shelf: Shelf
    inner: httpx.AsyncBaseTransport | None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = await request.aread()
        url = str(request.url)
        found = self.shelf.next_answer(url, body, whole=self.inner is not None)
        if found is not None:
            path, answer = found
            # Without a wait where the recorded client gave up: this one would time out as well.
            return await areplay_response(answer, path, request, lambda _seconds: None)
        if self.inner is None:
            raise self.shelf.mismatch(url, body)
        return await self.inner.handle_async_request(request)
