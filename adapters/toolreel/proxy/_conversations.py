"""The conversations that are under way, recognised by what was said in them.

A conversation is taken by the request that goes on with it and put back with the reply, so that no two
requests ever share one, however many sessions say the same words at once.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from toolreel.cassette._open_cassette import Recording
from toolreel_core._jsontext.canonical import Json
from toolreel_core._proxy.client_request import ClientRequest
from toolreel_core._proxy.conversation_keys import Key, key_of, openings
from toolreel_core._proxy.profile import Profile

_KEPT: Final = 2_000
"""Conversations that are remembered; the one that has rested longest is forgotten first."""
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9.-]+")


@dataclass(slots=True)
class Conversation:
    """One session of a client, as far as its requests tell."""

    name: str
    recording: Recording
    profile: Profile
    keys: list[Key] = field(default_factory=list)
    """Under which it waits for the next request."""
    shelved: int = 0
    """How many of its exchanges can be replayed."""
    due: bool = False
    """Whether it will be written soon."""
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
        self._by_exact: Final[dict[str, list[Conversation]]] = {}
        self._by_alike: Final[dict[str, list[Conversation]]] = {}
        self._names: Final[set[str]] = set()

    def take(self, request: ClientRequest, profile: Profile, caller: str) -> Conversation:
        """The conversation that a request goes on with, or a new one: its own until it is put back."""
        keys = openings(request.entries, caller=caller)
        for index, key in ((self._by_exact, 0), (self._by_alike, 1)):
            for each in keys:
                if found := index.get(each[key]):
                    return self._taken(found[0])
        name = self._new_name(request, keys[0])
        self._names.add(name)
        return Conversation(name, Recording.blank(self._folder / f"{name}.yaml"), profile)

    def put_back(
        self, conversation: Conversation, entries: Sequence[Json], caller: str
    ) -> Sequence[Conversation]:
        """Let a conversation wait for its next request; returns those that are forgotten for it.

        :param entries: what was said so far: the request's messages, and the reply if there was one
        """
        conversation.keys = [key_of(entries, caller=caller)]
        for key in conversation.keys:
            self._by_exact.setdefault(key.exact, []).append(conversation)
            self._by_alike.setdefault(key.alike, []).append(conversation)
        self._waiting[conversation.name] = conversation
        return [self._taken(next(iter(self._waiting.values()))) for _ in range(len(self._waiting) - _KEPT)]

    def take_all(self) -> Sequence[Conversation]:
        """All that are waiting, at the end."""
        return [self._taken(each) for each in [*self._waiting.values()]]

    def _taken(self, conversation: Conversation) -> Conversation:
        del self._waiting[conversation.name]
        for key in conversation.keys:
            _without(self._by_exact, key.exact, conversation)
            _without(self._by_alike, key.alike, conversation)
        return conversation

    def _new_name(self, request: ClientRequest, key: Key) -> str:
        """A name that says the model and nothing of what was said."""
        model = _NOT_IN_NAMES.sub("-", request.model.rpartition("/")[2]).strip("-.")[:40] or "model"
        first = f"{model}--{key.alike[:10]}"
        number, name = 1, first
        while name in self._names or (self._folder / f"{name}.yaml").exists():
            number += 1
            name = f"{first}-{number}"
        return name


def _without(index: dict[str, list[Conversation]], key: str, conversation: Conversation) -> None:
    rest = [each for each in index[key] if each is not conversation]
    if rest:
        index[key] = rest
    else:
        del index[key]
