"""Canonical JSON text as a value: compact, key order kept, non-ASCII as itself; parsed JSON is slow to hash.

Reading is strict where ``json.loads`` is lenient, because the text comes from models and remote servers: no
``NaN`` or infinite numbers, a nesting cap that does not depend on Python's own recursion limit, and no lone
surrogate, which would break the encoding of a later request.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from json.encoder import encode_basestring
from typing import Any, Literal, TypeAlias, TypeVar, assert_never

from returns.result import Failure, Result, Success

from toolreel_core._lazy_pattern import lazy_pattern

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
"""A parsed JSON value."""

Tree: TypeAlias = "Mapping[str, Json]"
"""A parsed JSON object."""

ArgumentRepairs: TypeAlias = Literal["strict", "safe", "lenient"]
"""``strict``: arguments are the JSON text of an object as they stand, or an error; ``safe``: the notation
of a closed payload is repaired; ``lenient``: also keys without quotes, and any text behind the object."""

MAX_DEPTH = 128
"""Default nesting limit of :func:`read_json`."""

_MAX_DIGITS = 4300
"""Digits of an integer: Python's own limit, which an environment variable could move."""

_Value = TypeVar("_Value")
_Error = TypeVar("_Error")

_SAMPLE = 40
"""Characters of a text that an error shows."""

_SURROGATE_ESCAPE = lazy_pattern(r"\\u[dD][89a-fA-F]")
"""The escape of a surrogate; only a text with one can have half a pair."""
_SURROGATE = lazy_pattern("[\ud800-\udfff]")
_ESCAPE = lazy_pattern(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>u[dD][89a-fA-F])|.)", re.DOTALL
)
"""A pair of escaped surrogates, one without its partner, or any other escape."""
# Strings and everything else that is not a bracket. Possessive: text from outside must not backtrack.
_NO_BRACKET = lazy_pattern(r'"(?:[^"\\]++|\\.)*+"?|[^"\[\]{}]++', re.DOTALL)


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_MAKE_ENCODER: Any = getattr(json.encoder, "c_make_encoder", None)
"""The C encoder, made once: ``JSONEncoder.encode`` makes one per value, which costs more than most values."""


# The C encoder takes its arguments by position; the first, `None`, leaves out the search for cycles.
_pieces: Callable[[Json, bool], Iterable[str]] = (
    _MAKE_ENCODER(None, _ENCODER.default, encode_basestring, None, ":", ",", False, False, False)
    if _MAKE_ENCODER
    else _ENCODER.iterencode
)


_SORTING = json.JSONEncoder(sort_keys=True)


class JsonText(str):
    """JSON text in canonical form; made by :func:`canonical` or :func:`read_json`, never by hand."""

    __slots__ = ()


def canonical(value: Json) -> JsonText:
    """The canonical text of a JSON value.

    >>> canonical({"b": 1, "a": ["é", None]})
    '{"b":1,"a":["é",null]}'

    :raises ValueError: if the value holds NaN or an infinite number
    :raises TypeError: if the value is not JSON
    """
    try:
        # `False` is the level of indentation for the C encoder, and `_one_shot` for Python's.
        return JsonText("".join(_pieces(value, False)))
    except RecursionError:  # only the Python encoder reports a circular reference as such
        return JsonText(_ENCODER.encode(value))


def json_with_sorted_keys(value: Json) -> str:
    """A text in ASCII that is the same whatever the order of keys, for comparing values; never sent."""
    return _SORTING.encode(value)


NOTHING = canonical({})


quote: Callable[[str], str] = encode_basestring
"""A JSON string literal, as :func:`canonical` writes it."""


def encodable_text(text: str) -> str:
    """The text with every lone surrogate replaced, so that it can always be encoded."""
    return text if is_encodable(text) else _SURROGATE.sub("\ufffd", text)


def is_encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def nesting_depth(text: str, *, enough: int) -> int:
    """How deep the arrays and objects of a JSON text nest, counted up to ``enough``."""
    depth = deepest = 0
    for bracket in _NO_BRACKET.sub("", text):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
        if deepest >= enough:
            break
    return deepest


def is_nested_deeper(text: str, levels: int) -> bool:
    return text.count("[") + text.count("{") > levels and nesting_depth(text, enough=levels + 1) > levels


def parse(text: JsonText) -> Json:
    """The value of a canonical text, without the checks of :func:`read_json`."""
    value: Json
    value, end = _TRUSTING.raw_decode(text)
    if end != len(text):
        raise ValueError(f"not canonical JSON text: {text[end : end + _SAMPLE]!r} stands behind its value")
    return value


def read_json(
    text: str, *, max_depth: int = MAX_DEPTH, unique_keys: bool = False, with_halves: bool = False
) -> Result[Json, str]:
    """Parse text from outside; a failure is a message that says what is wrong.

    :param unique_keys: reject duplicate keys, of which otherwise the last wins
    :param with_halves: keep escaped lone surrogates, because the next text may begin with the other half
    """
    return _decode_json(text, _DECODERS[unique_keys], max_depth, with_halves=with_halves)


