"""The page as an ASGI application: the list, what has changed in it, and the pages that it leads to."""

from __future__ import annotations

import threading
import time
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Final

from toolreel._internal.errors import AdapterError, MissingExtra
from toolreel._internal.pages.page_frame import framed
from toolreel._internal.visible_text import printable
from toolreel._journal.format import Source
from toolreel._replay.run_page.view import page_of
from toolreel._ui.directory import Found, recorded_at
from toolreel._ui.guard import App, Guard
from toolreel._ui.index import Index
from toolreel._ui.list_page import list_page
from toolreel_core._errors import ToolreelError

try:
    from anyio import to_thread
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, JSONResponse, Response
    from starlette.routing import Route
except ImportError as error:
    raise MissingExtra.of("proxy", error.name or "starlette") from None

if TYPE_CHECKING:
    from toolreel._ui.durable_source import DatabaseRuns  # needs DBOS, which the page does not

_LOOK_SECONDS: Final = 1.0
"""How often the directory is looked at; contents are read meanwhile."""
_PAUSE: Final = 10
"""How much longer than a look the time between two is, so that a large directory is no load."""
_DURABLE: Final = "durable:"


class Ui:
    """What the requests of one server share.

    :param index: what is listed
    :param title: what the page is called, such as the name of the directory
    """

    def __init__(self, index: Index, title: str, database: DatabaseRuns | None = None) -> None:
        self._index, self._title, self._database = index, title, database
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep_up, name="toolreel-ui-index", daemon=True)

    def app(self, token: str, port: int) -> App:
        """The application, behind its guard."""
        paths = (
            ("/", self._list),
            ("/changes", self._changes),
            ("/view", self._view),
            ("/favicon.ico", self._nothing),
        )
        return Guard(Starlette(routes=[Route(path, endpoint) for path, endpoint in paths]), token, port)

    def start(self) -> None:
        """List what there is, and keep up with it in a thread."""
        self._index.look()
        self._thread.start()

    def stop(self) -> None:
        """End the thread, once what it reads has been read."""
        self._stop.set()
        self._thread.join()

    def _keep_up(self) -> None:
        next_look = time.monotonic()
        while not self._stop.is_set():
            if not self._index.read_some():
                self._stop.wait(max(0.0, next_look - time.monotonic()))
            if (began := time.monotonic()) >= next_look:
                self._index.look()
                took = time.monotonic() - began
                next_look = began + max(_LOOK_SECONDS, took * _PAUSE)

    async def _list(self, _request: Request) -> Response:
        return HTMLResponse(list_page(self._title))

    async def _changes(self, request: Request) -> Response:
        since = request.query_params.get("since", "0")
        self._index.want(request.query_params.getlist("seen"))
        if not since.isdecimal():
            return JSONResponse({"error": "since: expected a number"}, 400)
        changes = await to_thread.run_sync(self._index.changes, int(since))
        return JSONResponse(changes)

    async def _view(self, request: Request) -> Response:
        keys = request.query_params.getlist("key")
        if not 1 <= len(keys) <= 2:
            return _trouble("Nothing to see", "Name one entry of the list, or two to compare them.", 400)
        if missing := [key for key in keys if not self._index.has(key)]:
            return _trouble("Not there", f"{missing[0]}: the list has no such entry (any more).", 404)
        return await to_thread.run_sync(partial(self._page, keys))

    async def _nothing(self, _request: Request) -> Response:
        return Response(status_code=204)

    def _page(self, keys: list[str]) -> Response:
        try:
            return HTMLResponse(self._text(keys))
        except MissingExtra as error:
            return _trouble("Something is not installed", str(error), 501)
        except (ToolreelError, OSError) as error:
            return _trouble("It cannot be shown", str(error), 422)

    def _text(self, keys: list[str]) -> str:
        evaluations = [key for key in keys if key.startswith("evaluation:")]
        if not evaluations:
            return page_of(*map(self._source, keys))
        if len(keys) > len(evaluations):
            raise AdapterError("a run and an evaluation have nothing to compare; choose two of one kind")
        if len(keys) > 1:
            from toolreel._ui.comparison_page import comparison_page

            return comparison_page(*(self._file(key).path for key in keys))
        from toolreel.evals import Results, report_content, report_page

        return report_page(report_content(Results.open(self._file(keys[0]).path)))

    def _source(self, key: str) -> Source:
        if key.startswith(_DURABLE) and self._database is not None:
            return self._database.recorded(key.removeprefix(_DURABLE))
        path = self._file(key).path
        return recorded_at(path) if path.name.endswith(".part") else path

    def _file(self, key: str) -> Found:
        found = self._index.found(key)
        if found is None:
            raise AdapterError(f"{key}: it is not there any more")
        return found


def _trouble(title: str, text: str, status: int) -> Response:
    body = f'<h1>{escape(title)}</h1>\n<p>{escape(printable(text))}</p>\n<p><a href="/">To the list</a></p>'
    return HTMLResponse(framed(title, body), status)
