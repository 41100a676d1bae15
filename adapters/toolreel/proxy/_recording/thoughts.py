"""What models thought in the conversations that are under way, for clients that do not send it back."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from toolreel_core._client_requests import ClientRequest
from toolreel_core._jsontext import Json, canonical
from toolreel_core._proxy import RESTORED, Key, Profile, Thoughts, kept, restored

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
        found = kept(request, said, profile.provider, caller=caller)
        if found is None:
            return
        thoughts = found.thoughts
        size = _EACH + len(canonical(thoughts.message)) + sum(len(canonical(each)) for each in thoughts.calls)
        # Under both, since some clients make ids of their own.
        for name in (found.key.exact, found.key.alike):
            self._size += size - self._thoughts.pop(name, (thoughts, 0))[1]
            self._thoughts[name] = (thoughts, size)
        while self._size > self._most:
            self._size -= self._thoughts.popitem(last=False)[1][1]

    def restored(
        self, request: ClientRequest, profile: Profile, caller: str
    ) -> tuple[ClientRequest, tuple[str, ...]]:
        """The request with what its client has left out, and the name of the repair if it is one."""
        whole, changed = restored(request, profile.provider, self._find, caller=caller)
        return whole, (RESTORED,) if changed else ()

    def _find(self, key: Key) -> Thoughts | None:
        for name in key:
            if name in self._thoughts:
                self._thoughts.move_to_end(name)
                return self._thoughts[name][0]
        return None
