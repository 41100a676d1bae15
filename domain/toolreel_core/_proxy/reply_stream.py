"""A streamed reply, repaired while it passes: chunks of the upstream in, canonical chunks out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from toolreel_core._client_requests import ClientRequest
from toolreel_core._conversation import without_empty_fields
from toolreel_core._jsontext import Json, Tree, as_tree, canonical, list_at, text_at, tree_at
from toolreel_core._proxy.client_form import REPLY_FORMS, ContentKind, OtherForm, reply_body_in_form
from toolreel_core._proxy.held_text import HeldText
from toolreel_core._proxy.reply import Head, Repaired, repair_reply
from toolreel_core._proxy.upstream_request import Profile
from toolreel_core._replies import (
    ChatEvents,
    Delta,
    MessageEvents,
    ResponseEvents,
    Usage,
    choices_of,
    stream_for_form,
    type_of,
)

_KINDS: Mapping[str, ContentKind] = {
    "text": "text",
    "thinking": "thinking",
    "message": "text",
    "reasoning": "thinking",
}
"""What passes in pieces, by the type of its block."""
_CALLS = ("tool_use", "function_call")


class EventRow:
    """A reply in Responses or Messages as the events of a stream: blocks or items, one behind the other.

    Texts and thoughts pass in pieces. Everything else goes out whole, and in its place: what stands behind a
    call waits for the end, as calls do.
    """

    def __init__(self, form: OtherForm, request: Tree) -> None:
        self.form: OtherForm = form
        self._request = request
        self._writer = REPLY_FORMS[form]
        self._shown: list[Tree] = []
        """The blocks, as far as they have gone out."""
        self._open: tuple[ContentKind, int] | None = None
        """The kind of the last one if it goes on, and where the upstream has it."""
        self._held = False
        """Whether the rest waits for the end."""
        self._count = 0
        self.id = ""
        """The id of the reply, once it has been told."""

    def add_piece(
        self, kind: ContentKind, text: str, chat: Tree, upstream: MessageEvents | ResponseEvents | None
    ) -> list[Tree]:
        """The events for more of a text or thought.

        :param chat: the reply before anything is said
        :param upstream: what the upstream has sent so far, if it speaks this form
        """
        place, events = -1 if upstream is None else upstream.latest, list[Tree]()
        if self._open != (kind, place) and not self._held:
            # Where the upstream has no blocks, the new one is behind those that have gone out.
            blocks, own = [*self._shown], self._writer.block(kind, "")
            if upstream is not None:
                *blocks, new = [block for at, block in upstream.blocks().items() if at <= place]
                own = {**own, **without_empty_fields(id=new.get("id"))}
            done = len(self._shown)
            self._held = self._text_left(blocks) != "" or any(map(_must_wait_for_end, blocks[done:]))
            if not self._held:
                head = {} if upstream is None else upstream.head
                events += self._opening_events(
                    reply_body_in_form(self.form, chat, Usage(), head, self._request)
                )
                events += self._block_end_events(blocks[done - 1]) if done else ()
                events += self._add_blocks(blocks[done:])
                self._shown.append(self._with_id(own))
                self._open = kind, place
                events += self._events_of_last_block(self._shown[-1])[: self._writer.before_text]
        if self._held:
            return []
        events.append(self._text_event(kind, text))
        last = self._shown[-1]
        self._shown[-1] = {**last, **self._writer.block(kind, _block_text(last) + text)}
        return self._numbered_events(events)

    def final_events(self, body: Tree, rest: str) -> list[Tree]:
        """The rest of the events.

        :param rest: the text that has not passed, where the blocks do not go on with what has
        """
        events, blocks = self._opening_events(body), [*map(as_tree, list_at(body, self._writer.key))]
        done, left = len(self._shown), self._text_left(blocks)
        if left is None:
            events += self._block_end_events(self._shown[-1])
            events += self._add_blocks([*self._remaining_blocks(blocks, rest)])
        else:
            events += [self._text_event(_KINDS[type_of(self._shown[-1])], left)] if left else ()
            events += self._block_end_events(blocks[done - 1]) if done else ()
            self._shown = [*map(_with_known_id, self._shown, blocks)]
            events += self._add_blocks(blocks[done:])
        events += self._writer.closing_events({**body, self._writer.key: self._shown})
        return self._numbered_events(events)

    def _opening_events(self, body: Tree) -> list[Tree]:
        if self._count:
            return []
        self.id = text_at(body, "id")
        return [*self._writer.opening_events(body)]

    def _remaining_blocks(self, blocks: Sequence[Tree], rest: str) -> Iterator[Tree]:
        """The blocks that follow where others have gone out than the reply has."""
        if rest.strip():
            yield self._writer.block("text", rest)
        shown = [*map(canonical, self._shown)]
        for block in blocks:
            if type_of(block) not in _KINDS and canonical(block) not in shown:
                yield block

    def _text_left(self, blocks: Sequence[Tree]) -> str | None:
        """The text of these blocks behind what has gone out; ``None`` if that is not their beginning."""
        left: str | None = ""
        for number, shown in enumerate(self._shown):
            if left != "" or number == len(blocks) or _block_kind(blocks[number]) != _block_kind(shown):
                return None
            left = text_after_prefix(_block_text(blocks[number]), _block_text(shown))
        return left

    def _add_blocks(self, blocks: Sequence[Tree]) -> list[Tree]:
        """The events of further blocks, each as a whole."""
        events = list[Tree]()
        for block in blocks:
            self._shown.append(self._with_id(block))
            events += self._events_of_last_block(self._shown[-1])
        return events

    def _with_id(self, block: Tree) -> Tree:
        return self._writer.with_id(block, self.id, len(self._shown))

    def _text_event(self, kind: ContentKind, text: str) -> Tree:
        return self._events_of_last_block(self._writer.block(kind, text))[self._writer.before_text]

    def _events_of_last_block(self, block: Tree) -> list[Tree]:
        """The events of the last block, as if this were all of it."""
        known = _with_known_id(self._shown[-1], block)
        return [*self._writer.block_events(len(self._shown) - 1, known)]

    def _block_end_events(self, whole: Tree) -> list[Tree]:
        after = self._writer.before_text + 1
        events = self._events_of_last_block(whole)
        if len(list_at(whole, "content")) > 1:  # its texts have passed as one
            one = self._writer.block(_KINDS[type_of(whole)], _block_text(whole))
            return [*self._events_of_last_block({**whole, "content": one["content"]})[after:-1], events[-1]]
        return events[after:]

    def _numbered_events(self, events: list[Tree]) -> list[Tree]:
        first, self._count = self._count, self._count + len(events)
        if self.form == "messages":
            return events
        return [{**event, "sequence_number": number} for number, event in enumerate(events, first)]


def _must_wait_for_end(block: Tree) -> bool:
    """Whether a block of which nothing has gone out can't go out as a whole before the end."""
    return type_of(block) in _CALLS or (type_of(block) in _KINDS and _block_text(block) != "")


