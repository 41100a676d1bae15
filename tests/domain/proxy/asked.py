"""Requests and replies that the tests of the proxy share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from toolreel_core._client_requests import ClientRequest, client_request
from toolreel_core._jsontext import Json, Tree, canonical
from toolreel_core._proxy import Head, Outbound, Profile, Repaired, repair_reply
from toolreel_core._proxy import build_upstream_request as outbound_of

Loose: TypeAlias = Mapping[str, Any]
HEAD = Head("chatcmpl-1", 1_700_000_000)


def function(name: str, **properties: Json) -> Tree:
    """An entry of ``tools``."""
    parameters: Tree = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


PING = function("ping")
STOCK = function("stock", part={"type": "string"}, sizes={"type": "array"})


def asked(*messages: Loose, tools: tuple[Loose, ...] = (PING, STOCK), **options: Json) -> ClientRequest:
    """A request with these messages."""
    begun = messages or ({"role": "user", "content": "How many pins?"},)
    given: dict[str, Any] = {"tools": tools} if tools else {}
    tree: Any = {"model": "m", "messages": begun, **given, **options}
    request = client_request(canonical(tree))
    assert isinstance(request, ClientRequest)
    return request


def call(name: Json = "ping", arguments: Json = "{}", **further: Json) -> Tree:
    """An entry of ``tool_calls``."""
    return {"id": "call_a", "type": "function", "function": {"name": name, "arguments": arguments}, **further}


def whole(message: Loose, finish: Json = "stop", **further: Json) -> str:
    """A body with one choice."""
    tree: Any = {"choices": [{"message": message, "finish_reason": finish}], **further}
    return canonical(tree)


def said(body: str, request: ClientRequest | None = None, profile: Profile | None = None) -> Repaired:
    """The repaired reply."""
    return repair_reply(body, request or asked(), profile or Profile(), HEAD)


def build_upstream_request(request: ClientRequest, profile: Profile, *, model: str = "") -> Outbound:
    """The request that goes out, which loses nothing."""
    out = outbound_of(request, profile, model=model)
    assert isinstance(out, Outbound)
    return out


def choices_of(reply: Repaired) -> list[Any]:
    """The choices of a reply."""
    choices: Any = reply.body["choices"]
    return list(choices)
