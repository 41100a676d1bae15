"""The list of models: of all routes together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Final

from toolreel.proxy._client.answer import ClientAnswer
from toolreel.proxy._client.errors import Trouble, failure, misconfigured
from toolreel.proxy._recording.recorder import Recorder
from toolreel.proxy._settings import Route
from toolreel.proxy._upstream import Sent, Upstream
from toolreel_core._errors import ToolreelError
from toolreel_core._jsontext import Json, Tree, as_tree, items_of, read
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
