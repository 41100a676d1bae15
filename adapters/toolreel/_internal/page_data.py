"""Data in a page, for its scripts: JSON as it is, or packed where there is much of it; long texts are cut.

What cannot be seen is spelt out in all texts, and no text can end the element that it is in.
"""

from __future__ import annotations

import base64
import gzip
import json
from typing import Final

from toolreel._internal.visible_text import printable
from toolreel_core._jsontext import Json

_LEVEL: Final = 6


def json_element(ident: str, value: Json) -> str:
    """An element with JSON, which ``toolreel.data(ident)`` reads."""
    text = _text(value).replace("<", "\\u003c")
    return f'<script type="application/json" id="{ident}">{text}</script>\n'


def packed(value: Json) -> str:
    """JSON, compressed and as letters; ``toolreel.unpack`` reads it."""
    # Without a time in its head, so that the same values give the same page.
    return base64.b64encode(gzip.compress(_text(value).encode(), _LEVEL, mtime=0)).decode()


def packed_element(ident: str, value: str) -> str:
    """An element with what :func:`packed` has made, which ``toolreel.packed(ident)`` reads."""
    return f'<script type="text/plain" id="{ident}">{value}</script>\n'


def _text(value: Json) -> str:
    return json.dumps(visible(value), ensure_ascii=False, separators=(",", ":"))


def visible(value: Json) -> Json:
    r"""The value with all that is unseen spelt out in its texts.

    >>> visible(["\u202e", {"a": 1}])
    ['\\u202e', {'a': 1}]
    """
    match value:
        case str():
            return printable(value)
        case dict():
            return {printable(key): visible(each) for key, each in value.items()}
        case list() | tuple():
            return [visible(each) for each in value]
        case _:
            return value


def shortened(value: Json, longest: int) -> Json:
    """The same with shorter texts.

    >>> shortened(["abcdef", {"cut": "abc", "more": 4}], 2)
    [{'cut': 'ab', 'more': 4}, {'cut': 'ab', 'more': 5}]
    """
    match value:
        case str():
            return cut_to(value, longest)
        case {"cut": str(text), "more": int(more)}:
            rest = max(0, len(text) - longest)
            return {"cut": text[:longest], "more": more + rest}
        case dict():
            return {key: shortened(each, longest) for key, each in value.items()}
        case list() | tuple():
            return [shortened(each, longest) for each in value]
        case _:
            return value


def cut_to(text: str, longest: int) -> Json:
    """A text that models or servers wrote, and of a long one how much of it is left out."""
    rest = len(text) - longest
    return text if rest <= 0 else {"cut": text[:longest], "more": rest}
