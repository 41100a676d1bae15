"""The proxy as an ASGI application."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Final, TypeAlias

from toolreel._internal.errors import MissingExtra
from toolreel._internal.logs import log
from toolreel.http._transport_pool import async_transport
from toolreel.proxy._chat import ChatExchange, Done
from toolreel.proxy._client_answer import (
    CONVERSATION,
    ClientAnswer,
    Gone,
    Receive,
    Scope,
    Send,
    TooLong,
    body_of,
)
from toolreel.proxy._client_headers import is_foreign, key_in, passed_on, shows
from toolreel.proxy._errors import Trouble, refused
from toolreel.proxy._metrics import Metrics
from toolreel.proxy._models import models_of
from toolreel.proxy._recording.journal_queue import Tell
from toolreel.proxy._recording.recorder import Recorder
from toolreel.proxy._recording.thoughts import KeptThoughts
from toolreel.proxy._settings import ProxySettings, Route, Routes
from toolreel.proxy._upstream import Sent, Upstream
from toolreel_core._errors import ToolreelError
from toolreel_core._jsontext.canonical import Json
from toolreel_core._proxy.client_forms.losses import Loss
from toolreel_core._proxy.client_request import ClientRequest, Refusal, client_request
from toolreel_core._proxy.upstream_request import outbound
from toolreel_core._settings.wire_form import PATHS, WireForm

try:
    import anyio
    import httpx
    from starlette.applications import Starlette
    from starlette.routing import Route as Path
except ImportError as error:
    raise MissingExtra.of("proxy", error.name or "starlette") from None


def _tell_nobody(_entry: Mapping[str, Json]) -> None:
    return


def proxy_app(settings: ProxySettings, *, tell: Tell = _tell_nobody) -> Starlette:
    """An ASGI application that passes requests on to upstreams, and repairs what passes.

    :param tell: takes one entry of the log for each request
    :raises CassetteError: if recordings that are to be replayed cannot be read
    """
    proxy = Proxy(settings, tell)
    paths = [
        Path(f"{prefix}{path}", endpoint)
        for prefix in ("/v1", "")
        for path, endpoint in (
            *((PATHS[form], _Guarded(proxy, proxy.replies(form), form)) for form in PATHS),
            ("/models", _Guarded(proxy, proxy.models)),
        )
    ]
    open_to_all = [
        Path("/health", _Open(proxy.health)),
        Path("/ready", _Open(proxy.ready)),
        Path("/metrics", _Guarded(proxy, proxy.counts)),
    ]
    app = Starlette(routes=[*paths, *open_to_all], lifespan=proxy.lifespan)
    app.state.proxy = proxy
    return app


def _logging(tell: Tell) -> Tell:
    """Tell what happens, and log it: requests at ``debug``, and as a warning what is not recorded."""

    def logged(entry: Mapping[str, Json]) -> None:
        if entry.get("is") == "making journals":
            log("proxy", "info", "making_journals", {key: entry[key] for key in ("done", "of")})
        elif "is" in entry:  # why it is not recorded may quote what was said
            told = {key: entry[key] for key in ("conversation", "conversations", "is") if key in entry}
            log("proxy", "warning", "not_recorded", told)
        else:
            told = {key: tuple(each) if isinstance(each, list) else each for key, each in entry.items()}
            log("proxy", "debug", "request_answered", told)
        tell(entry)

    return logged


class Proxy:
    """What the requests of one proxy share."""

    def __init__(self, settings: ProxySettings, tell: Tell) -> None:
        self.settings: Final = settings
        self.metrics: Final = Metrics()
        self._tell: Final = _logging(tell)
        self.recorder: Final = Recorder(settings, self._tell)
        self._routes: Final = Routes(settings.routes)
        self._transports: Final[dict[str, httpx.AsyncBaseTransport]] = {}
        self._thoughts: Final = KeptThoughts()
        self._drains = False

    @asynccontextmanager
    async def lifespan(self, _app: object) -> AsyncGenerator[None]:
        """Close connections and finish recordings at the end."""
        yield
        self._drains = True
        for transport in self._transports.values():
            await transport.aclose()
        await anyio.to_thread.run_sync(self.recorder.close)

    async def health(self, answer: ClientAnswer) -> None:
        """The process answers."""
        await answer.whole({"status": "ok"})

    async def ready(self, answer: ClientAnswer) -> None:
        """Requests are taken."""
        await answer.whole({"status": "draining" if self._drains else "ready"}, 503 if self._drains else 200)

    async def counts(self, _scope: Scope, _receive: Receive, answer: ClientAnswer) -> None:
        """The counters."""
        await answer.text(self.metrics.text(), kind="text/plain; version=0.0.4")

    async def models(self, scope: Scope, _receive: Receive, answer: ClientAnswer) -> None:
        """The models of all routes."""
        listed = await models_of(
            self.settings.routes, self.recorder, lambda route: self._asking(route, scope, self._form(route))
        )
        if isinstance(listed, Trouble):
            await answer.trouble(listed)
        else:
            await answer.whole(listed)

    def replies(self, form: WireForm) -> Endpoint:
        """Replies of the model, to requests of this form."""
        return partial(self._reply, form)

    async def _reply(self, form: WireForm, scope: Scope, receive: Receive, answer: ClientAnswer) -> None:
        began = time.monotonic()
        try:
            body = await body_of(receive, self.settings.limits.request_bytes)
        except Gone:
            return
        except TooLong:
            most = self.settings.limits.request_bytes
            await answer.trouble(
                refused(413, f"The request is larger than {most} bytes.", "request_too_large")
            )
            return
        request = client_request(body, form)
        if isinstance(request, Refusal):
            await answer.trouble(refused(400, request.message, "invalid_request", request.param))
            return
        route = self._routes.of(request.model)
        if route is None:
            words = f"No route takes the model {request.model!r}."
            await answer.trouble(refused(404, words, "model_not_found", "model"))
            return
        self.metrics.under_way += 1
        try:
            await self._while_there(request, route, scope, receive, answer, began)
        finally:
            self.metrics.under_way -= 1

    def _form(self, route: Route) -> WireForm:
        return self._routes.profile(route, route.upstream_model).provider.wire_form

    async def _while_there(
        self,
        request: ClientRequest,
        route: Route,
        scope: Scope,
        receive: Receive,
        answer: ClientAnswer,
        began: float,
    ) -> None:
        """Answer for as long as the client waits: its leaving cancels the request to the upstream."""
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                group.cancel_scope.cancel()

            group.start_soon(watch)
            await self._answered(request, route, scope, answer, began)
            group.cancel_scope.cancel()

    async def _answered(
        self, request: ClientRequest, route: Route, scope: Scope, answer: ClientAnswer, began: float
    ) -> None:
        try:
            profile = self._routes.profile(route, request.model)
            caller = self.recorder.caller(key_in(scope["headers"]))
            request, more = self._thoughts.restored(request, profile, caller)
            out = outbound(request, profile, model=route.upstream_model)
            if isinstance(out, Loss):
                words = out.message(profile.provider.wire_form, request.form)
                await answer.trouble(refused(400, words, out.code, out.param))
                return
            out = replace(out, repairs=(*more, *out.repairs))
            upstream, sent = self._asking(route, scope, profile.provider.wire_form)
        except ToolreelError as error:  # a preset that cannot be used, a key that is not set
            await answer.trouble(Trouble(500, str(error), "proxy_misconfigured"))
            return
        conversation = self.recorder.begin(request, profile, caller)
        returned: list[Done] = []

        def put_back(done: Done) -> None:
            if returned:
                return
            returned.append(done)
            for said in done.message:
                self._thoughts.keep(request, said, profile, caller)
            if conversation:
                self.recorder.put_back(conversation, done.message, len(out.body))

        if conversation:
            answer.headers[CONVERSATION] = conversation.name
        exchange = ChatExchange(
            request,
            profile,
            out,
            Upstream(self.recorder.transport(upstream.transport, conversation), upstream.limits),
            Sent(sent.url, sent.headers, out.body.encode()),
            answer,
            self.settings.extras,
            put_back,
        )
        done = exchange.done
        try:
            await exchange.perform()
        finally:
            put_back(done)
            if conversation:
                self.recorder.write(conversation)
            self._count(
                request,
                answer,
                done,
                time.monotonic() - began,
                conversation.name if conversation else "",
            )

    def _asking(self, route: Route, scope: Scope, form: WireForm) -> tuple[Upstream, Sent]:
        """How a route is asked in a form, with the headers of a client."""
        url = route.url(form)
        if url not in self._transports:
            most = self.settings.limits.connections
            self._transports[url] = async_transport(url, proxy=None, http2=False, connections=most)
        headers = passed_on(
            scope["headers"], token=self.settings.token, api_key_env=route.api_key_env, form=form
        )
        return Upstream(self._transports[url], self.settings.limits), Sent(url, headers, b"")

    def _count(
        self,
        request: ClientRequest,
        answer: ClientAnswer,
        done: Done,
        seconds: float,
        name: str,
    ) -> None:
        status = answer.status or 499  # the client left before it was told anything
        self.metrics.answered("streamed" if request.streamed else "plain", status, seconds)
        usage = done.reply.usage if done.reply else None
        self.metrics.repaired(
            done.repairs, usage.prompt_tokens if usage else 0, usage.completion_tokens if usage else 0
        )
        for reason in done.added:
            self.metrics.added(reason)
        self._tell(
            {
                "model": request.model,
                "status": status,
                "ms": round(seconds * 1000, 1),
                "repairs": [*done.repairs],
                "noticed": [*done.noticed],
                "added": [*done.added],
                **({"problem": done.problem} if done.problem else {}),
                **({"conversation": name} if name else {}),
            }
        )


Answered: TypeAlias = Callable[[ClientAnswer], Awaitable[None]]
Endpoint: TypeAlias = Callable[[Scope, Receive, ClientAnswer], Awaitable[None]]


class _Open:
    """An endpoint for anyone."""

    def __init__(self, answer: Answered) -> None:
        self._answer = answer

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        await self._answer(ClientAnswer(send))


class _Guarded:
    """An endpoint for clients that show the token, and for none that a page in a browser has sent here."""

    def __init__(self, proxy: Proxy, answer: Endpoint, form: WireForm = "chat_completions") -> None:
        self._proxy = proxy
        self._answer = answer
        self._form: Final = form

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer, settings = ClientAnswer(send, self._form), self._proxy.settings
        if is_foreign(scope["headers"], settings.hosts):
            await answer.trouble(
                refused(403, "This proxy is addressed by the name of this machine only.", "foreign_host")
            )
        elif settings.token and not shows(scope["headers"], settings.token):
            words = "Show the proxy's token: as your API key, or in the header x-toolreel-token."
            await answer.trouble(refused(401, words, "no_token"))
        else:
            await self._answer(scope, receive, answer)
