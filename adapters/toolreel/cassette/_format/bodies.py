"""Bodies in a cassette file: trees where nothing is lost, and each message of a conversation only once.

===================== ==================================================================
``json: <tree>``      canonical JSON as YAML structure; dumped again, it is the body
``text: <text>``      any other UTF-8 text
``binary: <base64>``  everything else
===================== ==================================================================

An empty body is omitted. Images, audio and files in messages are mentioned
(:mod:`~toolreel.cassette._format.blobs`). Lists of messages are written as in
:mod:`~toolreel.cassette._format.message_tree`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, TypeVar

from toolreel._internal.errors import CassetteError
from toolreel._secrets.repeated_history import SharedBeginnings
from toolreel.cassette._format.blobs import BlobWriter
from toolreel.cassette._format.message_tree import MessageNode, MessageTree, message_rope
from toolreel_core._conversation.message_rope import Rope
from toolreel_core._jsontext.canonical import Json, JsonText, canonical, quote, read
from toolreel_core._jsontext.digest import digest

Body: TypeAlias = "str | bytes | tuple[bytes, ...]"
"""A body in memory: bytes if it is not UTF-8, a :class:`JsonText` if it was a tree. The body of a
conversation is canonical text in pieces, most of which it shares with earlier requests."""

_Read = TypeVar("_Read")
_MAX_DEPTH: Final = 64
"""Maximum levels of a tree; YAML adds its own, and nobody reads a body that nests deeper."""

_WORTH_AN_ALIAS: Final = 60
"""Minimum characters of a repeated value that is written as an alias."""


class BodyWriter:
    """Converts the bodies of one file for writing; announce all requests first."""

    def __init__(self) -> None:
        self._tree = MessageTree()
        self._blobs = BlobWriter()
        self._beginnings = SharedBeginnings()
        self._last: MessageNode | None = None
        self._ends: dict[int, MessageNode] = {}
        self._requests: list[dict[str, Any]] = []
        self._values: dict[str, tuple[str, Json]] = {}

    def announce(self, body: bytes) -> None:
        """Add the next request body."""
        rest, same = self._beginnings.without(body)
        form = _form(rest)
        if same and "json" not in form:
            form, same = _form(body), 0
        tree = form.get("json")
        messages = tree.get("messages") if isinstance(tree, dict) else None
        if isinstance(messages, list) and (messages or same):
            if not same and isinstance(messages[0], list):
                form = {"text": body.decode()}  # else it would be read as a list that continues another
            else:
                self._beginnings.learn(body, same, form["json"], messages)
                short = [self._blobs.without(message) for message in messages]
                self._last = self._tree.add(short, self._last if same else None, same)
                self._ends[len(self._requests)] = self._last
                form["json"]["messages"] = (
                    None  # the tree keeps each message once; this copy would be one of many
                )
        self._requests.append(form)

    def request(self, index: int) -> dict[str, Any]:
        """The value of ``body`` for the request with this index."""
        form = self._requests[index]
        tree = form.get("json")
        if not isinstance(tree, dict):
            return form
        written = {key: self._once(key, value) for key, value in tree.items()}
        if index in self._ends:
            written["messages"] = self._tree.fold(self._ends[index])
        return {"json": written}

    @staticmethod
    def response(body: bytes) -> dict[str, Any]:
        """The value of ``body`` for a response."""
        return _form(body)

    @property
    def blobs(self) -> dict[str, bytes]:
        """The images, audio and files of all requests, by digest."""
        return self._blobs.found

    def anchors(self) -> dict[int, str]:
        """The anchor of each value that may be repeated: its key and a digest of its content."""
        names: dict[int, str] = {}
        used: set[str] = set()
        shared: list[tuple[str, Json, str]] = [("messages", value, of) for value, of in self._tree.shared]
        shared += [(key, value, digest(text)) for text, (key, value) in self._values.items()]
        for key, value, content in shared:
            stem = re.sub(r"[^A-Za-z0-9]+", "-", key).strip("-") or "value"
            names[id(value)] = next(
                name for length in range(6, 65) if (name := f"{stem}-{content[:length]}") not in used
            )
            used.add(names[id(value)])
        return names

    def _once(self, key: str, value: Json) -> Json:
        """The first value with the same key and content, so that the second becomes an alias."""
        if not isinstance(value, (list, dict)):
            return value
        text = canonical(value)
        if len(text) < _WORTH_AN_ALIAS:
            return value
        return self._values.setdefault(f"{key}:{text}", (key, value))[1]


class BodyReader:
    """Converts the values in one file back to bodies."""

    def __init__(self) -> None:
        self._known: dict[int, Rope] = {}
        self._texts: dict[int, JsonText] = {}
        """Texts by ``id`` of a list or mapping in the file; aliases are the same object."""

    def request(self, stored: Mapping[str, Any], place: str) -> Body:
        """The request body in a ``body`` mapping of one key.

        :raises CassetteError: if it has another shape
        """
        match [*stored.items()]:
            case [("json", {"messages": [_, *_]} as tree)]:
                return _json(lambda: self._unfolded(tree), place)
            case _:
                return self.response(stored, place)

    @staticmethod
    def response(stored: Mapping[str, Any], place: str) -> str | bytes:
        """The response body in a ``body`` mapping of one key.

        :raises CassetteError: if it has another shape
        """
        match [*stored.items()]:
            case [("json", tree)]:
                return _json(lambda: canonical(tree), place)
            case [("text", str() as text)]:
                return text
            case [("binary", bytes() as data)]:
                return data
            case _:
                raise CassetteError(
                    f"{place}: expected one of 'json: <tree>', 'text: <quoted text>' or "
                    f"'binary: !!binary <base64>', found {_brief(stored)}"
                )

    def _unfolded(self, tree: Mapping[str, Any]) -> tuple[bytes, ...]:
        before: list[str] = []
        after: list[str] = []
        members = before
        for key, value in tree.items():
            if key == "messages":
                members = after
            else:
                members.append(f"{quote(key)}:{self._text(value)}")
        head = "{" + "".join(f"{member}," for member in before) + '"messages":['
        foot = "]" + "".join(f",{member}" for member in after) + "}"
        return head.encode(), *message_rope(tree["messages"], self._known).pieces(), foot.encode()

    def _text(self, value: Json) -> JsonText:
        if not isinstance(value, (list, dict)):
            return canonical(value)
        if id(value) not in self._texts:
            self._texts[id(value)] = canonical(value)
        return self._texts[id(value)]


def _form(body: bytes) -> dict[str, Any]:
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return {"binary": body}
    as_text: dict[str, Any] = {"text": text}
    return (
        read(text, max_depth=_MAX_DEPTH)
        .map(lambda value: {"json": value} if canonical(value) == text else as_text)
        .value_or(as_text)
    )


def _json(read_: Callable[[], _Read], place: str) -> _Read:
    try:
        return read_()
    except (TypeError, ValueError) as error:
        raise CassetteError(f"{place}.json: not JSON: {error}") from error


def _brief(stored: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}: {type(value).__name__}" for key, value in stored.items()) or "nothing"
