"""A streamed reply, repaired while it passes: chunks of the upstream in, canonical chunks out."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from pyrsistent import PVector, pvector

from toolreel_core._client_requests import ClientRequest
from toolreel_core._jsontext import Json, Tree, as_tree, items_of, tree_at
from toolreel_core._proxy.completion import Completion
from toolreel_core._proxy.event_row import EventRow, Kind, text_after
from toolreel_core._proxy.reply import Head, Repaired, repaired
from toolreel_core._proxy.upstream_request import Profile
from toolreel_core._replies import ChatEvents, Delta, Stream, Usage, stream_in
from toolreel_core._text_calls import BARE, has_think_tags
from toolreel_core._text_calls import QUOTATION_OPENERS as QUOTATIONS

# Text that passes at once, and text that is held back because a call may be in it.
#
# Everything before the first sign of a call is an answer, and passes. At a sign, such as the opening of a
# tag, the text waits until it is known: most signs turn out to be something else within a few characters (an
# HTML tag, a link), and the text goes on. If it is the markup of a call, of a thought or of a result, the
# rest waits for the end of the reply, where the same reader as always decides what it was.


_LOOKAHEAD: Final = 120
"""Characters after which a sign that is no marker yet won't become one; the longest marker is shorter."""
_WORDS: Final = ("functools[", "function call<", "to=", "observation:")
"""Markers that begin with a letter."""
_SIGNS: Final = rf"<[\w|｜‖!/]?|\[[tbe/cq]?|\][<~]?|✿|(?<![^\W_])(?:{'|'.join(map(re.escape, _WORDS))})"
_SIGN: Final = re.compile(_SIGNS, re.IGNORECASE)
"""A sign that may begin a call in text; what follows it is held back until that is certain."""
_BARE_SIGN: Final = re.compile(rf"[{{\[`~<>]|^(?:Action|Thought)|{_SIGNS}", re.IGNORECASE | re.MULTILINE)
"""Where a message may begin to be one call as a whole, in dialects without markers."""
_BRACKETED: Final = ("[tool", "[/tool", "[think", "[/think", "[begin final", "[end final", "[e~")
"""The beginnings of markers in brackets: a link is none of them."""
_TAG: Final = re.compile(r"</?\w[^<>|]*>")
"""A tag that is closed: if it is no marker now, it never is."""
_NEVER: Final = re.compile(r"<[^\w|｜‖!/]|\[[^tbe/cq]|\][^<~]", re.IGNORECASE)
"""Characters that no marker begins with."""
_BARE_WORDS: Final = (*_WORDS, "action", "thought")
_CALL_KEYS: Final = ('{"name', '{"function', '{"tool', '{"type', '{"arguments', '{"parameters')
"""How a call begins whose opening tag a server has removed."""
_BLANKS: Final = " \t\r\n\ufeff\u200b\u2060"
_NO_TEXTS: Final[PVector[str]] = pvector()
_LONGEST_TAIL: Final = 4_096
"""Characters, nearly all of them blanks, after which the rest waits for the end: reading them again with each
piece would take quadratic time."""

Opening: TypeAlias = Literal["call", "undecided", "other"]
"""What the beginning of a message says of it."""


