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
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import takewhile
from typing import Any, TypeAlias

from toolreel._internal import CassetteError
from toolreel_core._conversation import Rope
from toolreel_core._jsontext import Json, canonical, chained_digest, digest, list_at, quote, read_json

_SHORTEST = 256
"""Minimum characters of Base64 that is not written where it stands."""
_DATA_URL = re.compile(r"data:[\w.+/;=-]{0,200};base64,", re.ASCII)
"""A data URL, up to its Base64; with other characters, YAML would need quotes."""
_MENTION = re.compile(r"(?s)(.*)(sha256:[0-9a-f]{64})")
"""The digest that replaces a blob, after the text before it."""


class Mention(str):
    __slots__ = ()


def _without_blobs(value: Json, found: dict[str, bytes]) -> Json:
    match value:
        case str():
            start = _DATA_URL.match(value)
            return value if start is None else _replace_base64_with_digest(value, start.end(), found)
        case dict():
            is_audio = "format" in value
            return {
                key: _replace_base64_with_digest(item, 0, found)
                if is_audio and key == "data" and isinstance(item, str)
                else _without_blobs(item, found)
                for key, item in value.items()
            }
        case list():
            return [_without_blobs(item, found) for item in value]
        case _:
            return value


def _replace_base64_with_digest(text: str, start: int, found: dict[str, bytes]) -> str:
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


_MAX_DEPTH = 64
"""Maximum levels of a tree; YAML adds its own, and nobody reads a body that nests deeper."""


class ConversationBodies:
    """Reads bodies without the messages shared with the last one.

    Each request repeats its history, so reading all bodies completely takes quadratic time.
    """

    def __init__(self) -> None:
        self._head = b""
        """The last body up to its first message."""
        self._messages: list[bytes] = []

    def read(self, body: bytes) -> tuple[dict[str, Json], int] | None:
        """``None`` for a body that is not canonical JSON with messages."""
        same, end = 0, len(self._head)
        if body.startswith(self._head):
            for message in self._messages:
                after = end + len(message)
                if not body.startswith(message, end) or body[after : after + 1] not in {b",", b"]"}:
                    break
                same, end = same + 1, after + (body[after : after + 1] == b",")
        try:
            text = (self._head + body[end:] if same else body).decode()
        except UnicodeDecodeError:
            return None
        tree = read_json(text, max_depth=_MAX_DEPTH).value_or(None)
        messages = tree.get("messages") if isinstance(tree, dict) else None
        if not isinstance(tree, dict) or not isinstance(messages, list) or canonical(tree) != text:
            return None
        if not same:
            # A nested list at the beginning would be read as a list that this one continues.
            if not messages or isinstance(messages[0], list):
                return None
            before = dict(takewhile(lambda item: item[0] != "messages", tree.items()))
            self._head = canonical({**before, "messages": []}).removesuffix("]}").encode()
        self._messages[same:] = [canonical(message).encode() for message in messages]
        return tree, same


class _Anchors(dict[int, str]):
    def add(self, key: str, value: Json, content: str) -> None:
        """Name a value by its key and so much of the digest of its content that it is the only one."""
        stem = re.sub(r"[^A-Za-z0-9]+", "-", key).strip("-") or "value"
        # All of the digest has 64 characters.
        tried = (f"{stem}-{content[:length]}" for length in range(6, 65))
        self[id(value)] = next(name for name in tried if name not in self.values())


_WORTH_AN_ALIAS = 60
"""Minimum characters of a repeated value that is written as an alias."""


class _Conversations:
    """A tree of the beginnings of all lists; a list is known by a chain of the digests of its messages."""

    def __init__(self) -> None:
        self._ends: set[str] = set()
        """The lists of requests."""
        self._following: dict[str, set[str]] = {}
        """By list, those that have one message more."""
        self._folded: dict[str, list[Json]] = {}
        """By list, how it is written."""

    def add(self, path: _Path, messages: Iterable[Json]) -> _Path:
        path = [*path]
        for message in messages:
            before = path[-1][0] if path else ""
            whole = chained_digest(before, canonical(message))
            self._following.setdefault(before, set()).add(whole)
            path.append((whole, message))
        self._ends.add(path[-1][0])
        return path

    def folded_messages(self, path: _Path, anchors: _Anchors) -> list[Json]:
        current: list[Json] = []
        for whole, message in path:
            current.append(message)
            if whole in self._ends or len(self._following.get(whole, ())) > 1:
                if whole not in self._folded:
                    self._folded[whole] = current
                    anchors.add("messages", current, whole)
                current = [self._folded[whole]]
        return self._folded[path[-1][0]]


