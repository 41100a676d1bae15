"""Fast path for JSON text without anything doubtful.

A result here equals that of :mod:`toolreel_core._jsontext.canonical`; text that needs its checks (surrogate
escapes, long numbers, deep nesting) gives ``None``.
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

_BLANK: Final = " \t\r\n"
_DOUBTFUL: Final = re.compile(r"\\u(?:[dD][89a-fA-F]|0022)")
"""An escape that may be a lone surrogate, or an escaped quote, which ``canonical_object`` counts."""
_BRACKETS: Final = {ord(char): None for char in map(chr, range(128))} | str.maketrans("[{]}", "[[]]")
"""Keeps only brackets of ASCII text, all mapped to one kind; the parser checks that kinds match."""


def plain_object(text: str, *, max_depth: int) -> dict[str, Json] | None:
    r"""The object in a text, or ``None`` if the text needs the full reader.

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
    """The canonical form of an object's text, or ``None`` if it has a duplicate key.

    The tree keeps only the last of duplicate keys, so its text has fewer quotes.

    >>> text = '{"a": 1, "a": 2}'
    >>> canonical_object(text, plain_object(text, max_depth=8))
    """
    written = canonical(tree)
    return written if written.count('"') == text.count('"') else None


def _is_as_shallow(text: str, max_depth: int) -> bool:
    """Whether a text without escapes nests at most ``max_depth`` levels, by removing innermost pairs."""
    if "\\" in text:
        return False
    brackets = "".join(text.split('"')[::2]).translate(_BRACKETS)
    for _ in range(max_depth):
        brackets = brackets.replace("[]", "")
        if not brackets:
            return True
    return False