@dataclass(frozen=True, slots=True)
class HeldText:
    """The state of a text that arrives in pieces.

    >>> text, shown = HeldText(("hermes_json",)).feed("Looking. <tool_c")
    >>> shown
    'Looking.'
    """

    dialects: tuple[str, ...] = ()
    """The dialects that will be read; without any, everything passes."""
    known: Collection[str] = ()
    """Names of tools: a message may begin with one."""
    tail: str = ""
    """The end of the text so far, which may be the beginning of a marker."""
    waiting: PVector[str] = field(default=_NO_TEXTS)
    """What follows a marker: it waits for the end."""
    begun: bool = False
    """Whether any text has passed."""

    def feed(self, text: str) -> tuple[HeldText, str]:
        """The state after the next piece, and the text that may be shown now."""
        if not self.dialects:
            return self, text
        if self.waiting:
            return replace(self, waiting=self.waiting.append(text)), ""
        whole = self.tail + text
        end, marked = self._safe_length(whole)
        # Blanks before a call, and at both ends of a message, are not part of what the model says.
        safe = whole[:end].rstrip(_BLANKS)
        shown = safe if self.begun else safe.lstrip(_BLANKS)
        tail = whole[len(safe) :] if shown else whole
        waits = marked or len(tail) > _LONGEST_TAIL
        after = replace(
            self,
            tail="" if waits else tail,
            waiting=pvector([tail]) if waits else _NO_TEXTS,
            begun=self.begun or bool(shown),
        )
        return after, shown

    def _safe_length(self, text: str) -> tuple[int, bool]:
        """How much of a text is surely no part of a call, and whether a marker follows it."""
        if not self.begun and (opening := self._json_opening(text)) != "other":
            return 0, opening == "call"
        bare = not _BARE.isdisjoint(self.dialects)
        sign = _BARE_SIGN if bare else _SIGN
        at = 0
        while found := sign.search(text, at):
            place = found.start()
            if (bare and text[place] in _WHOLE) or _is_marker(text, place):
                return place, True
            if not _is_dismissed(text, place):
                return place, False
            at = place + 1
        return len(text) - _end_overlap(text, _BARE_WORDS if bare else _WORDS), False

    def _json_opening(self, text: str) -> Opening:
        """Whether a message begins like JSON that is a call, or with the name of a tool."""
        dense = "".join(text[:_LOOKAHEAD].split()).strip(_BLANKS)
        if dense.startswith(_CALL_KEYS):
            return "call"
        if any(key.startswith(dense) for key in _CALL_KEYS):
            return "undecided"
        if "glm4_name_json" not in self.dialects:
            return "other"
        first, newline, _ = text.lstrip(_BLANKS).partition("\n")
        if newline:
            return "call" if first.rstrip(_BLANKS) in self.known else "other"
        return "undecided" if any(name.startswith(first.rstrip(_BLANKS)) for name in self.known) else "other"


_BARE: Final = frozenset(BARE)
_WHOLE: Final = frozenset("{[`~<>AaTt")
"""First characters after which a bare dialect reads the rest of a message as a whole."""


def _is_marker(text: str, place: int) -> bool:
    from toolreel_core._text_calls import mark_at  # noqa: PLC0415 - decoders load slowly

    if has_think_tags(text[place : place + _LOOKAHEAD]):
        return True
    mark = mark_at(text, place)
    # The marker of a quotation opens nothing in which a call is read.
    return mark is not None and mark.lastgroup is not None and not any(map(mark.groupdict().get, QUOTATIONS))


def _is_dismissed(text: str, place: int) -> bool:
    """Whether a sign is none of a marker, whatever follows."""
    if text[place] == "[":
        begun = text[place : place + _LOOKAHEAD].lower()
        if not any(each.startswith(begun) or begun.startswith(each) for each in _BRACKETED):
            return True
    return (
        len(text) - place > _LOOKAHEAD
        or _NEVER.match(text, place) is not None
        or _TAG.match(text, place) is not None
    )


def _end_overlap(text: str, words: tuple[str, ...]) -> int:
    """The length of the longest end of a text with which one of the words begins."""
    end = text[-_LONGEST:].lower()
    return next(
        (
            size
            for size in range(len(end), 0, -1)
            if any(word.startswith(end[len(end) - size :]) for word in words)
            and not text[: len(text) - size][-1:].isalnum()
        ),
        0,
    )


_LONGEST: Final = max(map(len, _BARE_WORDS))


SENT_BEFORE: Final = "TEXT_SENT_BEFORE"
"""Noticed where text had passed that the complete reply no longer has."""

_EVENTS: Final = re.compile(r".+?(?:\r?\n\r?\n|\Z)", re.DOTALL)
"""Events of a stream as they come, the last one perhaps in part."""
_NO_USAGE: Final = Usage()
_NO_PIECES: Final[PVector[str]] = pvector()
_KINDS: Final[Mapping[str, Kind]] = {"content": "text", "reasoning": "thinking"}
"""What passes in pieces."""
_STREAMED: Final = frozenset({"content", "reasoning_content", "reasoning", "role", "tool_calls"})


