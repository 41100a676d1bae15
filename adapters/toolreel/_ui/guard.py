"""Who may ask: nobody without the token, and no page of another site.

Any page that a browser shows may send requests to this machine. So the token is in a cookie that other sites
do not send along, the host has to be this machine's (else a name that an attacker points here would be the
page's own), nothing but reading is offered, and no other site is allowed to read the answer.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"frame-ancestors 'none'"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)
_REFUSED: Final = "This page needs the token of the server: open the address that toolreel ui has printed."


class Guard:
    """Lets requests through to an application that come from anyone who has the token.

    :param token: a secret text
    :param port: of the server; cookies of two servers on one machine have other names
    """

    def __init__(self, app: App, token: str, port: int) -> None:
        self._app, self._token = app, token
        self._cookie = f"toolreel-ui-{port}"
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if headers.get(b"host", "").lower() not in self._hosts:
            await _say(send, 421, "This server answers under 127.0.0.1 and localhost alone.")
        elif scope["method"] not in {"GET", "HEAD"}:
            await _say(send, 405, "This server is only read from.")
        elif self._is_ours(self._given(headers.get(b"cookie", ""))):
            await self._app(scope, receive, _with_headers(send))
        elif scope["path"] == "/" and self._is_ours(self._in_address(scope)):
            cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
            # Without the token in the address, which would stay in the history and be passed on.
            await _say(send, 303, "", (b"location", b"/"), (b"set-cookie", cookie.encode()))
        else:
            await _say(send, 403, _REFUSED)

    def _is_ours(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self._token.encode())

    def _given(self, cookies: str) -> str:
        try:
            found = SimpleCookie(cookies).get(self._cookie)
        except CookieError:
            return ""
        return found.value if found else ""

    @staticmethod
    def _in_address(scope: Scope) -> str:
        query: str = scope["query_string"].decode("latin-1")
        return parse_qs(query).get("token", [""])[0]


def _with_headers(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *HEADERS]
        await send(message)

    return sending


async def _say(send: Send, status: int, text: str, *more: tuple[bytes, bytes]) -> None:
    kind = (b"content-type", b"text/plain; charset=utf-8")
    head = {"type": "http.response.start", "status": status, "headers": [kind, *HEADERS, *more]}
    await send(head)
    await send({"type": "http.response.body", "body": text.encode()})
