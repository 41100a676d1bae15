"""Envelopes: objects that name a tool and its arguments, in the shapes that models write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from toolreel_core._jsontext.canonical import Json
from toolreel_core._text_calls.decoder import Found, found, identity
from toolreel_core._text_calls.known_tools import Offered
from toolreel_core._text_calls.values.untyped_text import decoded

_NAMES: Final = ("name", "tool_name", "tool", "recipient_name")
_ARGUMENTS: Final = ("arguments", "parameters", "args", "input")
_IDS: Final = ("id", "tool_call_id", "call_id")
_WRAPPERS: Final = ("function", "function_call", "tool_call", "tool_calls", "tool_uses")


def arguments_of(raw: Json) -> Mapping[str, Json] | None:
    """Arguments as an object: missing ones are none, text is parsed once; ``None`` if they are no object."""
    if isinstance(raw, str):
        raw = decoded(raw) if raw.strip() else None
    if raw is None:
        return {}
    return raw if isinstance(raw, Mapping) else None


def marked_calls(tree: Json, offered: Offered, dialect: str) -> Iterator[Found | None]:
    """The calls of a value that stands behind an opener; ``None`` for each item that is none."""
    match tree:
        case Mapping():
            wrapped = wrapped_calls(tree)
            if wrapped is None:
                yield _marked(tree, offered, dialect)
            for item in wrapped or ():
                yield _marked(item, offered, dialect, outer=tree)
        case Sequence() if not isinstance(tree, str):
            for item in tree:
                yield from marked_calls(item, offered, dialect)
        case _:
            yield None


def bare_calls(tree: Json, offered: Offered, dialect: str) -> tuple[Found, ...] | None:
    """The calls of a value that stands alone: strict envelopes of tools that exist, or nothing at all."""
    calls: list[Found] = []
    for item in tree if isinstance(tree, Sequence) and not isinstance(tree, str) else (tree,):
        inner = wrapped_calls(item) if isinstance(item, Mapping) else None
        if inner is not None and isinstance(item, Mapping):
            if not item.keys() <= {*_WRAPPERS, *_IDS, "type", "index"}:
                return None
            nested = bare_calls(inner, offered, dialect)
            if nested is None:
                return None
            calls.extend(_identified(nested, item))
            continue
        call = _strict(item, offered, dialect) if isinstance(item, Mapping) else None
        if call is None:
            return None
        calls.append(call)
    return tuple(calls) or None


def _identified(calls: tuple[Found, ...], wrapper: Mapping[str, Json]) -> tuple[Found, ...]:
    """The calls of a wrapper: the id that stands beside a single one is its own."""
    if len(calls) != 1 or calls[0].id:
        return calls
    return (replace(calls[0], id=identity(_first(wrapper, _IDS))),)


def wrapped_calls(tree: Mapping[str, Json]) -> Sequence[Json] | None:
    """What an object wraps, as OpenAI's does in ``function``; ``None`` if it is no wrapper."""
    if _first(tree, _NAMES) is not None:
        return None
    for key in _WRAPPERS:
        match tree.get(key):
            case Mapping() as inner:
                return [inner]
            case str():
                continue
            case Sequence() as items:
                return items
            case _:
                continue
    return None


def _marked(
    tree: Json, offered: Offered, dialect: str, outer: Mapping[str, Json] | None = None
) -> Found | None:
    if not isinstance(tree, Mapping):
        return None
    if (inner := wrapped_calls(tree)) is not None and len(inner) == 1:
        return _marked(inner[0], offered, dialect, tree)
    raw_name = _first(tree, _NAMES)
    if not isinstance(raw_name, str):
        return None
    name = offered.named(raw_name)
    arguments = arguments_of(_arguments(tree, offered, name))
    if arguments is None:
        return None
    call_id = _first(tree, _IDS)
    return found(name, arguments, dialect, call_id if call_id is not None else _first(outer or {}, _IDS))


def _arguments(tree: Mapping[str, Json], offered: Offered, name: str) -> Json:
    """What stands under one of the usual keys, or else what lies flat beside the name."""
    if any(key in tree for key in _ARGUMENTS):
        return _first(tree, _ARGUMENTS)
    flat = {key: value for key, value in tree.items() if key not in {*_NAMES, *_IDS, "type"}}
    return flat if flat.keys() <= offered.parameters(name).keys() else False


def _strict(tree: Mapping[str, Json], offered: Offered, dialect: str) -> Found | None:
    names = [key for key in _NAMES if key in tree]
    places = [key for key in _ARGUMENTS if key in tree]
    if len(names) != 1 or len(places) != 1 or tree.get("type", "function") != "function":
        return None
    if not tree.keys() <= {*names, *places, *_IDS, "type"}:
        return None
    call = _marked(tree, offered, dialect)
    return call if call and call.name in offered.names else None


def _first(tree: Mapping[str, Json], keys: Sequence[str]) -> Json:
    return next((tree[key] for key in keys if tree.get(key) is not None), None)