def _block_kind(block: Tree) -> str:
    return _KINDS.get(type_of(block), type_of(block))


def _block_text(block: Tree) -> str:
    if type_of(block) in {"text", "thinking"}:
        return text_at(block, type_of(block))
    return "".join(text_at(as_tree(part), "text") for part in list_at(block, "content"))


def _with_known_id(shown: Tree, block: Tree) -> Tree:
    """A block under the id that the client knows it by; blocks of Messages have none."""
    return {**block, "id": shown["id"]} if shown.get("id") else block


def text_after_prefix(whole: str, begun: str) -> str | None:
    """What follows in a text whose beginning has passed, perhaps without blanks; ``None`` if it has not."""
    for given in (whole, whole.lstrip()):
        if given.startswith(begun):
            return given[len(begun) :]
    return None


SENT_BEFORE = "TEXT_SENT_BEFORE"
"""Noticed where text had passed that the complete reply no longer has."""

_EVENTS = re.compile(r".+?(?:\r?\n\r?\n|\Z)", re.DOTALL)
"""Events of a stream as they come, the last one perhaps in part."""
_STREAMED = ("content", "reasoning_content", "reasoning", "role", "tool_calls")


class ReplyStream:
    def __init__(self, request: ClientRequest, profile: Profile, head: Head) -> None:
        self._request = request
        self._profile = profile
        self._head = head
        self.stream = stream_for_form(profile.provider.wire_form)
        self._raw: list[str] = []
        self._text = HeldText(profile.dialects(request), request.tools.known)
        self._shown: list[str] = []
        """The text that has passed."""
        self._thought = False
        """Whether reasoning has passed."""
        self.opened = False
        """Whether a chunk has passed."""
        self._row = None if request.form == "chat_completions" else EventRow(request.form, request.own)

    @property
    def body(self) -> str:
        return "".join(self._raw)

    def feed(self, text: str) -> list[Tree]:
        self._raw.append(text)
        chunks = list[Tree]()
        # In the client's own form each event is read on its own, since a block may pass after each.
        own_form = self._row is not None and self._request.form == self._profile.provider.wire_form
        for piece in _EVENTS.findall(text) if own_form else (text,):
            self.stream, deltas = self.stream.feed(piece)
            for delta in deltas:
                chunks += self._chunks_of_delta(delta, own_form=own_form)
        self.opened = self.opened or bool(chunks)
        return chunks

    def restart(self) -> None:
        self.stream = stream_for_form(self._profile.provider.wire_form)
        self._raw = []
        self._text.restart()

    def close(self, *, shown: bool = True) -> tuple[list[Tree], Repaired]:
        """The rest of the chunks once the body has ended, and the whole reply.

        There are none if the reply has a problem, which the client is told instead.

        :param shown: whether the client has got the chunks before; if not, it gets none now
        """
        reply = repair_reply(self.body, self._request, self._profile, self._head)
        if reply.problem or not shown:
            return [], reply
        choice = choices_of(reply.body)[0]
        content = text_at(tree_at(choice, "message"), "content")
        rest = text_after_prefix(content, "".join(self._shown))
        if rest is None:  # what passed is not its beginning
            rest, reply = "", replace(reply, noticed=(*reply.noticed, SENT_BEFORE))
        if self._row is not None:
            return self._row.final_events(reply.answer(self._request, self._row.id), rest), reply
        return [*self._closing_chunks(choice, rest, reply.body)], reply

    def _chunks_of_delta(self, delta: Delta, *, own_form: bool) -> list[Tree]:
        """What the client gets at once for a delta; nothing for one of a call."""
        kind, text = delta.kind, delta.text
        if kind == "content" and (text := self._text.feed(text)):
            self._shown.append(text)
        self._thought = self._thought or kind == "reasoning"
        if kind == "tool_call" or not text:
            return []
        if self._row is None:
            return [self._delta_chunk({"content" if kind == "content" else "reasoning_content": text})]
        events = self.stream.events
        upstream = events if own_form and not isinstance(events, ChatEvents) else None
        if upstream is not None and upstream.has_text(upstream.latest, "summary_text"):
            return []  # goes out whole, as an item
        frame = self._chunk_frame({})
        return self._row.add_piece("text" if kind == "content" else "thinking", text, frame, upstream)

    def _closing_chunks(self, choice: Tree, rest: str, body: Tree) -> Iterator[Tree]:
        message = tree_at(choice, "message")
        reasoning = message.get("reasoning_content")
        if reasoning and not self._thought:
            yield self._delta_chunk({"reasoning_content": reasoning})
        further = {key: value for key, value in message.items() if key not in _STREAMED and value is not None}
        if last := {**({"content": rest} if rest else {}), **further}:
            yield self._delta_chunk(last)
        calls = [
            {"index": place, **as_tree(call)} for place, call in enumerate(list_at(message, "tool_calls"))
        ]
        if calls:
            yield self._delta_chunk({"tool_calls": calls})
        yield self._delta_chunk({}, finish=choice.get("finish_reason"))
        if self._request.wants_usage:
            yield {**self._chunk_frame(body), "choices": [], "usage": body.get("usage")}

    def _delta_chunk(self, delta: Tree, finish: Json = None) -> Tree:
        # The role in each: a client that skips a delta of nothing but a role loses nothing.
        choice: Tree = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": finish}
        return {**self._chunk_frame({}), "choices": [choice]}

    def _chunk_frame(self, body: Tree) -> Tree:
        head = self.stream.head
        created = head.get("created")
        return {
            "id": text_at(head, "id") or text_at(body, "id") or self._head.id,
            "object": "chat.completion.chunk",
            "created": created if isinstance(created, int) else self._head.created,
            "model": text_at(head, "model") or self._request.model,
        }
