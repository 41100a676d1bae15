"""TOML text of a scenario, with comments above its keys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, assert_never

from toolreel_core._jsontext import Json, Tree

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
"""A key that TOML takes without quotes."""
_WIDTH: Final = 100
"""Characters of a list in one line."""


def scenario_text(tree: Tree, head: Sequence[str], notes: Mapping[str, Sequence[str]]) -> str:
    """The file of a scenario.

    :param head: comments at its beginning
    :param notes: comments by key, such as ``tool.refund``
    """
    return "\n".join((*_comments(head), *_lines(tree, notes))) + "\n"


def _lines(tree: Tree, notes: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for key, value in tree.items():
        if isinstance(value, str | int | float) or key == "user":
            yield from _comments(notes.get(key, ()))
            yield f"{key} = {_listed(value)}"
    for key, value in tree.items():
        if key in {"draw", "world", "script", "config"} and isinstance(value, Mapping):
            yield from ("", *_comments(notes.get(key, ())), f"[{key}]")
            yield from (f"{_key(name)} = {_listed(item)}" for name, item in value.items())
        elif key in {"tool", "check"} and isinstance(value, Sequence):
            for item in value:
                yield from _table(key, item, notes)


def _table(key: str, item: Json, notes: Mapping[str, Sequence[str]]) -> Iterator[str]:
    values = item if isinstance(item, Mapping) else {}
    label = values.get("name", next(iter(values.values()), ""))
    yield from ("", *_comments(notes.get(f"{key}.{label}", ())), f"[[{key}]]")
    yield from (f"{_key(name)} = {_listed(value)}" for name, value in values.items())


def _comments(texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        # A comment of TOML takes no control characters.
        yield f"# {' '.join(''.join(char if char.isprintable() else ' ' for char in text).split())}"


def _listed(value: Json) -> str:
    """A value; a long list has one item a line."""
    text = _value(value)
    if isinstance(value, str) or not isinstance(value, Sequence) or len(text) <= _WIDTH:
        return text
    items = "".join(f"  {_value(item)},\n" for item in value)
    return f"[\n{items}]"


def _value(value: Json) -> str:
    match value:
        case None:
            raise ValueError("TOML has no null")
        case bool():
            return "true" if value else "false"
        case str():
            # The escapes of JSON are those of TOML, which escapes DEL too.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case int() | float():
            return json.dumps(value)
        case Mapping():
            items = ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items())
            return f"{{ {items} }}" if items else "{}"
        case Sequence():
            return f"[{', '.join(_value(item) for item in value)}]"
        case _:
            assert_never(value)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)


def has_null(value: Json) -> bool:
    """Whether a value has a null in it, which TOML cannot say."""
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return value is None or any(map(has_null, inner))
