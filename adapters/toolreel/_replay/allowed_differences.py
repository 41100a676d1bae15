"""What may differ between a recorded run and its replay, by rules about requests.

A journal has no requests, only fingerprints that cover them. A recorded request is known all the same:
folding the journal makes it again, and its fingerprint proves that it is the one. So a new request counts as
the recorded one if it has the same place in the run, and both are the same after the rules. A difference that
no rule explains fails as it does without rules.

A tool's result, and what the user says in a conversation, may differ if the next request is the same
after the rules: that is what tells it to the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from typing import Final

from toolreel._driver import Wanted
from toolreel._journal import Record, Recorded
from toolreel._replay.trace import retrace
from toolreel.cassette import Vary, apply_rules_to_body
from toolreel_core._plan import Request
from toolreel_core._protocol import Event, SendRequest, ToolReturned, UserSpoke, fingerprint


class AllowedDifferences:
    """The differences from one recorded run that some rules allow."""

    def __init__(self, recorded: Recorded, rules: Sequence[Vary]) -> None:
        self._recorded: Final = recorded
        self._rules: Final = rules
        self._known: Final[dict[str, bytes]] = {}
        """Digests of requests after the rules, by their own digest: each is compared more than once."""

    def matches(self, record: Record, effect: Wanted | None, event: Event) -> bool:
        """Whether an effect of the replay and its answer count as those of a recorded line."""
        was = record.event
        if record.fp is not None and (effect is None or not self.matches_effect(record, effect)):
            return False
        if was == event:
            return record.fp is not None
        is_told = any(isinstance(later, SendRequest) for later in self._recorded_effects[record.n :])
        match was, event:
            case ToolReturned(), ToolReturned():
                return is_told and replace(event, output=was.output, parts=was.parts) == was
            case UserSpoke(), UserSpoke():
                return is_told and replace(event, content=was.content, parts=was.parts) == was
            case _:
                return False

    def matches_effect(self, record: Record, effect: Wanted) -> bool:
        """Whether an effect of the replay counts as that of a recorded line."""
        if record.fp == fingerprint(effect):
            return True
        was = self._recorded_effects[record.n - 1]
        return (
            isinstance(was, SendRequest)
            and isinstance(effect, SendRequest)
            and was.ref == effect.ref
            and self._request_digest(was.request) == self._request_digest(effect.request)
        )

    def _request_digest(self, request: Request) -> bytes:
        """The digest of a request after the rules."""
        known = self._known.get(request.digest)
        if known is None:
            body = apply_rules_to_body(b"".join(request.pieces()), self._rules)[0]
            known = self._known[request.digest] = sha256(body).digest()
        return known

    @cached_property
    def _recorded_effects(self) -> Sequence[Wanted | None]:
        """The effect of each recorded line."""
        return tuple(traced.effect for traced in retrace(self._recorded).events)
