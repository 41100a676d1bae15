"""Answers a request for a reply of the model, from its body to the recording."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import anyio

from toolreel.proxy._access import AccessRecord, Endpoint, Metrics
from toolreel.proxy._chat import ChatExchange, Done
from toolreel.proxy._client import (
    CONVERSATION,
    ClientAnswer,
    Receive,
    Scope,
    Trouble,
    misconfigured,
    refused,
    request_in,
)
from toolreel.proxy._conversations import Conversation, KeptThoughts
from toolreel.proxy._headers import key_in
from toolreel.proxy._recorder import Recorder
from toolreel.proxy._settings import ProxySettings, Route, Routes
from toolreel.proxy._upstream import Sent, Upstream
from toolreel_core._client_requests import ClientRequest, Loss
from toolreel_core._errors import ToolreelError
from toolreel_core._proxy import Outbound, Profile, outbound
from toolreel_core._settings import WireForm

Asking: TypeAlias = Callable[[Route, Scope, WireForm], tuple[Upstream, Sent]]
"""How a route is asked in a form, with the headers of a client."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request of a client, and how its upstream is asked."""

    request: ClientRequest
    profile: Profile
    caller: str
    outbound: Outbound
    upstream: Upstream
    sent: Sent


class Replies:
    """Replies of the model, for all clients of one proxy."""

    def __init__(
        self, settings: ProxySettings, routes: Routes, recorder: Recorder, metrics: Metrics, asking: Asking
    ) -> None:
        self._settings = settings
        self._routes = routes
        self._recorder = recorder
        self._metrics = metrics
        self._asking = asking
        self._thoughts = KeptThoughts()

    def endpoint(self, form: WireForm) -> Endpoint:
        """Answers requests of this form."""
        return partial(self._reply, form)

    async def _reply(
        self, form: WireForm, scope: Scope, receive: Receive, answer: ClientAnswer, access: AccessRecord
    ) -> None:
        request = await request_in(receive, form, self._settings.limits.request_bytes)
        if request is None:
            return
        if isinstance(request, Trouble):
            await answer.trouble(request)
            return
        access.model = request.model
        asked = self._asked(request, scope)
        if isinstance(asked, Trouble):
            await answer.trouble(asked)
            return
        access.kind = "streamed" if request.streamed else "plain"
        self._metrics.under_way += 1
        try:
            await self._while_there(asked, receive, answer, access)
        finally:
            self._metrics.under_way -= 1

    def _asked(self, request: ClientRequest, scope: Scope) -> _Asked | Trouble:
        route = self._routes.of(request.model)
        if route is None:
            words = f"No route takes the model {request.model!r}."
            return refused(404, words, "model_not_found", "model")
        try:
            profile = self._routes.profile(route, request.model)
            caller = self._recorder.caller(key_in(scope["headers"]))
            request, more = self._thoughts.restored(request, profile, caller)
            out = outbound(request, profile, model=route.upstream_model)
            if isinstance(out, Loss):
                words = out.message(profile.provider.wire_form, request.form)
                return refused(400, words, out.code, out.param)
            out = replace(out, repairs=(*more, *out.repairs))
            upstream, sent = self._asking(route, scope, profile.provider.wire_form)
        except ToolreelError as error:  # a preset that cannot be used, a key that is not set
            return misconfigured(error)
        return _Asked(request, profile, caller, out, upstream, sent)

    async def _while_there(
        self, asked: _Asked, receive: Receive, answer: ClientAnswer, access: AccessRecord
    ) -> None:
        """Answer for as long as the client waits: its leaving cancels the request to the upstream."""
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                group.cancel_scope.cancel()

            group.start_soon(watch)
            await self._answered(asked, answer, access)
            group.cancel_scope.cancel()

    async def _answered(self, asked: _Asked, answer: ClientAnswer, access: AccessRecord) -> None:
        conversation = self._recorder.begin(asked.request, asked.profile, asked.caller)
        if conversation:
            answer.headers[CONVERSATION] = access.conversation = conversation.name
        put_back = self._put_back_once(asked, conversation)
        exchange = ChatExchange(
            asked.request,
            asked.profile,
            asked.outbound,
            Upstream(self._recorder.transport(asked.upstream.transport, conversation), asked.upstream.limits),
            replace(asked.sent, body=asked.outbound.body.encode()),
            answer,
            self._settings.extras,
            put_back,
        )
        access.done = exchange.done
        try:
            await exchange.perform()
        finally:
            put_back(exchange.done)
            if conversation:
                self._recorder.write(conversation)

    def _put_back_once(self, asked: _Asked, conversation: Conversation | None) -> Callable[[Done], None]:
        """What lets a conversation wait for its next request; only the first call does."""
        returned: list[Done] = []

        def put_back(done: Done) -> None:
            if returned:
                return
            returned.append(done)
            for said in done.message:
                self._thoughts.keep(asked.request, said, asked.profile, asked.caller)
            if conversation:
                self._recorder.put_back(conversation, done.message, len(asked.outbound.body))

        return put_back
