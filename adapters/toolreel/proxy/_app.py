"""The proxy as an ASGI application."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from types import FrameType

import anyio
import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.routing import Route as Path
from starlette.types import Receive, Scope

from toolreel._internal import ProxyConfigError, listening_socket, server_config
from toolreel.http import pooled_transport
from toolreel.proxy._chat import ChatExchange, Sent, reply_pieces
from toolreel.proxy._client import (
    ClientAnswer,
    Guarded,
    Metrics,
    Trouble,
    callback_with_logging,
    client_error,
    read_request,
    upstream_error,
)
from toolreel.proxy._headers import api_key_in_headers, headers_for_upstream
from toolreel.proxy._recorder import Recorder
from toolreel.proxy._settings import ProxySettings, Route, Tell
from toolreel_core._client_requests import ClientRequest, Loss
from toolreel_core._errors import ToolreelError
from toolreel_core._jsontext import Json, Tree, as_tree, list_at, read_json
from toolreel_core._protocol import ReplyReceived, RequestFailed
from toolreel_core._proxy import KeptThoughts, Profile, build_upstream_request
from toolreel_core._settings import PATHS, WireForm

_PROFILES = 256
"""Profiles that are kept: names of models come from clients."""
_MODELS = "/models"
_PATTERN = frozenset("*?[")
_POSTED = ", ".join(f"/v1{path}" for path in PATHS.values())
_EXISTING = f"POST {_POSTED}; GET /v1{_MODELS}, /metrics, /health, /ready"


def proxy_app(settings: ProxySettings, *, tell: Tell = lambda _entry: None) -> Starlette:
    """An ASGI application that passes requests on to upstreams, and repairs what passes.

    :param tell: takes one entry of the log for each request
    :raises CassetteError: if recordings that are to be replayed cannot be read
    """
    proxy = Proxy(settings, tell)
    guarded = partial(Guarded, settings, proxy.metrics, proxy.logged)
    # Base URLs of clients end in /v1 or not: Anthropic's SDK adds it to the path, OpenAI's does not.
    paths = [
        Path(f"{prefix}{path}", endpoint)
        for prefix in ("/v1", "")
        for path, endpoint in (
            *((PATHS[form], guarded(partial(proxy.serve_reply, form), "POST", form)) for form in PATHS),
            (_MODELS, guarded(proxy.serve_models, "GET")),
        )
    ]
    others = [
        Path("/health", proxy.serve_health),
        Path("/ready", proxy.serve_ready),
        Path("/metrics", guarded(proxy.serve_metrics, "GET")),
    ]
    app = Starlette(routes=[*paths, *others], lifespan=proxy.lifespan)
    app.router.default = guarded(proxy.refuse_path)
    app.state.proxy = proxy
    return app


class Proxy:
    def __init__(self, settings: ProxySettings, tell: Tell) -> None:
        self.logged = callback_with_logging(tell)
        self.settings = settings
        self.metrics = Metrics()
        self.recorder = Recorder(settings, self.logged)
        self._profile = lru_cache(_PROFILES)(self._new_profile)
        self._transports: dict[str, httpx.AsyncBaseTransport] = {}
        self._thoughts = KeptThoughts()
        self._drains = False

    @asynccontextmanager
    async def lifespan(self, _app: object) -> AsyncGenerator[None]:
        yield
        self._drains = True
        for transport in self._transports.values():
            await transport.aclose()
        await anyio.to_thread.run_sync(self.recorder.close)

    async def serve_reply(self, form: WireForm, scope: Scope, receive: Receive, answer: ClientAnswer) -> None:
        request = await read_request(scope, receive, form, self.settings.limits.request_bytes)
        if request is None:
            return
        answer.model = request.model
        exchange = self._new_exchange(request, scope, answer)
        answer.kind = "streamed" if request.streamed else "plain"
        self.metrics.under_way += 1
        try:
            async with anyio.create_task_group() as group:

                async def watch() -> None:
                    while (await receive())["type"] != "http.disconnect":
                        pass
                    group.cancel_scope.cancel()  # its client has left, which ends the request to the upstream

                group.start_soon(watch)
                await exchange.perform()
                group.cancel_scope.cancel()
        finally:
            self.metrics.under_way -= 1

    def _new_exchange(self, request: ClientRequest, scope: Scope, answer: ClientAnswer) -> ChatExchange:
        if request.streamed and request.choices > 1:
            words = "n: a stream has one reply; ask without stream, or once for each."
            raise client_error(400, words, "several_choices", "n")
        routes = self.settings.routes
        number = next((at for at, route in enumerate(routes) if route.takes(request.model)), None)
        if number is None:
            words = f"No route takes the model {request.model!r}."
            raise client_error(404, words, "model_not_found", "model")
        route, profile = routes[number], self._profile(number, request.model)
        form = profile.provider.wire_form
        caller = self.recorder.caller_name(api_key_in_headers(Headers(scope=scope)))
        request, more = self._thoughts.restore(request, profile.provider, caller)
        out = build_upstream_request(request, profile, model=route.upstream_model)
        if isinstance(out, Loss):
            raise client_error(400, out.message(form, request.form), out.code, out.param)
        sent = replace(self._upstream_request(route, scope, form), body=out.body.encode())
        return ChatExchange(
            request,
            profile,
            replace(out, repairs=(*more, *out.repairs)),
            sent,
            answer,
            caller,
            self.settings,
            self.recorder,
            self._thoughts,
        )

    def _new_profile(self, number: int, model: str) -> Profile:
        route = self.settings.routes[number]
        return Profile.of(route.preset(route.upstream_model or model), route.settings)

    async def serve_health(self, _request: object) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    async def serve_ready(self, _request: object) -> JSONResponse:
        return (
            JSONResponse({"status": "draining"}, 503) if self._drains else JSONResponse({"status": "ready"})
        )

    async def serve_metrics(self, _scope: Scope, _receive: Receive, answer: ClientAnswer) -> None:
        answer.kind = ""
        await answer.send_text(self.metrics.prometheus_text(), "text/plain; version=0.0.4")

    async def serve_models(self, scope: Scope, _receive: Receive, answer: ClientAnswer) -> Tree:
        """The models that can be asked for.

        A route for one model lists it without asking; recordings list those that were recorded.
        """
        answer.kind = "models"
        found: dict[str, Json] = {}
        problem: Trouble | ToolreelError | None = None
        for number, route in enumerate(self.settings.routes):
            try:
                listed = await self._models_of_route(number, route, scope, answer)
            except (Trouble, ToolreelError) as why:
                problem = why
            else:
                # The first route that takes a model is the one that is used, so its entry stays.
                found = {**{name: each for name, each in listed.items() if route.takes(name)}, **found}
        if problem and not found:
            raise problem
        if len(self.settings.routes) > 1:
            answer.passed = ()  # the headers of one upstream say nothing about a list of several
        return {"object": "list", "data": [*found.values()]}

    async def _models_of_route(self, number: int, route: Route, scope: Scope, answer: ClientAnswer) -> Tree:
        shelf = self.recorder.shelf
        known = shelf.models if shelf and self.settings.replays else ()
        if not _PATTERN.intersection(route.model):
            known = (route.model,)
        elif not self.settings.replays:
            form = self._profile(number, route.upstream_model).provider.wire_form
            sent = self._upstream_request(route, scope, form)
            base, question, query = sent.url.partition("?")
            url = f"{base.removesuffix(PATHS[form])}{_MODELS}{question}{query}"
            listing = reply_pieces(replace(sent, url=url, method="GET"), self.settings.limits, answer)
            *_, event = [piece async for piece in listing]
            if isinstance(event, RequestFailed):
                raise upstream_error(event)
            if isinstance(event, ReplyReceived):
                entries = map(as_tree, list_at(as_tree(read_json(event.body).value_or("")), "data"))
                return {name: each for each in entries if isinstance(name := each.get("id"), str)}
        return {name: {"id": name, "object": "model", "created": 0, "owned_by": "toolreel"} for name in known}

    async def refuse_path(self, scope: Scope, _receive: Receive, _answer: ClientAnswer) -> None:
        words = f"There is nothing at {scope['path']}. Here are: {_EXISTING}."
        raise client_error(404, words, "unknown_path")

    def _upstream_request(self, route: Route, scope: Scope, form: WireForm) -> Sent:
        url = route.url(form)
        if url not in self._transports:
            most = self.settings.limits.connections
            self._transports[url] = pooled_transport(url, is_async=True, connections=most)
        headers = headers_for_upstream(
            Headers(scope=scope), token=self.settings.token, api_key_env=route.api_key_env, form=form
        )
        return Sent(self._transports[url], url, headers)


LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")
MAX_CLIENTS = 2_000
"""Connections of clients at once: as many requests as one upstream takes, and as many that wait."""
_FILES = 2 * MAX_CLIENTS + 96
"""What the process may have open: these, the connections to upstreams, and recordings. Shells allow 1,024."""
_SWITCH = 0.000_5
"""Seconds that a thread keeps Python for, while another waits for it."""


def serve(
    settings: ProxySettings,
    host: str,
    port: int,
    *,
    drain: float = 30.0,
    tell: Tell,
    ready: Callable[[str], None],
) -> None:
    """Serve until SIGTERM or Ctrl-C; a second Ctrl-C ends at once.

    Then, too, all cassettes are written; the journals that are left are not.

    :param drain: seconds for requests that are under way
    :param ready: called with the base URL for clients, once requests are taken
    :raises ProxyConfigError: if the address cannot be used
    :raises ToolreelError: if a setting or preset of a route cannot be used
    """
    for route in settings.routes:
        Profile.of(route.preset(route.upstream_model), route.settings)
    app = proxy_app(settings, tell=tell)
    try:
        socket_ = listening_socket(host, port)
    except OSError as error:
        raise ProxyConfigError(
            f"cannot listen on {host}:{port}: {error.strerror or error}; name others with --host and --port"
        ) from None
    _raise_file_limit()
    bound = socket_.getsockname()[1]
    named = f"[{host}]" if ":" in host else host
    if settings.folder is not None:  # a thread writes recordings, and would hold up each request by 5 ms
        sys.setswitchinterval(_SWITCH)
    url = f"http://{named}:{bound}/v1"
    with socket_:
        # The second Ctrl-C calls `skip_journals` in a signal handler, which must not wait for a lock.
        config = server_config(app, connections=MAX_CLIENTS, drain=drain, lifespan=True)
        server = _Server(config, app.state.proxy.recorder.skip_journals)
        ready(url)  # whoever connects now waits until requests are taken
        server.run(sockets=[socket_])


def _raise_file_limit() -> None:
    if sys.platform != "win32":
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, hurry: Callable[[], None]) -> None:
        super().__init__(config)
        self._hurry = hurry

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; the second Ctrl-C also ends what an application does at its end."""
        super().handle_exit(sig, frame)
        if self.force_exit:
            self._hurry()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        # uvicorn skips this after a second Ctrl-C, and what was recorded last would be lost.
        if self.force_exit:
            await self.lifespan.shutdown()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        # uvicorn's own raises the signals again at the end, so that the process would die of them.
        before = {
            number: signal.signal(number, self.handle_exit) for number in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
