"""A server on this machine for the list of recordings, and for the page of each.

Any page that a browser shows may send requests to this machine. So the token is in a cookie that other sites
do not send along, the host has to be this machine's (else a name that an attacker points here would be the
page's own), nothing but reading is offered, and no other site is allowed to read the answer.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from stat import S_ISREG
from threading import Lock
from typing import NamedTuple
from urllib.parse import parse_qs

from toolreel._driver import Run, cost_in_words
from toolreel._internal import (
    AdapterError,
    MissingExtra,
    Page,
    escape_hidden_characters,
    listening_socket,
    page_app,
    printable_text,
    server_config,
)
from toolreel._journal import Recorded, RunSource, parse_unclosed_journal, read_journal
from toolreel._replay.run_page import recording_page, recordings_list_page
from toolreel_core._errors import ToolreelError
from toolreel_core._jsontext import Json
from toolreel_core._loop import fold, pending
from toolreel_core._protocol import AskApproval

try:
    import uvicorn
except ImportError:
    raise MissingExtra.of("cli", "uvicorn") from None

_JOURNAL = ".journal.jsonl"
_PART = ".journal.jsonl.part"
_CASSETTE = ".yaml"
_SKIPPED = frozenset({"node_modules", "__pycache__"})
_OURS = b"toolreel"
"""What the beginning of each cassette of ours has; other YAML files are not listed."""
_BEGINNING = 400
"""Bytes of a file that are searched for it: ``toolreel`` is the first key of a cassette."""


class Found(NamedTuple):
    name: str
    """Its path within the directory, without the ending."""
    where: str
    """Its path, as text: making ten thousand paths takes longer than listing them."""
    modified_ns: int
    size: int


class Facts(NamedTuple):
    state: str
    model: str = ""
    turns: int | None = None
    calls: int | None = None
    tokens: int | None = None
    cost: str = ""
    remark: str = ""
    """What else there is to say, such as why it cannot be read."""


class RecordingList:
    """Thread-safe, since several pages may ask at once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._read: dict[str, tuple[Found, Facts | None]] = {}
        """By name: the file as it was read, and what is known of it; ``None``: it is not a recording."""
        self._lock = Lock()

    def read_recording_rows(self, seconds: float) -> Json:
        """Read recordings that are new or have changed, the newest first.

        :param seconds: how long to read for, one recording in any case
        """
        with self._lock:
            listed, until = [*list_recordings(self._root)], time.monotonic() + seconds
            for each in sorted(listed, key=lambda each: -each.modified_ns):
                if self._read.get(each.name, (None,))[0] != each:
                    self._read[each.name] = each, recording_facts(each)
                    if time.monotonic() >= until:
                        break
            lines, unread = list[Json](), 0
            for each in listed:
                file, facts = self._read.get(each.name, (None, None))
                unread += file != each  # what was known of it is shown until it is read again
                if facts or file is None:
                    lines.append(
                        [
                            escape_hidden_characters(each.name),
                            each.modified_ns // 1_000_000,
                            escape_hidden_characters(facts),
                        ]
                    )
            return {"lines": lines, "unread": unread}

    def recording_named(self, name: str) -> Found | None:
        """The recording that the page calls so; a name is looked up, and never made a path of."""
        return next(
            (each for each in list_recordings(self._root) if escape_hidden_characters(each.name) == name),
            None,
        )


def list_recordings(root: Path) -> Iterator[Found]:
    for folder, folders, files in os.walk(root):
        # The results of an evaluation, whose recordings are in its report.
        if {"header.json", "journal.jsonl"} <= {*files}:
            folders.clear()
            continue
        folders[:] = [each for each in folders if not each.startswith(".") and each not in _SKIPPED]
        inside = Path(folder).relative_to(root).as_posix()
        prefix = "" if inside == "." else f"{inside}/"
        named: dict[str, str] = {}
        for ending in (_CASSETTE, _PART, _JOURNAL):  # a journal stands for the others of its name
            named |= {file.removesuffix(ending): file for file in files if file.endswith(ending)}
        for stem, file in named.items():
            where = os.path.join(folder, file)
            try:
                there = os.stat(where)
            except OSError:  # it was removed meanwhile, or is not ours to read
                continue
            if stem and S_ISREG(there.st_mode):
                # A file name that is not UTF-8 could not be sent.
                name = os.fsencode(prefix + stem).decode("utf-8", "backslashreplace")
                yield Found(name, where, there.st_mtime_ns, there.st_size)


