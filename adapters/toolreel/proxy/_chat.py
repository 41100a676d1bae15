"""Answers one request for a reply of the model: plain or streamed, repaired, asked again where wanted."""

from __future__ import annotations

import codecs
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias
from uuid import uuid4

import anyio
import httpx

from toolreel._driver import generate_items_in_scopes
from toolreel._secrets import RunningBodyScrub, scrubbed, secrets_in_request, secrets_to_scrub
from toolreel.http import (
    BodyError,
    BoundedDecoder,
    ExchangeLimits,
    async_response_chunks,
    failure_event,
    handle_async_trace_event,
    limit_piece_wait,
)
from toolreel.proxy._client import (
    NEVER_AGAIN,
    OURS,
    ClientAnswer,
    Trouble,
    reply_problem_error,
    upstream_error,
)
from toolreel.proxy._headers import KEYS
from toolreel.proxy._recorder import Recorder
from toolreel.proxy._settings import ProxyLimits, ProxySettings
from toolreel_core._client_requests import ClientRequest
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import Json, Tree, as_tree, canonical, list_at
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
    transport: httpx.AsyncBaseTransport
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(default=b"", repr=False)
    method: str = "POST"

    def request(self, limits: ProxyLimits, exchange: ExchangeLimits) -> httpx.Request:
        """The request for the transport; no httpx client is involved."""
        seconds = limits.stall_seconds
        timeouts = {"connect": _CONNECT, "read": seconds, "write": seconds, "pool": seconds}
        return httpx.Request(
            self.method,
            self.url,
            headers=dict(self.headers),
            content=self.body or None,
            extensions={
                "timeout": {name: exchange.cap_timeout(timeout) for name, timeout in timeouts.items()},
                "trace": partial(handle_async_trace_event, exchange),
            },
        )


async def reply_pieces(
    sent: Sent, limits: ProxyLimits, answer: ClientAnswer
) -> AsyncGenerator[str | ReplyEvent, None]:
    """The text of a reply as it comes, and then its event; keys that were sent are masked in it.

    Nothing is read while a piece is in use. Closing it closes the connection.

    :param answer: gets the headers of the response
    """
    exchange = ExchangeLimits(limits.deadline_seconds, limits.response_bytes)
    pulled = generate_items_in_scopes(
        _pieces_and_event(sent, limits, answer, exchange), lambda: limit_piece_wait(exchange)
    )
    ended = False
    async with aclosing(pulled) as pieces:
        async for piece in pieces:
            ended = not isinstance(piece, str)
            yield piece
    if not ended:
        yield RequestFailed(0, "timeout", exchange.message)