_Path: TypeAlias = list[tuple[str, Json]]
"""A list of messages: for each, the digest of the list up to it, and the message."""


def bodies_as_mappings(
    bodies: Iterable[bytes],
) -> tuple[list[dict[str, Any]], dict[str, bytes], dict[int, str]]:
    """The values of ``body`` for all requests in one file, their blobs by digest, and the anchors."""
    blobs: dict[str, bytes] = {}
    reader, conversations = ConversationBodies(), _Conversations()
    path: _Path = []
    read_bodies: list[tuple[dict[str, Any], _Path]] = []
    for body in bodies:
        found = reader.read(body)
        if found is None:
            read_bodies.append((_unfolded_body_as_mapping(body), []))
            continue
        tree, same = found
        new = [_without_blobs(each, blobs) for each in list_at(tree, "messages")]
        path = conversations.add(path[:same], new)
        # The paths keep each message once; this copy would be one of many.
        read_bodies.append(({"json": {**tree, "messages": None}}, path))
    values: dict[str, Json] = {}
    anchors = _Anchors()

    def first_equal(key: str, value: Json) -> Json:
        text = canonical(value) if isinstance(value, (list, dict)) else ""
        if len(text) < _WORTH_AN_ALIAS:
            return value
        if (name := f"{key}:{text}") not in values:
            values[name] = value
            anchors.add(key, value, digest(name))
        return values[name]

    # Once all lists are in the tree, it is known which of them are repeated.
    forms: list[dict[str, Any]] = []
    for form, path in read_bodies:
        json_tree = form.get("json")
        if isinstance(json_tree, dict):
            form = {"json": {key: first_equal(key, value) for key, value in json_tree.items()}}  # noqa: PLW2901
        if path:
            form["json"]["messages"] = conversations.folded_messages(path, anchors)
        forms.append(form)
    return forms, blobs, anchors


def body_pieces(
    stored: Mapping[str, Any], place: str, ropes: dict[int, Rope] | None = None
) -> tuple[bytes, ...]:
    """The body in a ``body`` mapping of one key.

    :param ropes: of requests, the messages in lists by their ``id``, so that none is encoded twice
    """
    try:
        match [*stored.items()]:
            case [("json", {"messages": [_, *_]} as tree)] if ropes is not None:
                return _conversation_body_pieces(tree, ropes)
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


def _conversation_body_pieces(tree: Mapping[str, Any], ropes: dict[int, Rope]) -> tuple[bytes, ...]:
    members = [
        f"{quote(key)}:{'[' if key == 'messages' else canonical(value)}" for key, value in tree.items()
    ]
    at = [*tree].index("messages") + 1
    head, foot = ",".join(members[:at]), ",".join(["]", *members[at:]])
    return (
        f"{{{head}".encode(),
        *_rope_of_folded_messages(tree["messages"], ropes).pieces(),
        f"{foot}}}".encode(),
    )


def _rope_of_folded_messages(folded: Sequence[Json], ropes: dict[int, Rope]) -> Rope:
    if id(folded) not in ropes:
        rope, added = Rope(), folded
        if folded and isinstance(folded[0], list):  # a list that continues another
            rope, added = _rope_of_folded_messages(folded[0], ropes), folded[1:]
        for message in added:
            rope = rope.append(canonical(message).encode())
        ropes[id(folded)] = rope
    return ropes[id(folded)]


def _unfolded_body_as_mapping(body: bytes) -> dict[str, Any]:
    match body_as_mapping(body):
        case {"json": {"messages": [[*_], *_]}}:  # would be read as a list that continues another
            return {"text": body.decode()}
        case form:
            return form


def body_as_mapping(body: bytes) -> dict[str, Any]:
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return {"binary": body}
    # `None` stands for what is not JSON, since only the text `null` means it.
    tree = read_json(text, max_depth=_MAX_DEPTH).value_or(None)
    return {"json": tree} if canonical(tree) == text else {"text": text}
