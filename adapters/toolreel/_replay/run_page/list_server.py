"""A server on this machine for the list of recordings, and for the page of each.

Any page that a browser shows may send requests to this machine. So the token is in a cookie that other sites
do not send along, the host has to be this machine's (else a name that an attacker points here would be the
page's own), nothing but reading is offered, and no other site is allowed to read the answer.
"""

from __future__ import annotations

import hmac
import json
import secrets
import sys
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import parse_qs, urlsplit

from toolreel._internal import AdapterError, MissingExtra
from toolreel._journal import Source
from toolreel._replay.run_page.page import list_page, message_page
from toolreel._replay.run_page.recording_list import RecordingList, recorded_at
from toolreel._replay.run_page.view import page_of
from toolreel_core._errors import ToolreelError

_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_SECONDS: Final = 0.25
"""How long an answer reads recordings for; the page asks again for the rest."""
_REFUSED: Final = "This page needs the token of the server: open the address that toolreel view has printed."


class ListServer(ThreadingHTTPServer):
    """Serves the recordings below a directory to anyone who has the token in its address.

    :param port: 0 for any free one
    :raises AdapterError: if the port is taken
    """

    daemon_threads = True  # a page that is being made when the server ends is given up
    block_on_close = False

    def __init__(self, folder: Path, port: int = 0) -> None:
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as error:
            raise AdapterError(f"--port {port}: {error.strerror}; choose another one with --port N") from None
        self.recordings = RecordingList(folder)
        self.title = folder.resolve().name or "recordings"
        self.token: Final = secrets.token_urlsafe(24)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as in the base class
        """Print what went wrong; not that a browser has gone, as it does when a page is left."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        """Where the list is, with the token."""
        return f"http://127.0.0.1:{self.server_port}/?token={self.token}"

    def source(self, name: str) -> Source:
        """A recording of the list.

        :raises AdapterError: if it cannot be read, or there is none with this name
        """
        found = self.recordings.found(name)
        if found is None:
            raise AdapterError(f"{name}: the list has no such recording (any more)")
        return recorded_at(found.path) if found.where.endswith(".part") else found.path


class _Handler(BaseHTTPRequestHandler):
    disable_nagle_algorithm = True  # else the body waits until the browser acknowledges the head

    @property
    def _list(self) -> ListServer:
        return cast("ListServer", self.server)

    def do_GET(self) -> None:
        port, parts = self._list.server_port, urlsplit(self.path)
        query = parse_qs(parts.query)
        if self.headers.get("Host", "").lower() not in {f"127.0.0.1:{port}", f"localhost:{port}"}:
            self._answer(421, "This server answers under 127.0.0.1 and localhost alone.")
        elif self._is_ours(self._cookie):
            match parts.path:
                case "/":
                    self._answer(200, list_page(self._list.title), "text/html")
                case "/changes":
                    asked = query.get("since", ["0"])[0]
                    since = int(asked) if asked.isdecimal() else 0
                    # The first answer is for the names, so that the page is there at once.
                    changes = self._list.recordings.changes(
                        since, query.get("seen", ()), bool(since) * _SECONDS
                    )
                    self._answer(200, json.dumps(changes), "application/json")
                case "/view":
                    self._view(query.get("name", []))
                case _:
                    self._answer(404, "There is no such page.")
        elif parts.path == "/" and self._is_ours(query.get("token", [""])[0]):
            # Without the token in the address, which would stay in the history and be passed on.
            cookie = f"{self._cookie_name}={self._list.token}; Path=/; HttpOnly; SameSite=Strict"
            self._answer(303, "", **{"Location": "/", "Set-Cookie": cookie})
        else:
            self._answer(403, _REFUSED)

    def _view(self, names: list[str]) -> None:
        try:
            if not 1 <= len(names) <= 2:
                raise AdapterError("name one recording of the list, or two to compare them")
            self._answer(200, page_of(*map(self._list.source, names)), "text/html")
        except (ToolreelError, OSError) as error:
            status = 501 if isinstance(error, MissingExtra) else 422
            self._answer(status, message_page("It cannot be shown", str(error)), "text/html")

    @property
    def _cookie_name(self) -> str:
        """Cookies of two servers on one machine have other names."""
        return f"toolreel-view-{self._list.server_port}"

    @property
    def _cookie(self) -> str:
        try:
            found = SimpleCookie(self.headers.get("Cookie", "")).get(self._cookie_name)
        except CookieError:
            return ""
        return found.value if found else ""

    def _is_ours(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self._list.token.encode())

    def _answer(self, status: int, text: str, kind: str = "text/plain", **headers: str) -> None:
        body = text.encode()
        self.send_response(status)
        sizes = {"Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(body))}
        for name, value in {**_HEADERS, **sizes, **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the terminal has the address."""