async def _pieces_and_event(
    sent: Sent, limits: ProxyLimits, answer: ClientAnswer, exchange: ExchangeLimits
) -> AsyncGenerator[str | ReplyEvent, None]:
    secrets = secrets_to_scrub(secrets_in_request(sent.url, sent.headers, KEYS))
    text, scrub, body, status = _UTF8("replace"), RunningBodyScrub(secrets), list[str](), None
    try:
        replied = await sent.transport.handle_async_request(sent.request(limits, exchange))
        async with async_response_chunks(replied) as (response, chunks):
            status, headers = response.status_code, response.headers
            answer.passed = [(name, scrubbed(value, secrets)) for name, value in headers.multi_items()]
            decoder = BoundedDecoder(headers.get("content-encoding", ""), limits.response_bytes)
            async for chunk in chunks:
                body.append(scrub.feed(text.decode(decoder.feed(chunk))))
                if body[-1] and response.is_success:
                    yield body[-1]
            decoder.finish()
            body.append(scrub.feed(text.decode(b"", final=True)) + scrub.close())
            if body[-1] and response.is_success:
                yield body[-1]
        yield response_event(0, status, headers, "".join(body))
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        event = failure_event(0, error)
        yield replace(event, message=scrubbed(event.message, secrets))
    except BodyError as error:
        yield error.event(0, status)


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
    sent: Sent
    answer: ClientAnswer
    caller: str
    """Names the owner of the key."""
    settings: ProxySettings
    recorder: Recorder
    thoughts: KeptThoughts

    async def perform(self) -> None:
        answer = self.answer
        answer.repairs.update(dict.fromkeys(self.outbound.repairs))
        conversation = self.recorder.take_or_begin_conversation(self.request, self.profile, self.caller)
        answer.conversation = conversation.name if conversation else ""
        transport = self.recorder.transport_for(self.sent.transport, conversation)
        self.sent = replace(self.sent, transport=transport)
        messages: list[Json] = []
        try:
            result = await self._reply()
            if not isinstance(result, Trouble):
                messages += [as_tree(one).get("message") for one in list_at(result[1].body, "choices")[:1]]
        finally:  # before the client has the end of the answer, since its next request may follow at once
            for message in messages:
                self.thoughts.keep(self.request, message, self.profile.provider, self.caller)
            if conversation:
                self.recorder.put_back(conversation, messages, len(self.outbound.body))
        if isinstance(result, Trouble):
            await answer.send_error(result)
        elif self.request.streamed:
            await answer.end_stream(result[0])
        else:
            await answer.send_json(result[1].answer(self.request))

    async def _reply(self) -> tuple[list[Tree], Repaired] | Trouble:
        head = Head(f"{_IDS[self.request.form]}{uuid4().hex}", int(time.time()))
        stream = ReplyStream(self.request, self.profile, head)
        try:
            event = await self._receive_reply_with_retries(stream)
        except ReplayMismatch as why:
            return Trouble(422, str(why), "replay_mismatch", OURS, None, NEVER_AGAIN)
        if isinstance(event, RequestFailed):
            seen = self.request.streamed and stream.opened
            given = None if seen else reply_in_error(event.body, self.request, self.profile, head)
            if given is None:
                return upstream_error(event)
            self.answer.note_repairs_and_usage(given)
            stream.restart()
            stream.feed(canonical(given.body))
        events, reply = stream.close(shown=self.request.streamed)
        self.answer.note_repairs_and_usage(reply)
        return reply_problem_error(reply.problem) if reply.problem else (events, reply)

    async def _receive_reply_with_retries(self, stream: ReplyStream) -> ReplyEvent:
        corrections = Corrections.of(self.request, self.profile, self.settings.extras, self.outbound.body)
        while True:
            event = await self._stream_reply(stream)
            again = corrections.after(event) if corrections else None
            # Text that the client has seen can't be taken back, so a failure after it is the client's to see.
            seen = self.request.streamed and stream.opened and isinstance(event, RequestFailed)
            if again is None or seen:
                return event
            self.answer.added.append(again.reason)
            await anyio.sleep(again.wait_ms / 1000)
            self.sent = replace(self.sent, body=again.body.encode())
            stream.restart()

    async def _stream_reply(self, stream: ReplyStream) -> ReplyEvent:
        """Read a reply to its end; the client of a stream gets what can pass, as it comes."""
        stall = self.settings.limits.stall_seconds
        progress, progressed_at = stream.stream.progress, time.monotonic()
        async with aclosing(reply_pieces(self.sent, self.settings.limits, self.answer)) as pieces:
            while True:
                with anyio.move_on_after(_AFTER_DONE if stream.stream.done else None):
                    piece = await anext(pieces)
                    if not isinstance(piece, str):
                        return piece
                    chunks = stream.feed(piece)
                    if self.request.streamed:
                        for chunk in chunks:
                            await self.answer.send_event(chunk)
                        await self.answer.send_keep_alive()
                    # A body that is not a stream has no progress to measure, so each piece counts.
                    if stream.stream.progress > progress or stream.stream.streamed is False:
                        progress, progressed_at = stream.stream.progress, time.monotonic()
                    elif time.monotonic() - progressed_at > stall:
                        why = f"no meaningful data for {stall:g} s, though the connection was alive"
                        return RequestFailed(0, "timeout", why)
                    continue
                # The stream is complete, but the upstream has not ended it in time.
                return ReplyReceived(0, 200, stream.body)
