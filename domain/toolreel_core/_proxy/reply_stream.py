"""A streamed reply, repaired while it passes: chunks of the upstream in, canonical chunks out.

Text and reasoning pass at once, apart from text that may be a call (:mod:`toolreel_core._proxy.held_text`).
Calls are held until the reply is complete, since only then is it known how many there are, what their
arguments are and whether they were cut; each goes out whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from pyrsistent import PVector, pvector

from toolreel_core._client_requests import ClientRequest
from toolreel_core._jsontext import Json, Tree, as_tree, items_of, tree_at
from toolreel_core._proxy.client_forms.completion import Completion
from toolreel_core._proxy.client_forms.event_row import EventRow, Kind
from toolreel_core._proxy.held_text import HeldText
from toolreel_core._proxy.profile import Profile
from toolreel_core._proxy.reply import Head, Repaired, repaired
from toolreel_core._replies import Delta, EventStream, Stream, Usage, stream_in

SENT_BEFORE: Final = "TEXT_SENT_BEFORE"
"""Noticed where text had passed that the complete reply no longer has."""

_EVENTS: Final = re.compile(r".+?(?:\r?\n\r?\n|\Z)", re.DOTALL)
"""Events of a stream as they come, the last one perhaps in part."""
_NO_USAGE: Final = Usage()
_NO_PIECES: Final[PVector[str]] = pvector()
_STREAMED: Final = frozenset({"content", "reasoning_content", "reasoning", "role", "tool_calls"})


@dataclass(frozen=True, slots=True)
class ReplyStream:
    """The state of one streamed reply: an immutable value."""

    request: ClientRequest
    profile: Profile
    head: Head
    stream: Stream | EventStream
    text: HeldText
    raw: PVector[str] = field(default=_NO_PIECES, repr=False)
    """The body so far."""
    shown: PVector[str] = field(default=_NO_PIECES, repr=False)
    """The text that has passed."""
    thought: bool = False
    """Whether reasoning has passed."""
    opened: bool = False
    """Whether a chunk has passed."""
    row: EventRow | None = None
    """What has passed, for a client of another form than chat completions."""

    @classmethod
    def of(cls, request: ClientRequest, profile: Profile, head: Head) -> ReplyStream:
        """The stream of a reply to this request, before anything has come."""
        offered = bool(request.tools.names) and request.tree.get("tool_choice") != "none"
        dialects = profile.config.dialects(offered=offered)
        text = HeldText(dialects, request.tools.known)
        row = None if request.form == "chat_completions" else EventRow(request.form)
        return cls(request, profile, head, stream_in(profile.provider.wire_form), text, row=row)

    @property
    def over(self) -> bool:
        """Whether the reply is complete, though the server may keep the connection open."""
        return self.stream.done

    @property
    def progress(self) -> int:
        """Number of meaningful chunks so far."""
        return self.stream.progress

    @property
    def silent(self) -> bool:
        """Whether the client has seen nothing of the reply."""
        return not self.opened

    @property
    def body(self) -> str:
        """The body so far, as the upstream sent it."""
        return "".join(self.raw)

    def feed(self, text: str) -> tuple[ReplyStream, tuple[Tree, ...]]:
        """The state after the next piece of the body, and the chunks that the client gets now."""
        at, chunks = replace(self, raw=self.raw.append(text)), list[Tree]()
        # In the client's own form each event is heard for itself, since blocks pass between them.
        for piece in _EVENTS.findall(text) if self._in_own_form else (text,):
            stream, deltas = at.stream.feed(piece)
            at = replace(at, stream=stream)
            for delta in deltas:
                at, passing = at._passing(delta)
                if passing:
                    at, passed = at._passed(passing)
                    chunks += passed
        return at, tuple(chunks)

    def again(self) -> ReplyStream:
        """The state before another reply to the same request, which goes on after what has passed."""
        return replace(
            self,
            stream=stream_in(self.profile.provider.wire_form),
            raw=_NO_PIECES,
            text=HeldText(self.text.dialects, self.text.known, begun=self.text.begun),
        )

    def close(self) -> tuple[tuple[Tree, ...], Repaired]:
        """The rest of the chunks once the body has ended, and the whole reply.

        There are none if the reply has a problem, which the client is told instead.
        """
        reply = repaired(self.body, self.request, self.profile, self.head)
        if reply.problem:
            return (), reply
        choices = items_of(reply.body, "choices")
        choice = as_tree(choices[0])
        rest = self._rest(tree_at(choice, "message"))
        if rest is None:
            rest, reply = "", replace(reply, noticed=(*reply.noticed, SENT_BEFORE))
        if self.row is not None:
            return self.row.end(reply.said(self.request), rest), reply
        return tuple(self._ending(choice, rest, reply.body)), reply

    @property
    def _in_own_form(self) -> bool:
        """Whether client and upstream speak the same form, which is not chat completions."""
        return self.row is not None and self.request.form == self.profile.provider.wire_form

    def _passed(self, passing: Tree) -> tuple[ReplyStream, tuple[Tree, ...]]:
        """After something has passed, and what the client gets for it."""
        if self.row is None:
            return replace(self, opened=True), tuple(self._chunks(passing))
        kind: Kind = "text" if "content" in passing else "thinking"
        text = str(next(iter(passing.values())))
        if not self._in_own_form or not isinstance(self.stream, EventStream) or self.stream.chat is not None:
            said = Completion.of(self._frame({}), _NO_USAGE, {}, self.request.own)
            row, events = self.row.piece(kind, text, said)
        else:
            heard = self.stream.events
            if heard.assembly.has(heard.assembly.latest, "summary_text"):  # goes out whole, as an item
                return self, ()
            said = Completion.of(self._frame({}), _NO_USAGE, heard.head, self.request.own)
            blocks = heard.blocks() if heard.assembly.latest not in self.row.places else ()
            row, events = self.row.piece(kind, text, said, heard.assembly.latest, blocks)
        return replace(self, row=row, opened=self.opened or bool(events)), events

    def _passing(self, delta: Delta) -> tuple[ReplyStream, Tree]:
        """What passes at once of a delta; nothing of a call."""
        match delta.kind:
            case "content":
                text, shown = self.text.feed(delta.text)
                after = replace(self, text=text, shown=self.shown.append(shown) if shown else self.shown)
                return after, {"content": shown} if shown else {}
            case "reasoning":
                return replace(self, thought=True), {"reasoning_content": delta.text}
            case _:
                return self, {}

    def _rest(self, message: Tree) -> str | None:
        """The text that has not passed yet; ``None`` if what passed is not its beginning."""
        content = message.get("content")
        whole, shown = content if isinstance(content, str) else "", "".join(self.shown)
        for given in (whole, whole.lstrip()):
            if given.startswith(shown):
                return given[len(shown) :]
        return None

    def _ending(self, choice: Tree, rest: str, body: Tree) -> Iterator[Tree]:
        message = tree_at(choice, "message")
        reasoning = message.get("reasoning_content")
        if reasoning and not self.thought:
            yield from self._chunks({"reasoning_content": reasoning})
        further = {key: value for key, value in message.items() if key not in _STREAMED and value is not None}
        said: Tree = {**({"content": rest} if rest else {}), **further}
        if said:
            yield from self._chunks(said)
        calls: list[Json] = [
            {"index": place, **as_tree(call)} for place, call in enumerate(items_of(message, "tool_calls"))
        ]
        if calls:
            yield from self._chunks({"tool_calls": calls})
        yield from self._chunks({}, finish=choice.get("finish_reason"))
        if self.request.wants_usage:
            yield {**self._frame(body), "choices": [], "usage": body.get("usage")}

    def _chunks(self, delta: Tree, finish: Json = None) -> Iterator[Tree]:
        """A chunk with this delta."""
        # The role in each: a client that skips a delta of nothing but a role loses nothing.
        choice: Tree = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": finish}
        yield {**self._frame({}), "choices": [choice]}

    def _frame(self, body: Tree) -> Tree:
        head = self.stream.head
        given = head.get("id") or body.get("id")
        created, model = head.get("created"), head.get("model")
        return {
            "id": given if isinstance(given, str) else self.head.id,
            "object": "chat.completion.chunk",
            "created": created if isinstance(created, int) else self.head.created,
            "model": model if isinstance(model, str) and model else self.request.model,
        }
