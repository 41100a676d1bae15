"""Convert untyped text to the value that a parameter's schema asks for.

The schema decides: a string parameter keeps its text, even if it looks like a number. Text that does not
match the schema stays a string, so that validation can report what is wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

from toolreel_core._jsontext import WORDS, Json, SearchedText, Value, skip, value_at

_INTEGER: Final = re.compile(r"[-+]?\d{1,4300}")
"""An integer; Python reads at most 4,300 digits."""
_NUMBER: Final = re.compile(r"[-+]?(?:\d{1,4300}(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?")
"""A number, with bounded lengths: a longer one stays a text."""
# In any letter case, since no quotes tell text from words here. JavaScript's `undefined` stays text.
_WORDS: Final = {word.lower(): value for word, (value, repair) in WORDS.items() if repair in {None, "words"}}
_NAMES: Final = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
_TREES: Final = frozenset({"null", "object", "array"})
_ANY: Final = frozenset({"null", "integer", "number", "boolean", "object", "array"})


def typed(raw: str, schema: Json) -> Json:
    """The value that a text stands for.

    >>> typed("42", {"type": "string"}), typed("42", {"type": "integer"}), typed("42", None)
    ('42', 42, '42')
    >>> typed("True", {"type": "boolean"}), typed("null", {"type": ["boolean", "null"]})
    (True, None)

    :param schema: of the parameter; one that is not known holds a string
    """
    if not isinstance(schema, Mapping):
        return raw
    types = _types(schema) or _ANY
    text = raw.strip()
    if types == frozenset({"string"}):
        return raw
    word = _WORDS.get(text.lower(), raw)
    if "null" in types and word is None:
        return None
    if "integer" in types and _INTEGER.fullmatch(text):
        return int(text)
    if "number" in types and _NUMBER.fullmatch(text):
        number = int(text) if _INTEGER.fullmatch(text) else float(text)
        return raw if math.isinf(number) else number
    if "boolean" in types and isinstance(word, bool):
        return word
    return _tree(text, types, raw)


def decoded(raw: str) -> Json:
    """The value of a text that is said to be JSON; the text itself if it is not."""
    source = SearchedText(raw)
    value = value_at(source, 0)
    if isinstance(value, Value) and skip(source, value.end) == len(raw):
        return value.tree
    return raw


def end_of_tree(source: SearchedText, at: int, schema: Json) -> int:
    """The end of the object or array that begins here.

    The place itself if there is none, or if the schema takes text too. Inside its strings, the closing tag
    of a dialect is text.

    >>> end_of_tree(SearchedText('{"a": "</v>"}</v>'), 0, {"type": "object"})
    13
    """
    if not isinstance(schema, Mapping) or not _types(schema) or not _types(schema) <= _TREES:
        return at
    begin = skip(source, at)
    value = value_at(source, begin) if source.text.startswith(("{", "["), begin) else None
    return value.end if isinstance(value, Value) else at


def unwrapped(given: Mapping[str, Json], parameters: Mapping[str, Json]) -> Mapping[str, Json]:
    """The arguments, where a model has put all of them into one parameter that does not exist."""
    for key in ("arguments", "input"):
        if set(given) == {key} and key not in parameters:
            inner = given[key]
            tree = decoded(inner) if isinstance(inner, str) else inner
            return tree if isinstance(tree, Mapping) else given
    return given


def _tree(text: str, types: frozenset[str], raw: str) -> Json:
    if text[:1] not in {"{", "["}:
        return raw
    tree = decoded(text)
    match tree:
        case Mapping():
            return tree if "object" in types else raw
        case Sequence() if not isinstance(tree, str):
            return tree if "array" in types else raw
        case _:
            return raw


def _types(schema: Mapping[str, Json]) -> frozenset[str]:
    """The types that a schema allows, as far as it names them."""
    said = schema.get("type")
    if isinstance(said, str):
        return frozenset({said})
    names = [name for name in said if isinstance(name, str)] if isinstance(said, Sequence) else []
    for key in ("anyOf", "oneOf", "allOf"):
        options = schema.get(key)
        for option in options if isinstance(options, Sequence) and not isinstance(options, str) else ():
            names.extend(sorted(_types(option)) if isinstance(option, Mapping) else ())
    values = schema.get("enum")
    fixed = [schema["const"]] if "const" in schema else []
    for value in (*values, *fixed) if isinstance(values, Sequence) and not isinstance(values, str) else fixed:
        names.append(_NAMES.get(type(value), "object"))
    return frozenset(names)
