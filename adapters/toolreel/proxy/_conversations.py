"""Conversations of clients under way, and what the model thought in them."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolreel.cassette import Session
from toolreel_core._client_requests import ClientRequest
from toolreel_core._jsontext import Json, canonical
from toolreel_core._proxy import (
    RESTORED,
    Key,
    Profile,
    Thoughts,
    continuation_keys,
    key_after,
    thoughts_to_return,
    with_thoughts,
)

# The conversations that are under way, recognised by what was said in them.
#
# A conversation is taken by the request that goes on with it and put back with the reply, so that no two
# requests ever share one, however many sessions say the same words at once.


_KEPT: Final = 2_000
"""Conversations that are remembered; the one that has rested longest is forgotten first."""
_KEPT_BYTES: Final = 256 * 2**20
"""Bytes of their requests at most."""
_KEPT_NAMES: Final = 20_000
"""First words that are remembered, so that the next conversation with the same ones gets a number at once."""
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9.-]+")
"""Characters that are replaced in names of recordings."""


@dataclass(slots=True)
class Conversation:
    """One session of a client, as far as its requests tell."""

    name: str
    recording: Session
    profile: Profile
    key: Key
    """What was said in it so far, under which it waits for the next request."""
    size: int = 0
    """Bytes of its requests, which it holds for as long as it waits."""
    shelved: int = 0
    """How many of its exchanges can be replayed."""
    withheld: str = ""
    """Why it is not written to disk, if it is not."""

    @property
    def path(self) -> Path:
        """Its cassette."""
        return self.recording.path


class Conversations:
    """The conversations of one proxy.

    :param folder: where their cassettes are
    """

    def __init__(self, folder: Path) -> None:
        self._folder: Final = folder
        self._waiting: Final[OrderedDict[str, Conversation]] = OrderedDict()
        self._by_key: Final[dict[str, dict[str, Conversation]]] = {}
        """By both forms of their key, then by name."""
        self._size = 0
        self._numbers: Final[OrderedDict[str, int]] = OrderedDict()
        """How many conversations had the same first words, by their name."""

    def take(self, request: ClientRequest, profile: Profile, caller: str) -> Conversation:
        """The conversation that a request goes on with, or a new one: its own until it is put back."""
        keys = continuation_keys(request.entries, caller=caller)
        conversation = self._continued(keys) or self._new_conversation(request, profile, keys[0])
        conversation.key = keys[0]
        return conversation

    def put_back(self, conversation: Conversation, said: Sequence[Json], size: int) -> Sequence[Conversation]:
        """Let a conversation wait for its next request; returns those that are forgotten for it.

        :param said: the reply to its request, if there was one
        :param size: bytes that were recorded for the request
        """
        conversation.key = key = key_after(conversation.key, said)
        conversation.size += size
        for form in key:
            self._by_key.setdefault(form, {})[conversation.name] = conversation
        self._waiting[conversation.name] = conversation
        self._size += conversation.size
        forgotten = list[Conversation]()
        while len(self._waiting) > 1 and (len(self._waiting) > _KEPT or self._size > _KEPT_BYTES):
            forgotten.append(self._removed(next(iter(self._waiting.values()))))
        return forgotten

    def take_all(self) -> Sequence[Conversation]:
        """All that are waiting, at the end."""
        return [self._removed(each) for each in [*self._waiting.values()]]

    def _continued(self, keys: Sequence[Key]) -> Conversation | None:
        for form in (*(key.exact for key in keys), *(key.alike for key in keys)):
            if found := self._by_key.get(form):
                return self._removed(next(iter(found.values())))
        return None

    def _removed(self, conversation: Conversation) -> Conversation:
        del self._waiting[conversation.name]
        self._size -= conversation.size
        for form in {*conversation.key}:  # they are the same before anything was said
            del self._by_key[form][conversation.name]
            if not self._by_key[form]:
                del self._by_key[form]
        return conversation

    def _new_conversation(self, request: ClientRequest, profile: Profile, key: Key) -> Conversation:
        """A conversation whose name says the model and nothing of what was said."""
        model = _NOT_IN_NAMES.sub("-", request.model.rpartition("/")[2]).strip("-.")[:40] or "model"
        first = f"{model}--{key.alike[:10]}"
        while True:
            number = self._numbers.get(first, 0) + 1
            self._numbers[first] = number
            self._numbers.move_to_end(first)
            if len(self._numbers) > _KEPT_NAMES:
                self._numbers.popitem(last=False)
            name = first if number == 1 else f"{first}-{number}"
            path = self._folder / f"{name}.yaml"
            if not path.exists():
                return Conversation(name, Session(path, "record"), profile, key)


# What models thought in the conversations that are under way, for clients that do not send it back.


_BYTES: Final = 64 * 2**20
"""Size of the thoughts that are kept; those that were wanted least recently are forgotten first."""
_EACH: Final = 1_000
"""Bytes that any of them takes besides."""


class KeptThoughts:
    """The thoughts that some upstream wants back.

    :param most: their size in bytes
    """

    def __init__(self, most: int = _BYTES) -> None:
        self._most: Final = most
        self._size = 0
        self._thoughts: Final[OrderedDict[str, tuple[Thoughts, int]]] = OrderedDict()

    def keep(self, request: ClientRequest, said: Json, profile: Profile, caller: str) -> None:
        """Keep what a reply says that its upstream wants back."""
        found = thoughts_to_return(request, said, profile.provider, caller=caller)
        if found is None:
            return
        key, thoughts = found
        size = _EACH + len(canonical(thoughts.message)) + sum(len(canonical(each)) for each in thoughts.calls)
        # Under both, since some clients make ids of their own.
        for name in key:
            self._size += size - self._thoughts.pop(name, (thoughts, 0))[1]
            self._thoughts[name] = (thoughts, size)
        while self._size > self._most:
            self._size -= self._thoughts.popitem(last=False)[1][1]

    def restore(
        self, request: ClientRequest, profile: Profile, caller: str
    ) -> tuple[ClientRequest, tuple[str, ...]]:
        """The request with what its client has left out, and the name of the repair if it is one."""
        whole, changed = with_thoughts(request, profile.provider, self._find, caller=caller)
        return whole, (RESTORED,) if changed else ()

    def _find(self, key: Key) -> Thoughts | None:
        for name in key:
            if name in self._thoughts:
                self._thoughts.move_to_end(name)
                return self._thoughts[name][0]
        return None
