"""Paths beside the chat: models, counts of tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Final

from toolreel.proxy._access import AccessRecord
from toolreel.proxy._client import (
    UPSTREAM,
    ClientAnswer,
    Receive,
    Scope,
    Trouble,
    failure,
    misconfigured,
    refused,
    request_in,
)
from toolreel.proxy._recorder import Recorder
from toolreel.proxy._reply import Asking
from toolreel.proxy._settings import ProxySettings, Route, Routes
from toolreel.proxy._upstream import Sent, Upstream
from toolreel_core._client_requests import NAMES, ClientRequest
from toolreel_core._errors import ToolreelError
from toolreel_core._jsontext import Json, Tree, as_tree, finite_text, items_of, read
from toolreel_core._protocol import ReplyReceived, RequestFailed
from toolreel_core._settings import PATHS, form_of

_PATTERN: Final = frozenset("*?[")


async def models_of(
    routes: Sequence[Route],
    recorder: Recorder,
    asking: Callable[[Route], tuple[Upstream, Sent]],
    answer: ClientAnswer,
) -> Tree | Trouble:
    """The models that can be asked for, or why there is no list.

    :param answer: gets the headers of the upstream, unless the list is of several

    A route for one model lists it without asking; recordings list those that were recorded.
    """
    found: dict[str, Json] = {}
    trouble: Trouble | None = None
    for route in routes:
        if not _PATTERN.intersection(route.model):
            found.setdefault(route.model, _entry(route.model))
        elif recorder.replays_only:
            found = {**{name: _entry(name) for name in recorder.models if route.takes(name)}, **found}
        else:
            listed = await _of_route(route, asking, answer)
            if isinstance(listed, Trouble):
                trouble = listed
            else:
                found = {**{name: each for name, each in listed.items() if route.takes(name)}, **found}
    if trouble and not found:
        return trouble
    if len(routes) > 1:
        answer.passed = ()
    return {"object": "list", "data": [*found.values()]}


async def _of_route(
    route: Route, asking: Callable[[Route], tuple[Upstream, Sent]], answer: ClientAnswer
) -> dict[str, Json] | Trouble:
    try:
        upstream, sent = asking(route)
    except ToolreelError as error:  # a preset that cannot be used, a key that is not set
        return misconfigured(error)
    return await _listed(upstream, sent, answer)


async def _listed(upstream: Upstream, sent: Sent, answer: ClientAnswer) -> dict[str, Json] | Trouble:
    base, _, query = sent.url.partition("?")
    url = f"{base.removesuffix(PATHS[form_of(base)])}/models{f'?{query}' if query else ''}"
    async with aclosing(upstream.pieces(replace(sent, url=url, method="GET"))) as pieces:
        async for piece in pieces:
            answer.passed = pieces.headers
            match piece:
                case ReplyReceived():
                    entries = [
                        as_tree(each) for each in items_of(as_tree(read(piece.body).value_or("")), "data")
                    ]
                    return {name: each for each in entries if isinstance(name := each.get("id"), str)}
                case RequestFailed():
                    return failure(piece)
                case _:
                    continue
    return {}


def _entry(name: str) -> Tree:
    return {"id": name, "object": "model", "created": 0, "owned_by": "toolreel"}


# Count the tokens of a request in Anthropic's Messages, which only a server of that form does.
#
# The count is of the request as the client wrote it, under the upstream's name of the model: options of a
# preset, such as ``max_tokens``, are not known there.


class TokenCounts:
    """Token counts, for all clients of one proxy."""

    def __init__(self, settings: ProxySettings, routes: Routes, asking: Asking) -> None:
        self._most = settings.limits.request_bytes
        self._routes = routes
        self._asking = asking
        self._replays = settings.replays

    async def count(self, scope: Scope, receive: Receive, answer: ClientAnswer, access: AccessRecord) -> None:
        """Answer a request for a count."""
        request = await request_in(receive, "messages", self._most)
        if request is None:
            return
        counted = (
            request if isinstance(request, Trouble) else await self._counted(request, scope, answer, access)
        )
        if isinstance(counted, Trouble):
            await answer.trouble(counted)
        else:
            await answer.whole(counted)

    async def _counted(
        self, request: ClientRequest, scope: Scope, answer: ClientAnswer, access: AccessRecord
    ) -> Tree | Trouble:
        access.model = request.model
        route = self._routes.of(request.model)
        if route is None:
            return refused(404, f"No route takes the model {request.model!r}.", "model_not_found", "model")
        try:
            if objection := self._objection(route, request.model):
                return objection
            upstream, sent = self._asking(route, scope, "messages")
        except ToolreelError as error:  # a preset that cannot be used, a key that is not set
            return misconfigured(error)
        access.kind = "tokens"
        body = {**request.own, "model": route.upstream_model or request.model}
        return await _asked(upstream, replace(sent, body=finite_text(body).encode()), answer)

    def _objection(self, route: Route, model: str) -> Trouble | None:
        form = self._routes.profile(route, model).provider.wire_form
        if self._replays:
            why = "there are recordings only, and counts are not recorded"
        elif form != "messages":
            why = (
                f"the upstream speaks {NAMES[form]}, which has no such request; use one that speaks Messages"
            )
        else:
            return None
        return refused(400, f"Tokens can't be counted here: {why}.", "tokens_not_counted")


async def _asked(upstream: Upstream, sent: Sent, answer: ClientAnswer) -> Tree | Trouble:
    base, question, query = sent.url.partition("?")
    url = f"{base}/count_tokens{question}{query}"
    async with aclosing(upstream.pieces(replace(sent, url=url))) as pieces:
        async for piece in pieces:
            answer.passed = pieces.headers
            match piece:
                case ReplyReceived() if counted := as_tree(read(piece.body).value_or("")):
                    return counted
                case RequestFailed():
                    return failure(piece)
                case _:
                    continue
    return Trouble(502, "The upstream's answer is no JSON object.", "upstream_broken", UPSTREAM)
