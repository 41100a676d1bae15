"""Images, audio and files in a cassette: each once, under ``blobs``, and a short mention in the bodies.

::

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

A mention is the text before the Base64, and the digest of its bytes. The tag tells it from a text.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

from toolreel._internal.errors import CassetteError
from toolreel_core._jsontext.canonical import Json

_SHORTEST: Final = 256
"""Minimum characters of Base64 that is not written where it stands."""
_DATA_URL: Final = re.compile(r"data:[^,\s]{0,200};base64,")
"""A data URL, up to its Base64."""
_MENTION: Final = re.compile(r"(?s)(.*)(sha256:[0-9a-f]{64})")
"""The digest that replaces a blob, after the text before it."""


class Mention(str):
    """What is in a body instead of Base64."""

    __slots__ = ()


class BlobWriter:
    """Takes the blobs out of the messages of one file."""

    def __init__(self) -> None:
        self.found: dict[str, bytes] = {}
        """The bytes by digest, in the order of their first mention."""

    def without(self, value: Json) -> Json:
        """A message with a mention for each blob; the same object if it has none."""
        match value:
            case str():
                start = _DATA_URL.match(value)
                return value if start is None else self._mention(value, start.end())
            case dict():
                is_audio = "format" in value
                return {
                    key: self._mention(item, 0)
                    if is_audio and key == "data" and isinstance(item, str)
                    else self.without(item)
                    for key, item in value.items()
                }
            case list():
                return [self.without(item) for item in value]
            case _:
                return value

    def _mention(self, text: str, start: int) -> str:
        base64 = text[start:]
        if len(base64) < _SHORTEST:
            return text
        try:
            data = b64decode(base64, validate=True)
        except ValueError:
            return text
        if b64encode(data).decode() != base64:  # other bits at its end: it would not come back
            return text
        digest = f"sha256:{sha256(data).hexdigest()}"
        self.found[digest] = data
        return Mention(text[:start] + digest)


def resolved(interactions: object, blobs: object) -> None:
    """Put the blobs of a file where they are mentioned.

    :raises CassetteError: if one is missing or damaged
    """
    if not isinstance(blobs, dict):
        raise CassetteError("blobs: expected a mapping of digests to !!binary")
    texts = {digest: _checked(digest, data) for digest, data in blobs.items()}
    seen: set[int] = set()
    pending: list[Any] = [interactions]
    while pending:
        tree = pending.pop()
        if not isinstance(tree, (dict, list)) or id(tree) in seen:  # an alias is the same object
            continue
        seen.add(id(tree))
        items = tree.items() if isinstance(tree, dict) else enumerate(tree)
        for key, item in [*items]:
            if isinstance(item, Mention):
                tree[key] = _text(item, texts)
            else:
                pending.append(item)


def _checked(digest: str, data: object) -> str:
    if not isinstance(data, bytes) or f"sha256:{sha256(data).hexdigest()}" != digest:
        raise CassetteError(f"blobs: the bytes of {digest} are not those that were recorded: record again")
    return b64encode(data).decode()


def _text(mention: str, texts: Mapping[str, str]) -> str:
    found = _MENTION.fullmatch(mention)
    if found is None or found[2] not in texts:
        raise CassetteError(f"blobs: {mention[:100]!r} is mentioned and not there: record again")
    return found[1] + texts[found[2]]
