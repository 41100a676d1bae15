"""Answers one request for a reply of the model: plain or streamed, repaired, asked again where wanted."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Final
from uuid import uuid4

import anyio
import httpx

from toolreel.proxy._client import NEVER_AGAIN, OURS, ClientAnswer, Trouble, problem_error, upstream_error
from toolreel.proxy._recorder import Recorder
from toolreel.proxy._settings import ProxySettings
from toolreel.proxy._upstream import Pieces, Sent
from toolreel_core._client_requests import ClientRequest
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import Json, Tree, as_tree, canonical, items_of
from toolreel_core._protocol import ReplyReceived, RequestFailed
from toolreel_core._proxy import (
    RESTORED,
    Corrections,
    Head,
    Key,
    Outbound,
    Profile,
    Repaired,
    ReplyStream,
    Thoughts,
    reply_in_error,
    thoughts_to_return,
    with_thoughts,
)
from toolreel_core._settings import WireForm

_THOUGHT_BYTES: Final = 64 * 2**20
"""Size of the thoughts that are kept; those that were wanted least recently are forgotten first."""
_BYTES_EACH: Final = 1_000
"""Bytes that any of them takes besides."""


class KeptThoughts:
    """What models thought in the conversations under way, for upstreams that want it back.

    :param most: their size in bytes
    """

    def __init__(self, most: int = _THOUGHT_BYTES) -> None:
        self._most: Final = most
        self._size = 0
        self._thoughts: Final[OrderedDict[str, tuple[Thoughts, int]]] = OrderedDict()

    def keep(self, request: ClientRequest, message: Json, profile: Profile, caller: str) -> None:
        """Keep what a reply says that its upstream wants back."""
        found = thoughts_to_return(request, message, profile.provider, caller=caller)
        if found is None:
            return
        key, thoughts = found
        size = _BYTES_EACH + sum(len(canonical(each)) for each in (thoughts.message, *thoughts.calls))
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


_AFTER_DONE: Final = 0.2
"""Seconds in which an upstream may end a stream that is complete; then its connection can be used again."""
_IDS: Final[Mapping[WireForm, str]] = {
    "chat_completions": "chatcmpl-",
    "responses": "resp_",
    "messages": "msg_",
}


@dataclass(slots=True)
class ChatExchange:
    """One request of a client on its way."""

    request: ClientRequest
    profile: Profile
    outbound: Outbound
    transport: httpx.AsyncBaseTransport
    sent: Sent
    answer: ClientAnswer
    caller: str
    """Names the owner of the key."""
    settings: ProxySettings
    recorder: Recorder
    thoughts: KeptThoughts

    async def perform(self) -> None:
        """Answer the client."""
        streamed, answer = self.request.streamed, self.answer
        answer.repairs.update(dict.fromkeys(self.outbound.repairs))
        conversation = self.recorder.take_conversation(self.request, self.profile, self.caller)
        answer.conversation = conversation.name if conversation else ""
        self.transport = self.recorder.transport_for(self.transport, conversation)
        messages: list[Json] = []
        try:
            result = await self._reply(streamed=streamed)
            if not isinstance(result, Trouble):
                messages += [as_tree(one).get("message") for one in items_of(result[1].body, "choices")[:1]]
        finally:  # before the client has the end of the answer, since its next request may follow at once
            for message in messages:
                self.thoughts.keep(self.request, message, self.profile, self.caller)
            if conversation:
                self.recorder.put_back(conversation, messages, len(self.outbound.body))
        if isinstance(result, Trouble):
            await answer.send_error(result)
        elif streamed:
            await answer.end_stream(result[0])
        else:
            await answer.send_json(result[1].answer(self.request))

    async def _reply(self, *, streamed: bool) -> tuple[list[Tree], Repaired] | Trouble:
        """The last events of the stream, if it is one, and the reply."""
        head = Head(f"{_IDS[self.request.form]}{uuid4().hex}", int(time.time()))
        stream = ReplyStream(self.request, self.profile, head)
        try:
            event = await self._receive_reply(stream, show=streamed)
        except ReplayMismatch as why:
            return Trouble(422, str(why), "replay_mismatch", OURS, None, NEVER_AGAIN)
        if isinstance(event, RequestFailed):
            seen = streamed and stream.opened
            given = None if seen else reply_in_error(event.body, self.request, self.profile, head)
            if given is None:
                return upstream_error(event)
            self.answer.add_reply(given)
            stream.restart()
            stream.feed(canonical(given.body))
        events, reply = stream.close(shown=streamed)
        self.answer.add_reply(reply)
        return problem_error(reply.problem) if reply.problem else (events, reply)

    async def _receive_reply(self, stream: ReplyStream, *, show: bool) -> ReplyReceived | RequestFailed:
        """Read replies until one is for the client: the event for the whole."""
        corrections = Corrections.of(self.request, self.profile, self.settings.extras, self.outbound.body)
        while True:
            event = await self._stream_reply(stream, show=show)
            corrections, again = corrections.after(event) if corrections else (None, None)
            # Text that the client has seen can't be taken back, so a failure after it is the client's to see.
            seen = show and isinstance(event, RequestFailed) and stream.opened
            if again is None or seen:
                return event
            self.answer.added.append(again.reason)
            await anyio.sleep(again.wait_ms / 1000)
            self.sent = replace(self.sent, body=again.body.encode())
            stream.restart()

    async def _stream_reply(self, stream: ReplyStream, *, show: bool) -> ReplyReceived | RequestFailed:
        """Read a reply to its end.

        :param show: whether the client gets what can pass, as it comes
        """
        stall = self.settings.limits.stall_seconds
        progress, progressed_at = stream.stream.progress, time.monotonic()
        async with aclosing(Pieces(self.transport, self.settings.limits, self.sent)) as pieces:
            while True:
                with anyio.move_on_after(_AFTER_DONE if stream.stream.done else None):
                    piece = await anext(pieces)
                    self.answer.passed = pieces.headers
                    if not isinstance(piece, str):
                        return piece
                    chunks = stream.feed(piece)
                    if show:
                        for chunk in chunks:
                            await self.answer.send_event(chunk)
                        await self.answer.send_keep_alive()
                    if stream.stream.progress > progress or stream.stream.streamed is False:
                        progress, progressed_at = stream.stream.progress, time.monotonic()
                    elif time.monotonic() - progressed_at > stall:
                        why = f"no meaningful data for {stall:g} s, though the connection was alive"
                        return RequestFailed(0, "timeout", why)
                    continue
                return ReplyReceived(0, 200, stream.body)
