"""Answers a request for a reply of the model, from its body to the recording."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
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
from toolreel.proxy._conversations import KeptThoughts
from toolreel.proxy._headers import key_in
from toolreel.proxy._recorder import Recorder
from toolreel.proxy._settings import ProxySettings, Route, Routes
from toolreel.proxy._upstream import Sent, Upstream
from toolreel_core._client_requests import ClientRequest, Loss
from toolreel_core._errors import ToolreelError
from toolreel_core._proxy import outbound
from toolreel_core._settings import WireForm

Asking: TypeAlias = Callable[[Route, Scope, WireForm], tuple[Upstream, Sent]]
"""How a route is asked in a form, with the headers of a client."""


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
        exchange = self._exchange(request, scope, answer)
        if isinstance(exchange, Trouble):
            await answer.trouble(exchange)
            return
        access.kind = "streamed" if request.streamed else "plain"
        access.done = exchange.done
        self._metrics.under_way += 1
        try:
            async with anyio.create_task_group() as group:

                async def watch() -> None:
                    while (await receive())["type"] != "http.disconnect":
                        pass
                    group.cancel_scope.cancel()  # its client has left, which ends the request to the upstream

                group.start_soon(watch)
                await self._answered(exchange, access)
                group.cancel_scope.cancel()
        finally:
            self._metrics.under_way -= 1

    def _exchange(self, request: ClientRequest, scope: Scope, answer: ClientAnswer) -> ChatExchange | Trouble:
        route = self._routes.of(request.model)
        if route is None:
            words = f"No route takes the model {request.model!r}."
            return refused(404, words, "model_not_found", "model")
        try:
            profile = self._routes.profile(route, request.model)
            form, caller = profile.provider.wire_form, self._recorder.caller(key_in(scope["headers"]))
            request, more = self._thoughts.restored(request, profile, caller)
            out = outbound(request, profile, model=route.upstream_model)
            if isinstance(out, Loss):
                return refused(400, out.message(form, request.form), out.code, out.param)
            upstream, sent = self._asking(route, scope, form)
        except ToolreelError as error:  # a preset that cannot be used, a key that is not set
            return misconfigured(error)
        out, sent = replace(out, repairs=(*more, *out.repairs)), replace(sent, body=out.body.encode())
        return ChatExchange(request, profile, out, upstream, sent, answer, self._settings.extras, caller)

    async def _answered(self, exchange: ChatExchange, access: AccessRecord) -> None:
        request, profile, caller = exchange.request, exchange.profile, exchange.caller
        conversation = self._recorder.begin(request, profile, caller)
        if conversation:
            exchange.answer.headers[CONVERSATION] = access.conversation = conversation.name
        transport = self._recorder.transport(exchange.upstream.transport, conversation)
        exchange.upstream = replace(exchange.upstream, transport=transport)
        returned = False

        def put_back(done: Done) -> None:
            """Let the conversation wait for its next request; only the first call does."""
            nonlocal returned
            if returned:
                return
            returned = True
            for said in done.message:
                self._thoughts.keep(request, said, profile, caller)
            if conversation:
                self._recorder.put_back(conversation, done.message, len(exchange.outbound.body))

        exchange.ending = put_back
        try:
            await exchange.perform()
        finally:
            put_back(exchange.done)
            if conversation:
                self._recorder.write(conversation)
