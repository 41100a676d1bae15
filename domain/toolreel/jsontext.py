"""Canonical JSON text as a value.

Parsed JSON is mutable and slow to hash, so the core keeps JSON as :class:`JsonText`:
compact, key order kept, non-ASCII as itself. The same value always has the same text,
so texts are compared, hashed and joined without parsing them again.

Reading is strict where ``json.loads`` is lenient, because what is read here comes from
models and far servers: no ``NaN`` or infinite numbers, a nesting cap that does not
depend on Python's own recursion limit, and no lone surrogate, which would break the
encoding of a later request.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring
from typing import Final, TypeAlias, assert_never

from returns.result import Failure, Result, Success

__all__ = ["MAX_DEPTH", "Json", "JsonText", "canonical", "nesting", "parse", "quote", "read", "sound"]

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
"""A parsed JSON value."""

MAX_DEPTH: Final = 128
"""Levels of nesting that :func:`read` accepts unless told otherwise."""

_MAX_DIGITS: Final = 4300
"""Digits of an integer: Python's own limit, which an environment variable could move."""

_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_STRUCTURE: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[{]|[\]}]', re.DOTALL)


class JsonText(str):
    """JSON text in canonical form; made by :func:`canonical` or :func:`read`, never by hand."""

    __slots__ = ()


def canonical(value: Json) -> JsonText:
    """The canonical text of a JSON value.

    >>> canonical({"b": 1, "a": ["é", None]})
    '{"b":1,"a":["é",null]}'

    :raises ValueError: if the value holds NaN or an infinite number
    :raises TypeError: if the value is not JSON
    """
    return JsonText(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


def quote(text: str) -> str:
    r"""A JSON string literal, as :func:`canonical` writes it.

    >>> quote('say "hi"')
    '"say \\"hi\\""'
    """
    return encode_basestring(text)


def sound(text: str) -> str:
    r"""The text with every lone surrogate replaced, so that it can always be encoded.

    >>> sound("ok \ud83d") == "ok \ufffd"
    True
    """
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def nesting(text: str, *, enough: int) -> int:
    """How deep the arrays and objects of a JSON text nest, counted up to ``enough``.

    >>> nesting('{"a": [[1], "[[["]}', enough=9)
    3
    """
    enough = min(enough, text.count("[") + text.count("{"))
    depth = deepest = 0
    for token in _STRUCTURE.finditer(text):
        first = token[0][0]
        if first in "[{":
            depth += 1
            deepest = max(deepest, depth)
            if deepest >= enough:
                break
        elif first in "]}":
            depth -= 1
    return deepest


def parse(text: JsonText) -> Json:
    """The value of a canonical text, which is known to be readable."""
    value: Json = json.loads(text)
    return value


def read(text: str, *, max_depth: int = MAX_DEPTH) -> Result[Json, str]:
    """Parse text from outside; a failure says in words what is wrong with it.

    >>> read('{"a": 1}')
    <Success: {'a': 1}>
    >>> read('{"a": NaN}')
    <Failure: NaN is not a JSON number>
    >>> read("[" * 300).failure()
    'nested deeper than 128 levels'
    """
    text = sound(text)
    if text.count("[") + text.count("{") > max_depth and nesting(text, enough=max_depth + 1) > max_depth:
        return Failure(f"nested deeper than {max_depth} levels")
    try:
        value: Json = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_bounded
        )
    except json.JSONDecodeError as error:
        return Failure(f"{error.msg} at line {error.lineno}, column {error.colno}")
    except ValueError as error:
        return Failure(str(error))
    return Success(_sound_value(value) if _SURROGATE_ESCAPE.search(text) else value)


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not a JSON number")


def _bounded(digits: str) -> int:
    if len(digits.lstrip("-")) > _MAX_DIGITS:
        raise ValueError(f"an integer of {len(digits.lstrip('-'))} digits is too long")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits} is too large for a number")
    return number


def _sound_value(value: Json) -> Json:
    match value:
        case str():
            return sound(value)
        case Mapping():
            return {sound(key): _sound_value(item) for key, item in value.items()}
        case Sequence():
            return [_sound_value(item) for item in value]
        case None | bool() | int() | float():
            return value
        case _:
            assert_never(value)
