"""Bodies in a cassette file: trees where nothing is lost, and each message and blob only once.

===================== ==================================================================
``json: <tree>``      canonical JSON as YAML structure; dumped again, it is the body
``text: <text>``      any other UTF-8 text
``binary: <base64>``  everything else
===================== ==================================================================

An empty body is omitted. Images, audio and files stand under ``blobs``. A body mentions them by a tag, which
tells the mention from a text, with the text before the Base64 and the digest of the bytes::

    interactions:
    - request:
        body:
          json:
            messages:
            - role: user
              content:
              - type: image_url
                image_url:
                  url: !blob data:image/png;base64,sha256:1f2e…
    blobs:
      sha256:1f2e…: !!binary |
        iVBORw0KGgo…

Each request of a conversation repeats the history. A prefix tree finds the shared beginnings; a list that
continues one is written as ``[beginning, new, new]``, where the nested list stands for its elements. YAML
writes later mentions as aliases, so a file grows linearly with the conversation::

    messages: &messages-3fa2c1      messages:                     (next request)
    - {role: user, …}               - *messages-3fa2c1
                                    - {role: assistant, …}
                                    - {role: tool, …}

Where two lists diverge in the middle (a fork, or a reminder that is always last), their shared beginning is
nested in the first of them too.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import takewhile
from typing import Any, Final

from toolreel._internal import CassetteError
from toolreel_core._conversation import Rope
from toolreel_core._jsontext import Json, canonical, chain, digest, items_of, quote, read

_SHORTEST: Final = 256
"""Minimum characters of Base64 that is not written where it stands."""
_DATA_URL: Final = re.compile(r"data:[\w.+/;=-]{0,200};base64,", re.ASCII)
"""A data URL, up to its Base64; with other characters, YAML would need quotes."""
_MENTION: Final = re.compile(r"(?s)(.*)(sha256:[0-9a-f]{64})")
"""The digest that replaces a blob, after the text before it."""


class Mention(str):
    """What is in a body instead of Base64."""

    __slots__ = ()


def _without_blobs(value: Json, found: dict[str, bytes]) -> Json:
    """A message with a mention for each blob, whose bytes are put under their digests."""
    match value:
        case str():
            start = _DATA_URL.match(value)
            return value if start is None else _blob_mention(value, start.end(), found)
        case dict():
            is_audio = "format" in value
            return {
                key: _blob_mention(item, 0, found)
                if is_audio and key == "data" and isinstance(item, str)
                else _without_blobs(item, found)
                for key, item in value.items()
            }
        case list():
            return [_without_blobs(item, found) for item in value]
        case _:
            return value


def _blob_mention(text: str, start: int, found: dict[str, bytes]) -> str:
    base64 = text[start:]
    if len(base64) < _SHORTEST:
        return text
    try:
        data = b64decode(base64, validate=True)
    except ValueError:
        return text
    if b64encode(data).decode() != base64:  # other bits at its end: it would not come back
        return text
    name = f"sha256:{sha256(data).hexdigest()}"
    found[name] = data
    return Mention(text[:start] + name)


def insert_blobs(interactions: object, blobs: object) -> None:
    """Put the blobs of a file where they are mentioned.

    :raises CassetteError: if one is missing or damaged
    """
    if not isinstance(blobs, dict):
        raise CassetteError("blobs: expected a mapping of digests to !!binary")
    for name, data in blobs.items():
        if not isinstance(data, bytes) or f"sha256:{sha256(data).hexdigest()}" != name:
            raise CassetteError(f"blobs: the bytes of {name} are not those that were recorded: record again")
    texts = {name: b64encode(data).decode() for name, data in blobs.items()}
    _insert_blobs_below(interactions, texts, set())


def _insert_blobs_below(tree: Any, texts: Mapping[str, str], seen: set[int]) -> None:
    if not isinstance(tree, (dict, list)) or id(tree) in seen:  # an alias is the same object
        return
    seen.add(id(tree))
    for key, item in [*(tree.items() if isinstance(tree, dict) else enumerate(tree))]:
        if not isinstance(item, Mention):
            _insert_blobs_below(item, texts, seen)
            continue
        found = _MENTION.fullmatch(item)
        if found is None or found[2] not in texts:
            raise CassetteError(f"blobs: {item[:100]!r} is mentioned and not there: record again")
        tree[key] = found[1] + texts[found[2]]


_MAX_DEPTH: Final = 64
"""Maximum levels of a tree; YAML adds its own, and nobody reads a body that nests deeper."""


class ConversationBodies:
    """Reads the bodies of requests, each without the messages that it shares with the last one.

    Each request repeats its history, so reading all bodies completely takes quadratic time. Two canonical
    bodies with a common prefix have the same messages in it; without them, a body is still JSON.
    """

    def __init__(self) -> None:
        self._last = b""
        """The last body up to the end of its last message."""
        self._ends: list[int] = []
        """The offset of its first message, and those of the ends of all of them."""

    def read(self, body: bytes) -> tuple[dict[str, Json], int] | None:
        """The tree of a body without the messages that it shares with the last one, and their number.

        ``None`` for a body that is not canonical JSON with messages.
        """
        # Bisection: if the first n messages agree, so do all fewer.
        same = bisect_left(self._ends, True, key=lambda end: not body.startswith(self._last[:end])) - 1
        end = self._ends[same] if same > 0 else 0
        after = body[end : end + 1]
        if same <= 0 or after not in {b",", b"]"}:  # any other byte: the prefix ends inside a message
            same, short = 0, body
        else:
            short = body[: self._ends[0]] + body[end + (after == b",") :]
        try:
            text = short.decode()
        except UnicodeDecodeError:
            return None
        tree = read(text, max_depth=_MAX_DEPTH).value_or(None)
        messages = tree.get("messages") if isinstance(tree, dict) else None
        if not isinstance(tree, dict) or not isinstance(messages, list) or canonical(tree) != text:
            return None
        if not same:
            if not messages or isinstance(messages[0], list):
                return None
            before = dict(takewhile(lambda item: item[0] != "messages", tree.items()))
            self._ends = [len(canonical({**before, "messages": []}).encode()) - len("]}")]
        del self._ends[same + 1 :]
        for message in messages:
            comma = len(self._ends) > 1
            self._ends.append(self._ends[-1] + comma + len(canonical(message).encode()))
        self._last = body[: self._ends[-1]]
        return tree, same


class _Anchors(dict[int, str]):
    """The anchor of each value that may be repeated, by its ``id``."""

    def add(self, key: str, value: Json, content: str) -> None:
        """Name a value by its key and so much of the digest of its content that it is the only one."""
        stem = re.sub(r"[^A-Za-z0-9]+", "-", key).strip("-") or "value"
        tried = (f"{stem}-{content[:length]}" for length in range(6, 65))
        self[id(value)] = next(name for name in tried if name not in self.values())


@dataclass(slots=True, eq=False)
class _MessageNode:
    """A list of messages in the tree: its last message, and the list without it."""

    parent: _MessageNode | None
    message: Json
    digest: str
    """Identifies the whole list, by chaining the digests of its messages."""
    length: int
    children: dict[str, _MessageNode] = field(default_factory=dict)
    ends: bool = False
    """Whether the list of a request ends here."""
    folded: list[Json] | None = None
    """The list as it is written; ``None`` until then."""

    def prefix(self, count: int) -> _MessageNode:
        node = self
        while node.length > count and node.parent is not None:
            node = node.parent
        return node

    def extend(self, messages: Sequence[Json]) -> _MessageNode:
        """The list that goes on with these messages."""
        node = self
        for message in messages:
            text = canonical(message)
            if text not in node.children:
                node.children[text] = _MessageNode(node, message, chain(node.digest, text), node.length + 1)
            node = node.children[text]
        node.ends = True
        return node

    def written_list(self, anchors: _Anchors) -> list[Json]:
        """The list as it is written, once all lists are in the tree: the same object for the same list."""
        trail: list[_MessageNode] = []
        node = self
        while node.folded is None and node.parent is not None:
            trail.append(node)
            node = node.parent
        folded: list[Json] = [] if node.folded is None else node.folded
        current: list[Json] = [] if node.folded is None else [folded]
        for node in reversed(trail):
            current.append(node.message)
            if node.ends or len(node.children) > 1:
                node.folded = folded = current
                anchors.add("messages", folded, node.digest)
                current = [folded]
        return folded


_WORTH_AN_ALIAS: Final = 60
"""Minimum characters of a repeated value that is written as an alias."""


def written_bodies(bodies: Iterable[bytes]) -> tuple[list[dict[str, Any]], dict[str, bytes], dict[int, str]]:
    """The bodies of all requests in one file, in order, for writing.

    :returns: the value of ``body`` for each request, the blobs of all of them by digest, and the anchors
    """
    blobs: dict[str, bytes] = {}
    conversations, last = ConversationBodies(), _MessageNode(None, None, "", 0)
    read_bodies: list[tuple[dict[str, Any], _MessageNode | None]] = []
    for body in bodies:
        found = conversations.read(body)
        if found is None:
            read_bodies.append((_single_body_form(body), None))
            continue
        tree, same = found
        last = last.prefix(same).extend([_without_blobs(each, blobs) for each in items_of(tree, "messages")])
        # The tree of lists keeps each message once; this copy would be one of many.
        read_bodies.append(({"json": {**tree, "messages": None}}, last))
    values: dict[str, Json] = {}
    anchors = _Anchors()

    def first_equal(key: str, value: Json) -> Json:
        """The first value with the same key and content, so that the second becomes an alias."""
        text = canonical(value) if isinstance(value, (list, dict)) else ""
        if len(text) < _WORTH_AN_ALIAS:
            return value
        if (name := f"{key}:{text}") not in values:
            values[name] = value
            anchors.add(key, value, digest(name))
        return values[name]

    # Once all lists are in the tree, it is known which of them are repeated.
    forms: list[dict[str, Any]] = []
    for form, node in read_bodies:
        json_tree = form.get("json")
        if isinstance(json_tree, dict):
            form = {"json": {key: first_equal(key, value) for key, value in json_tree.items()}}  # noqa: PLW2901
        if node:
            form["json"]["messages"] = node.written_list(anchors)
        forms.append(form)
    return forms, blobs, anchors


class BodyReader:
    """Converts the values in one file back to bodies."""

    def __init__(self) -> None:
        self._known: dict[int, Rope] = {}
        """The messages of folded lists, by ``id``, so that none is encoded twice."""

    def pieces(self, stored: Mapping[str, Any], place: str, *, folds: bool = False) -> tuple[bytes, ...]:
        """The body in a ``body`` mapping of one key.

        :param folds: whether lists of messages may be folded, as those of requests are
        :raises CassetteError: if it has another shape
        """
        try:
            match [*stored.items()]:
                case [("json", {"messages": [_, *_]} as tree)] if folds:
                    return self._conversation_pieces(tree)
                case [("json", tree)]:
                    return (canonical(tree).encode(),)
                case [("text", str() as text)]:
                    return (text.encode(),)
                case [("binary", bytes() as data)]:
                    return (data,)
                case pairs:
                    found = ", ".join(f"{key}: {type(value).__name__}" for key, value in pairs)
        except (TypeError, ValueError) as error:
            raise CassetteError(f"{place}.json: not JSON: {error}") from error
        raise CassetteError(
            f"{place}: expected one of 'json: <tree>', 'text: <quoted text>' or "
            f"'binary: !!binary <base64>', found {found or 'nothing'}"
        )

    def _conversation_pieces(self, tree: Mapping[str, Any]) -> tuple[bytes, ...]:
        members = [
            f"{quote(key)}:{'[' if key == 'messages' else canonical(value)}" for key, value in tree.items()
        ]
        at = [*tree].index("messages") + 1
        head, foot = ",".join(members[:at]), ",".join(["]", *members[at:]])
        return f"{{{head}".encode(), *self._messages_in(tree["messages"]).pieces(), f"{foot}}}".encode()

    def _messages_in(self, folded: Sequence[Json]) -> Rope:
        """The canonical text of each message in a folded list; lists share the blocks of shared messages."""
        trail: list[Sequence[Json]] = [folded]
        while id(trail[-1]) not in self._known and trail[-1] and isinstance(trail[-1][0], list):
            trail.append(trail[-1][0])
        rope = Rope()
        for own in reversed(trail):
            if id(own) not in self._known:
                for message in own[bool(own) and isinstance(own[0], list) :]:
                    rope = rope.append(canonical(message).encode())
                self._known[id(own)] = rope
            rope = self._known[id(own)]
        return rope


def _single_body_form(body: bytes) -> dict[str, Any]:
    """The value of ``body`` for a request that continues no conversation."""
    match body_form(body):
        case {"json": {"messages": [[*_], *_]}}:  # would be read as a list that continues another
            return {"text": body.decode()}
        case form:
            return form


def body_form(body: bytes) -> dict[str, Any]:
    """The value of ``body`` for a response, or for a request alone."""
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
