"""The proxy as an ASGI application."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import anyio
import httpx
from starlette.applications import Starlette
from starlette.routing import Route as Path

from toolreel.http import async_transport
from toolreel.proxy._access import AccessRecord, Endpoints, Open, log_and_tell
from toolreel.proxy._client.answer import ClientAnswer, Receive, Scope
from toolreel.proxy._client.errors import Trouble, refused
from toolreel.proxy._client.headers import passed_on
from toolreel.proxy._metrics import Metrics
from toolreel.proxy._models import models_of
from toolreel.proxy._recording.journal_queue import Tell
from toolreel.proxy._recording.recorder import Recorder
from toolreel.proxy._reply import Replies
from toolreel.proxy._settings import ProxySettings, Route, Routes
from toolreel.proxy._token_counts import TokenCounts
from toolreel.proxy._upstream import Sent, Upstream
from toolreel_core._jsontext import Json
from toolreel_core._settings import PATHS, WireForm

_MODELS: Final = "/models"
_TOKENS: Final = f"{PATHS['messages']}/count_tokens"
_POSTED: Final = ", ".join(f"/v1{path}" for path in (*PATHS.values(), _TOKENS))
_EXISTING: Final = f"POST {_POSTED}; GET /v1{_MODELS}, /metrics, /health, /ready"


def _tell_nobody(_entry: Mapping[str, Json]) -> None:
    return


def proxy_app(settings: ProxySettings, *, tell: Tell = _tell_nobody) -> Starlette:
    """An ASGI application that passes requests on to upstreams, and repairs what passes.

    :param tell: takes one entry of the log for each request
    :raises CassetteError: if recordings that are to be replayed cannot be read
    """
    proxy = Proxy(settings, tell)
    guarded = proxy.endpoints.guarded
    paths = [
        Path(f"{prefix}{path}", endpoint)
        for prefix in ("/v1", "")
        for path, endpoint in (
            *((PATHS[form], guarded(proxy.replies.endpoint(form), "POST", form)) for form in PATHS),
            (_TOKENS, guarded(proxy.tokens.count, "POST")),
            (_MODELS, guarded(proxy.models, "GET")),
        )
    ]
    others = [
        Path("/health", Open(proxy.health)),
        Path("/ready", Open(proxy.ready)),
        Path("/metrics", guarded(proxy.counts, "GET")),
    ]
    app = Starlette(routes=[*paths, *others], lifespan=proxy.lifespan)
    app.router.default = guarded(proxy.nothing_there, "")
    app.state.proxy = proxy
    return app


class Proxy:
    """What the requests of one proxy share."""

    def __init__(self, settings: ProxySettings, tell: Tell) -> None:
        logged = log_and_tell(tell)
        self.settings: Final = settings
        self.metrics: Final = Metrics()
        self.recorder: Final = Recorder(settings, logged)
        self.endpoints: Final = Endpoints(settings, self.metrics, logged)
        self._routes: Final = Routes(settings.routes)
        self._transports: Final[dict[str, httpx.AsyncBaseTransport]] = {}
        self.replies: Final = Replies(settings, self._routes, self.recorder, self.metrics, self._asking)
        self.tokens: Final = TokenCounts(settings, self._routes, self._asking)
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

    async def counts(
        self, _scope: Scope, _receive: Receive, answer: ClientAnswer, access: AccessRecord
    ) -> None:
        """The counters."""
        access.kind = ""
        await answer.text(self.metrics.text(), kind="text/plain; version=0.0.4")

    async def models(
        self, scope: Scope, _receive: Receive, answer: ClientAnswer, access: AccessRecord
    ) -> None:
        """The models of all routes."""
        access.kind = "models"
        listed = await models_of(
            self.settings.routes,
            self.recorder,
            lambda route: self._asking(route, scope, self._form(route)),
            answer,
        )
        if isinstance(listed, Trouble):
            await answer.trouble(listed)
        else:
            await answer.whole(listed)

    async def nothing_there(
        self, scope: Scope, _receive: Receive, answer: ClientAnswer, _access: AccessRecord
    ) -> None:
        """Which paths there are, for a client that has another."""
        words = f"There is nothing at {scope['path']}. Here are: {_EXISTING}."
        await answer.trouble(refused(404, words, "unknown_path"))

    def _form(self, route: Route) -> WireForm:
        return self._routes.profile(route, route.upstream_model).provider.wire_form

    def _asking(self, route: Route, scope: Scope, form: WireForm) -> tuple[Upstream, Sent]:
        """How a route is asked in a form, with the headers of a client.

        :raises ProxyConfigError: if the variable of the key is not set
        """
        url = route.url(form)
        if url not in self._transports:
            most = self.settings.limits.connections
            self._transports[url] = async_transport(url, proxy=None, http2=False, connections=most)
        headers = passed_on(
            scope["headers"], token=self.settings.token, api_key_env=route.api_key_env, form=form
        )
        return Upstream(self._transports[url], self.settings.limits), Sent(url, headers, b"")
