"""Answers one request for a reply of the model: plain or streamed, repaired, asked again where wanted."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import uuid4

import anyio
import httpx

from toolreel.proxy._client import (
    NEVER_AGAIN,
    OURS,
    ClientAnswer,
    Trouble,
    problem_error,
    upstream_error,
)
from toolreel.proxy._settings import ProxySettings
from toolreel.proxy._upstream import Pieces, Sent
from toolreel_core._client_requests import ClientRequest
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import Json, as_tree, canonical, items_of
from toolreel_core._protocol import ReplyReceived, RequestFailed
from toolreel_core._proxy import (
    Corrections,
    Head,
    Outbound,
    Profile,
    Repaired,
    ReplyStream,
    reply_in_error,
)
from toolreel_core._settings import WireForm

_AFTER_DONE: Final = 0.2
"""Seconds in which an upstream may end a stream that is complete; then its connection can be used again."""
_IDS: Final[Mapping[WireForm, str]] = {
    "chat_completions": "chatcmpl-",
    "responses": "resp_",
    "messages": "msg_",
}


@dataclass(slots=True)
class Done:
    """What became of a request, for the log and the recordings."""

    repairs: dict[str, None] = field(default_factory=dict)
    noticed: dict[str, None] = field(default_factory=dict)
    added: list[str] = field(default_factory=list)
    """Why requests were added."""
    reply: Repaired | None = None

    @property
    def notes(self) -> dict[str, list[str]]:
        """The names of what was repaired and noticed, and the reasons of what was added."""
        return {"repairs": [*self.repairs], "noticed": [*self.noticed], "added": self.added}

    @property
    def message(self) -> tuple[Json, ...]:
        """The model's message, if there is one."""
        choices = items_of(self.reply.body, "choices") if self.reply else ()
        return tuple(as_tree(choice).get("message") for choice in choices[:1])


@dataclass(slots=True)
class ChatExchange:
    """One request of a client on its way."""

    request: ClientRequest
    profile: Profile
    outbound: Outbound
    transport: httpx.AsyncBaseTransport
    sent: Sent
    answer: ClientAnswer
    settings: ProxySettings
    caller: str
    """Names the owner of the key."""
    ending: Callable[[], None] = lambda: None
    """Called before the client has the end of the answer."""
    done: Done = field(default_factory=Done)
    head: Head = field(init=False)

    def __post_init__(self) -> None:
        self.head = Head(f"{_IDS[self.request.form]}{uuid4().hex}", int(time.time()))

    async def perform(self) -> None:
        """Answer the client."""
        self.done.repairs |= dict.fromkeys(self.outbound.repairs)
        try:
            await self._answer(streamed=self.request.streamed)
        except ReplayMismatch as why:
            await self._fail(Trouble(422, str(why), "replay_mismatch", OURS, None, NEVER_AGAIN))

    async def _answer(self, *, streamed: bool) -> None:
        stream, event = await self._receive_reply(show=streamed)
        if isinstance(event, RequestFailed):
            seen = streamed and stream.opened
            given = None if seen else reply_in_error(event.body, self.request, self.profile, self.head)
            if given is None:
                await self._fail(upstream_error(event))
                return
            self._add_repairs(given)
            stream, _ = stream.restarted().feed(canonical(given.body))
        chunks, reply = stream.close(shown=streamed)
        self._add_repairs(reply)
        if reply.problem:
            await self._fail(problem_error(reply.problem))
            return
        done = self.done
        if not streamed:
            self._set_repair_headers()
        self.ending()
        if streamed:
            await self.answer.end_stream(done.notes, chunks)
        else:
            await self.answer.send_json(reply.answer(self.request))

    async def _receive_reply(self, *, show: bool) -> tuple[ReplyStream, ReplyReceived | RequestFailed]:
        """Read replies until one is for the client: the state of its stream, and the event for the whole."""
        stream = ReplyStream.of(self.request, self.profile, self.head)
        corrections = Corrections.of(self.request, self.profile, self.settings.extras, self.outbound.body)
        while True:
            stream, event = await self._stream_reply(stream, show=show)
            corrections, again = corrections.after(event) if corrections else (None, None)
            # Text that the client has seen can't be taken back, so a failure after it is the client's to see.
            seen = show and isinstance(event, RequestFailed) and stream.opened
            if again is None or seen:
                return stream, event
            self.done.added.append(again.reason)
            await anyio.sleep(again.wait_ms / 1000)
            self.sent = replace(self.sent, body=again.body.encode())
            stream = stream.restarted()

    async def _stream_reply(
        self, stream: ReplyStream, *, show: bool
    ) -> tuple[ReplyStream, ReplyReceived | RequestFailed]:
        """Read a reply to its end: its state then, and the event for the whole.

        :param show: whether the client gets what can pass, as it comes
        """
        stall = self.settings.limits.stall_seconds
        progress, progressed_at = stream.stream.progress, time.monotonic()
        self._set_repair_headers()
        async with aclosing(Pieces(self.transport, self.settings.limits, self.sent)) as pieces:
            while True:
                with anyio.move_on_after(_AFTER_DONE if stream.stream.done else None):
                    piece = await anext(pieces)
                    self.answer.passed = pieces.headers
                    if not isinstance(piece, str):
                        return stream, piece
                    stream, chunks = stream.feed(piece)
                    if show:
                        for chunk in chunks:
                            await self.answer.send_event(chunk)
                        await self.answer.send_keep_alive()
                    if stream.stream.progress > progress or stream.stream.streamed is False:
                        progress, progressed_at = stream.stream.progress, time.monotonic()
                    elif time.monotonic() - progressed_at > stall:
                        return stream, RequestFailed(
                            0,
                            "timeout",
                            f"no meaningful data for {stall:g} s, though the connection was alive",
                        )
                    continue
                return stream, ReplyReceived(0, 200, stream.body)

    def _add_repairs(self, reply: Repaired) -> None:
        self.done.reply = reply
        self.done.repairs |= dict.fromkeys(reply.repairs)
        self.done.noticed |= dict.fromkeys(reply.noticed)

    async def _fail(self, trouble: Trouble) -> None:
        self._set_repair_headers()
        self.ending()
        await self.answer.send_error(trouble)

    def _set_repair_headers(self) -> None:
        """What was done so far, as headers; of a stream, what is known when it begins."""
        notes = self.done.notes.items()
        self.answer.headers.update({f"x-toolreel-{key}": ",".join(names) for key, names in notes if names})
