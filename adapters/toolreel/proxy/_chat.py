"""Answers one request for a reply of the model: plain or streamed, repaired, asked again where wanted."""

from __future__ import annotations

import codecs
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias
from uuid import uuid4

import anyio
import httpx

from toolreel._secrets import RunningBodyScrub, scrubbed, secrets_sent, secrets_to_scrub
from toolreel.http import (
    BoundedDecoder,
    Exchange,
    Stalled,
    TooLarge,
    UndecodableBody,
    async_chunks_of,
    async_trace,
    failure_event,
    hang_up,
    within,
)
from toolreel.proxy._client import NEVER_AGAIN, OURS, ClientAnswer, Trouble, problem_error, upstream_error
from toolreel.proxy._headers import KEYS
from toolreel.proxy._recorder import Recorder
from toolreel.proxy._settings import Limits, ProxySettings
from toolreel_core._client_requests import ClientRequest
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import Json, Tree, as_tree, canonical, items_of
from toolreel_core._protocol import ReplyReceived, RequestFailed, response_event
from toolreel_core._proxy import (
    Corrections,
    Head,
    KeptThoughts,
    Outbound,
    Profile,
    Repaired,
    ReplyStream,
    reply_in_error,
)

ReplyEvent: TypeAlias = ReplyReceived | RequestFailed
_UTF8 = codecs.getincrementaldecoder("utf-8")
_CONNECT = 10.0
"""Seconds for a connection."""


@dataclass(frozen=True, slots=True)
class Sent:
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    method: str = "POST"


class Pieces:
    """The reply to one request, which is sent when the first piece is wanted. A key in it is masked.

    Nothing is read while a piece is in use. Closing it closes the connection. It is no generator: with one in
    another, each with its scope, a piece took twice the time.
    """

    def __init__(self, transport: httpx.AsyncBaseTransport, limits: Limits, sent: Sent) -> None:
        self._transport = transport
        self._limits = limits
        self._sent = sent
        self._exchange = Exchange(limits.deadline_seconds, limits.response_bytes)
        self._text = _UTF8("replace")
        self._secrets = secrets_to_scrub(secrets_sent(sent.url, sent.headers, KEYS))
        self._scrub = RunningBodyScrub(self._secrets)
        self._passed: list[str] = []
        self._incoming: tuple[httpx.Response, AsyncIterator[bytes]] | None = None
        self._decoder: BoundedDecoder | None = None
        self._over = False
        self.headers: Sequence[tuple[str, str]] = ()
        """Those of the response, once it has begun: names in lower case, without a key that was sent."""

    def __aiter__(self) -> Pieces:
        return self

    async def __anext__(self) -> str | ReplyEvent:
        if self._over:
            raise StopAsyncIteration
        found = list[str | ReplyEvent]()
        with within(self._exchange):  # ends what happens inside when the time is over
            found.append(await self._next_piece_or_event())
        return found[0] if found else await self._ended(RequestFailed(0, "timeout", self._exchange.message))

    async def aclose(self) -> None:
        """Close the connection, unless the reply was complete."""
        self._over = True
        incoming, self._incoming = self._incoming, None
        if incoming is not None:
            with within(self._exchange):
                await hang_up(*incoming)

    async def _next_piece_or_event(self) -> str | ReplyEvent:
        try:
            response, chunks = self._incoming or await self._begun()
            encoding = response.headers.get("content-encoding", "")
            self._decoder = self._decoder or BoundedDecoder(encoding, self._limits.response_bytes)
            async for chunk in chunks:
                piece = self._take(self._scrub.feed(self._text.decode(self._decoder.feed(chunk))))
                if piece and response.is_success:
                    return piece
            self._decoder.finish()
            piece = self._take(self._scrub.feed(self._text.decode(b"", final=True)) + self._scrub.close())
            if piece and response.is_success:
                return piece
            return await self._ended(
                response_event(0, response.status_code, response.headers, "".join(self._passed))
            )
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            event = failure_event(0, error)
            return await self._ended(replace(event, message=scrubbed(event.message, self._secrets)))
        except (Stalled, TooLarge, UndecodableBody) as error:
            status = self._incoming[0].status_code if self._incoming else None
            return await self._ended(error.event(0, status))

    def _take(self, piece: str) -> str:
        self._passed.append(piece)
        return piece

    async def _begun(self) -> tuple[httpx.Response, AsyncIterator[bytes]]:
        response = await self._transport.handle_async_request(self._request())
        self._incoming = response, async_chunks_of(response)
        self.headers = [
            (name, scrubbed(value, self._secrets)) for name, value in response.headers.multi_items()
        ]
        return self._incoming

    async def _ended(self, event: ReplyEvent) -> ReplyEvent:
        await self.aclose()
        return event

    def _request(self) -> httpx.Request:
        """The transport alone sees it, so no client of httpx is needed."""
        seconds, sent = self._limits.stall_seconds, self._sent
        timeouts = {"connect": _CONNECT, "read": seconds, "write": seconds, "pool": seconds}
        request = httpx.Request(
            sent.method,
            sent.url,
            headers=dict(sent.headers),
            content=sent.body or None,
            extensions={
                "timeout": {name: self._exchange.cap_timeout(timeout) for name, timeout in timeouts.items()},
                "trace": partial(async_trace, self._exchange),
            },
        )
        request.read()
        return request


_AFTER_DONE = 0.2
"""Seconds in which an upstream may end a stream that is complete; then its connection can be used again."""
_IDS = {
    "chat_completions": "chatcmpl-",
    "responses": "resp_",
    "messages": "msg_",
}


@dataclass(slots=True)
class ChatExchange:
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
                self.thoughts.keep(self.request, message, self.profile.provider, self.caller)
            if conversation:
                self.recorder.put_back(conversation, messages, len(self.outbound.body))
        if isinstance(result, Trouble):
            await answer.send_error(result)
        elif streamed:
            await answer.end_stream(result[0])
        else:
            await answer.send_json(result[1].answer(self.request))

    async def _reply(self, *, streamed: bool) -> tuple[list[Tree], Repaired] | Trouble:
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

    async def _receive_reply(self, stream: ReplyStream, *, show: bool) -> ReplyEvent:
        corrections = Corrections.of(self.request, self.profile, self.settings.extras, self.outbound.body)
        while True:
            event = await self._stream_reply(stream, show=show)
            again = corrections.after(event) if corrections else None
            # Text that the client has seen can't be taken back, so a failure after it is the client's to see.
            seen = show and isinstance(event, RequestFailed) and stream.opened
            if again is None or seen:
                return event
            self.answer.added.append(again.reason)
            await anyio.sleep(again.wait_ms / 1000)
            self.sent = replace(self.sent, body=again.body.encode())
            stream.restart()

    async def _stream_reply(self, stream: ReplyStream, *, show: bool) -> ReplyEvent:
        """Read a reply to its end; with ``show``, the client gets what can pass, as it comes.

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