def value_or_failure(result: Result[_Value, _Error]) -> _Value | _Error:
    """The value or the failure at the end of a pipeline, ready for ``match``.

    ``returns.methods.unwrap_or_failure`` does the same, and imports thirty more modules.
    """
    return result.unwrap() if isinstance(result, Success) else result.failure()


def read_json_with_non_finite(text: str, *, max_depth: int = MAX_DEPTH) -> Result[Json, str]:
    """As :func:`read_json`, with NaN and infinite numbers, as some log probabilities are.

    :func:`without_non_finite_numbers` takes them out.
    """
    return _decode_json(text, _TOLERANT, max_depth)


def has_lone_surrogate(text: str) -> bool:
    """Whether JSON text holds a lone surrogate, raw or escaped, which :func:`read_json` replaces."""
    if not is_encodable(text):
        return True
    if not _SURROGATE_ESCAPE.search(text):
        return False
    return any(escape["lone"] for escape in _ESCAPE.finditer(text))


def without_non_finite_numbers(value: Json) -> Json:
    """The value with null for every number that JSON cannot write."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case str() | None | bool() | int():
            return value
        case Mapping():
            return {key: without_non_finite_numbers(item) for key, item in value.items()}
        case Sequence():
            return [without_non_finite_numbers(item) for item in value]
        case _:
            assert_never(value)


def canonical_without_non_finite(value: Json) -> JsonText:
    try:
        return canonical(value)
    except ValueError:
        return canonical(without_non_finite_numbers(value))


def _decode_json(
    text: str, decoder: json.JSONDecoder, max_depth: int, *, with_halves: bool = False
) -> Result[Json, str]:
    # Escaped surrogates are replaced only after decoding, which joins the pairs among them.
    text = encodable_text(text)
    if is_nested_deeper(text, max_depth):
        return Failure(f"nested deeper than {max_depth} levels")
    try:
        value: Json = decoder.decode(text)
    except json.JSONDecodeError as error:
        return Failure(json_error_reason(error))
    except ValueError as error:
        return Failure(str(error))
    escaped = not with_halves and _SURROGATE_ESCAPE.search(text)
    return Success(_without_surrogates(value) if escaped else value)


def json_error_reason(error: json.JSONDecodeError) -> str:
    """Why a text is not JSON, in the words of Python 3.11.

    The model reads it, so it is in requests, and a recording must replay under every Python. Python 3.13
    reports a trailing comma in words of its own, at the comma instead of at what follows it.
    """
    if error.msg.startswith("Illegal trailing comma"):
        behind = error.doc[error.pos + 1 :].lstrip(" \t\n\r")
        expected = "property name enclosed in double quotes" if error.msg.endswith("object") else "value"
        error = json.JSONDecodeError(f"Expecting {expected}", error.doc, len(error.doc) - len(behind))
    return f"{error.msg} at line {error.lineno}, column {error.colno}"


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not a JSON number")


def integer_of_digits(digits: str) -> int:
    """The integer of a string of digits; ``ValueError`` if there are more than Python converts by default."""
    count = len(digits) - (digits[:1] == "-")
    if count > _MAX_DIGITS:
        raise ValueError(f"an integer of {count} digits is too long")
    return int(digits)


def _finite_float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits} is too large for a number")
    return number


def _without_surrogates(value: Json) -> Json:
    match value:
        case str():
            return encodable_text(value)
        case Mapping():
            return {encodable_text(key): _without_surrogates(item) for key, item in value.items()}
        case Sequence():
            return [_without_surrogates(item) for item in value]
        case None | bool() | int() | float():
            return value
        case _:
            assert_never(value)


def _object_with_unique_keys(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} stands twice")
        found[key] = value
    return found


_DECODERS = {
    unique: json.JSONDecoder(
        object_pairs_hook=_object_with_unique_keys if unique else None,
        parse_constant=_refuse_constant,
        parse_float=_finite_float,
        parse_int=integer_of_digits,
    )
    for unique in (False, True)
}
_TOLERANT = json.JSONDecoder(parse_int=integer_of_digits)
_TRUSTING = json.JSONDecoder()


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def chained_digest(before: str, *parts: str) -> str:
    """The digest of a growing sequence, from the digest so far and the new parts."""
    for part in parts:
        before = digest(before + digest(part))
    return before


def chained_part_digest(before: str, part: str) -> str:
    """The digest of a growing sequence, from the digest so far and that of the new part."""
    return sha256((before + part).encode()).hexdigest()


def linked_digest(before: bytes, data: bytes) -> bytes:
    """The same chain as :func:`chained_digest`, with its digests as bytes."""
    return sha256((before.hex() + sha256(data).hexdigest()).encode()).digest()