@dataclass(frozen=True, slots=True)
class ReplyStream:
    """The state of one streamed reply: an immutable value."""

    request: ClientRequest
    profile: Profile
    head: Head
    stream: Stream
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
        text = HeldText(profile.dialects(request), request.tools.known)
        row = None if request.form == "chat_completions" else EventRow(request.form)
        return cls(request, profile, head, stream_in(profile.provider.wire_form), text, row=row)

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
                at, passed = at._send_delta(delta)
                chunks += passed
        return at, tuple(chunks)

    def restarted(self) -> ReplyStream:
        """The state before another reply to the same request, which goes on after what has passed."""
        return replace(
            self,
            stream=stream_in(self.profile.provider.wire_form),
            raw=_NO_PIECES,
            text=HeldText(self.text.dialects, self.text.known, begun=self.text.begun),
        )

    def close(self, *, shown: bool = True) -> tuple[tuple[Tree, ...], Repaired]:
        """The rest of the chunks once the body has ended, and the whole reply.

        There are none if the reply has a problem, which the client is told instead.

        :param shown: whether the client has got the chunks before; if not, it gets none now
        """
        reply = repaired(self.body, self.request, self.profile, self.head)
        if reply.problem or not shown:
            return (), reply
        choices = items_of(reply.body, "choices")
        choice = as_tree(choices[0])
        content = tree_at(choice, "message").get("content")
        rest = text_after(content if isinstance(content, str) else "", "".join(self.shown))
        if rest is None:  # what passed is not its beginning
            rest, reply = "", replace(reply, noticed=(*reply.noticed, SENT_BEFORE))
        if self.row is not None:
            return self.row.final_events(reply.said(self.request), rest), reply
        return tuple(self._closing_chunks(choice, rest, reply.body)), reply

    @property
    def _in_own_form(self) -> bool:
        """Whether client and upstream speak the same form, which is not chat completions."""
        return self.row is not None and self.request.form == self.profile.provider.wire_form

    def _send_delta(self, delta: Delta) -> tuple[ReplyStream, tuple[Tree, ...]]:
        """After a delta, and what the client gets for it at once; nothing for one of a call."""
        at, kind, text = self, _KINDS.get(delta.kind), delta.text
        if kind is None:
            return self, ()
        if kind == "thinking":
            at = replace(self, thought=True)
        else:
            held, text = self.text.feed(delta.text)
            at = replace(self, text=held, shown=self.shown.append(text) if text else self.shown)
            if not text:
                return at, ()
        if at.row is None:
            chunk = at._delta_chunk({"content" if kind == "text" else "reasoning_content": text})
            return replace(at, opened=True), (chunk,)
        own: Tree = {}
        place, blocks = -1, tuple[tuple[int, Tree], ...]()
        heard = at.stream.events
        if at._in_own_form and not isinstance(heard, ChatEvents):
            own, place = heard.head, heard.assembly.latest
            if heard.assembly.has_text(place, "summary_text"):  # goes out whole, as an item
                return at, ()
            blocks = heard.blocks() if place not in at.row.places else ()
        said = Completion.of(at._chunk_frame({}), _NO_USAGE, own, at.request.own)
        row, events = at.row.add_piece(kind, text, said, place, blocks)
        return replace(at, row=row, opened=at.opened or bool(events)), events

    def _closing_chunks(self, choice: Tree, rest: str, body: Tree) -> Iterator[Tree]:
        message = tree_at(choice, "message")
        reasoning = message.get("reasoning_content")
        if reasoning and not self.thought:
            yield self._delta_chunk({"reasoning_content": reasoning})
        further = {key: value for key, value in message.items() if key not in _STREAMED and value is not None}
        said: Tree = {**({"content": rest} if rest else {}), **further}
        if said:
            yield self._delta_chunk(said)
        calls: list[Json] = [
            {"index": place, **as_tree(call)} for place, call in enumerate(items_of(message, "tool_calls"))
        ]
        if calls:
            yield self._delta_chunk({"tool_calls": calls})
        yield self._delta_chunk({}, finish=choice.get("finish_reason"))
        if self.request.wants_usage:
            yield {**self._chunk_frame(body), "choices": [], "usage": body.get("usage")}

    def _delta_chunk(self, delta: Tree, finish: Json = None) -> Tree:
        """A chunk with this delta."""
        # The role in each: a client that skips a delta of nothing but a role loses nothing.
        choice: Tree = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": finish}
        return {**self._chunk_frame({}), "choices": [choice]}

    def _chunk_frame(self, body: Tree) -> Tree:
        head = self.stream.head
        given = head.get("id") or body.get("id")
        created, model = head.get("created"), head.get("model")
        return {
            "id": given if isinstance(given, str) else self.head.id,
            "object": "chat.completion.chunk",
            "created": created if isinstance(created, int) else self.head.created,
            "model": model if isinstance(model, str) and model else self.request.model,
        }