def recording_facts(found: Found) -> Facts | None:
    try:
        if not found.where.endswith(_CASSETTE):
            recorded = read_recording(Path(found.where))
            state = fold(recorded.plan, recorded.events).state
            tally, outcome = state.tally, state.outcome
            if outcome is not None:
                shown = outcome.name
            elif any(isinstance(effect, AskApproval) for effect in pending(state)):
                shown = "waiting"
            else:
                shown = "recording" if found.where.endswith(".part") else "resting"
            tokens = tally.prompt_tokens + tally.completion_tokens
            cost = cost_in_words(Run(state, ()))
            return Facts(shown, recorded.plan.model, tally.turns, tally.tool_calls, tokens, cost)
        with open(found.where, "rb") as file:
            ours = _OURS in file.read(_BEGINNING)
        return Facts("cassette", remark="of another client, without a journal") if ours else None
    except (ToolreelError, OSError, ValueError, RecursionError) as error:
        return Facts("unreadable", remark=str(error).partition("\n")[0])


def read_recording(path: Path) -> Recorded:
    if not path.name.endswith(".part"):
        return read_journal(path)
    return parse_unclosed_journal(path.read_bytes(), Path(path.name))[0]


_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_CONNECTIONS = 64
_SECONDS = 0.25
"""How long an answer reads recordings for; the page asks again for the rest."""
_REFUSED = "This page needs the token of the server: open the address that toolreel view has printed."


class ListServer:
    """Serves the recordings below a directory to anyone who has the token in its address."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        try:
            self._socket = listening_socket("127.0.0.1", port)
        except OSError as error:
            raise AdapterError(f"--port {port}: {error.strerror}; choose another one with --port N") from None
        self._port = int(self._socket.getsockname()[1])
        self._cookie_name = f"toolreel-view-{self._port}"  # each server on a machine has another
        self._token = secrets.token_urlsafe(24)
        self._recordings = RecordingList(folder)
        self._title = folder.resolve().name or "recordings"

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}/?token={self._token}"

    def serve(self) -> None:
        with self._socket:
            uvicorn.Server(server_config(page_app(self._answer_with_headers), connections=_CONNECTIONS)).run(
                [self._socket]
            )

    def _answer_with_headers(self, path: str, query: str, headers: Mapping[str, str]) -> Page:
        page = self._authorized_page(path, parse_qs(query), headers)
        return page._replace(kind=f"{page.kind}; charset=utf-8", headers={**_HEADERS, **page.headers})

    def _authorized_page(self, path: str, query: Mapping[str, list[str]], headers: Mapping[str, str]) -> Page:
        if headers.get("host", "").lower() not in {f"127.0.0.1:{self._port}", f"localhost:{self._port}"}:
            return Page(421, "This server answers under 127.0.0.1 and localhost alone.", "text/plain")
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self._cookie_name)
        except CookieError:
            cookie = None
        if cookie and self._is_valid_token(cookie.value):
            return self._page_at_path(path, query)
        if path == "/" and self._is_valid_token(query.get("token", [""])[0]):
            # Without the token in the address, which would stay in the history and be passed on.
            set_cookie = f"{self._cookie_name}={self._token}; Path=/; HttpOnly; SameSite=Strict"
            return Page(303, "", "text/plain", {"Location": "/", "Set-Cookie": set_cookie})
        return Page(403, _REFUSED, "text/plain")

    def _page_at_path(self, path: str, query: Mapping[str, list[str]]) -> Page:
        match path:
            case "/":
                return Page(200, recordings_list_page(self._title), "text/html")
            case "/lines":
                return Page(
                    200, json.dumps(self._recordings.read_recording_rows(_SECONDS)), "application/json"
                )
            case "/view":
                return self._run_page(query.get("name", []))
            case _:
                return Page(404, "There is no such page.", "text/plain")

    def _run_page(self, names: list[str]) -> Page:
        try:
            if not 1 <= len(names) <= 2:
                raise AdapterError("name one recording of the list, or two to compare them")
            sources: list[RunSource] = []
            for name in names:
                found = self._recordings.recording_named(name)
                if found is None:
                    raise AdapterError(f"{name}: the list has no such recording (any more)")
                path = Path(found.where)
                sources.append(read_recording(path) if path.suffix == ".part" else path)
            return Page(200, recording_page(*sources), "text/html")
        except (ToolreelError, OSError) as error:
            status = 501 if isinstance(error, MissingExtra) else 422
            return Page(status, f"It cannot be shown: {printable_text(str(error))}", "text/plain")

    def _is_valid_token(self, token: str) -> bool:
        # Encoded, since compare_digest() takes no text with characters beyond ASCII.
        return hmac.compare_digest(token.encode(), self._token.encode())
