"""JSON text that there is nothing to be careful about: read and written at full speed.

What is found here is what :mod:`toolreel_core._jsontext.canonical` finds.
Where telling that takes a closer look, nothing is.
"""

from __future__ import annotations

import re
from typing import Final

from toolreel_core._jsontext.canonical import (
    DECODER,
    Json,
    JsonText,
    canonical,
    encodable,
    may_hold_a_long_number,
)

__all__ = ["canonical_object", "plain_object"]

_BLANK: Final = " \t\r\n"
_DOUBTFUL: Final = re.compile(r"\\u(?:[dD][89a-fA-F]|0022)")
"""An escape that may be a half of a character, or that is a quotation mark."""
_BRACKETS: Final = {ord(char): None for char in map(chr, range(128))} | str.maketrans("[{]}", "[[]]")
"""Leaves nothing of ASCII but brackets, of one kind: that they match is for the parser to see."""


def plain_object(text: str, *, max_depth: int) -> dict[str, Json] | None:
    r"""The object that a text is, if nothing in it needs a closer look.

    >>> plain_object('{"a": 1}', max_depth=8)
    {'a': 1}
    >>> plain_object('{"a": NaN}', max_depth=8), plain_object(r'{"a": "\ud83d"}', max_depth=8)
    (None, None)
    """
    bare = text.strip(_BLANK)
    many = len(bare) > max_depth and bare.count("{") + bare.count("[") > max_depth
    if many and not _is_as_shallow(bare, max_depth):
        return None
    if ("\\u" in bare and _DOUBTFUL.search(bare)) or not encodable(bare) or may_hold_a_long_number(bare):
        return None
    try:
        tree, end = DECODER.raw_decode(bare)
    except ValueError:
        return None
    return tree if end == len(bare) and isinstance(tree, dict) else None


def canonical_object(text: str, tree: dict[str, Json]) -> JsonText | None:
    """The canonical form of a text that is plainly an object, unless a key stands in it twice.

    Of such a key, only the last is left in the tree, so that quotation marks are missing.

    >>> text = '{"a": 1, "a": 2}'
    >>> canonical_object(text, plain_object(text, max_depth=8))
    """
    written = canonical(tree)
    return written if written.count('"') == text.count('"') else None


def _is_as_shallow(text: str, max_depth: int) -> bool:
    """Whether a text without escapes nests that deep at most."""
    if "\\" in text:
        return False
    brackets = "".join(text.split('"')[::2]).translate(_BRACKETS)
    for _ in range(max_depth):
        brackets = brackets.replace("[]", "")
        if not brackets:
            return True
    return False
