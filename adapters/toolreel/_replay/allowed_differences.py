"""What may differ between a recorded run and its replay, by rules about requests.

A journal has no requests, only fingerprints that cover them. A recorded request is known all the same:
folding the journal makes it again, and its fingerprint proves that it is the one. So a new request counts as
the recorded one if it has the same place in the run, and both are the same after the rules. A difference that
no rule explains fails as it does without rules.

A tool's result, and what the user says in a conversation, may differ where the rules allow it in the message
that tells it to the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from typing import Final

from toolreel._driver import Wanted
from toolreel._journal import Record, Recorded
from toolreel._replay.trace import retrace
from toolreel.cassette import Vary, put_through, varied
from toolreel_core._jsontext import Json, JsonText, parse
from toolreel_core._plan import Request
from toolreel_core._protocol import Event, RunTool, SendRequest, ToolReturned, UserSpoke, fingerprint

_UNSENT: Final = "-"
"""The place of a result that no request tells: no index of a rule names it, only ``*``."""


class AllowedDifferences:
    """The differences from one recorded run that some rules allow."""

    def __init__(self, recorded: Recorded, rules: Sequence[Vary]) -> None:
        self._recorded: Final = recorded
        self._rules: Final = rules
        self._known: Final[dict[str, bytes]] = {}
        """Digests of requests after the rules, by their own digest: each is compared more than once."""

    def same(self, record: Record, effect: Wanted | None, event: Event) -> bool:
        """Whether an effect of the replay and its answer count as those of a recorded line."""
        was = record.event
        if isinstance(was, UserSpoke):
            place = self._place_in_request(record.n, "content", was.content)
            return (
                isinstance(event, UserSpoke)
                and was.at_ms == event.at_ms
                and self._message_after_rules(place, was.content)
                == self._message_after_rules(place, event.content)
            )
        if record.fp is None or effect is None or not self.same_effect(record, effect):
            return False
        if was == event:
            return True
        if not (
            isinstance(effect, RunTool) and isinstance(was, ToolReturned) and isinstance(event, ToolReturned)
        ):
            return False
        place = self._place_in_request(record.n, "tool_call_id", effect.call_id)
        return (was.ref, was.at_ms, was.spent) == (
            event.ref,
            event.at_ms,
            event.spent,
        ) and self._message_after_rules(place, was.output) == self._message_after_rules(place, event.output)

    def same_effect(self, record: Record, effect: Wanted) -> bool:
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
            body = put_through(b"".join(request.pieces()), self._rules).body
            known = self._known[request.digest] = sha256(body).digest()
        return known

    def _message_after_rules(self, place: str, content: str) -> Json:
        """The message at a place, after the rules."""
        return varied({"messages": {place: {"content": content}}}, self._rules)[0]

    def _place_in_request(self, n: int, key: str, value: str) -> str:
        """The index of the message that has this value, in the next recorded request."""
        for effect in self._recorded_effects[n:]:
            if isinstance(effect, SendRequest):
                body = parse(JsonText(effect.request.body))
                messages = body.get("messages") if isinstance(body, Mapping) else None
                for index, message in enumerate(messages if isinstance(messages, list) else []):
                    if isinstance(message, Mapping) and message.get(key) == value:
                        return str(index)
        return _UNSENT

    @cached_property
    def _recorded_effects(self) -> Sequence[Wanted | None]:
        """The effect of each recorded line."""
        return tuple(traced.effect for traced in retrace(self._recorded).events)
