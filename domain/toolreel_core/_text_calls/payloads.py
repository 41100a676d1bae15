"""JSON payloads: envelopes that name a tool and its arguments, or the arguments of a named call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from toolreel_core._jsontext import (
    BLANK,
    Flaw,
    Json,
    SearchedText,
    Style,
    Value,
    end_of,
    skip,
    value_at,
)
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._text_calls.decoder_interface import (
    Broken,
    Calls,
    Offered,
    Reading,
    Rejection,
    Source,
    TextCall,
    found,
    identity,
)

_NAMES: Final = ("name", "tool_name", "tool", "recipient_name")
_ARGUMENTS: Final = ("arguments", "parameters", "args", "input")
_IDS: Final = ("id", "tool_call_id", "call_id")
_WRAPPERS: Final = ("function", "function_call", "tool_call", "tool_calls", "tool_uses")


def arguments_of(raw: Json) -> Mapping[str, Json] | None:
    """Arguments as an object (null is empty, text is parsed once); ``None`` if they are not one."""
    if isinstance(raw, str):
        raw = decoded(raw) if raw.strip() else None
    if raw is None:
        return {}
    return raw if isinstance(raw, Mapping) else None


def marked_calls(tree: Json, offered: Offered, dialect: str) -> Iterator[TextCall | None]:
    """The calls of a value after an opener; ``None`` for each item that is not a call."""
    match tree:
        case Mapping():
            wrapped = wrapped_calls(tree)
            if wrapped is None:
                yield _call_of_object(tree, offered, dialect)
            for item in wrapped or ():
                yield _call_of_object(item, offered, dialect, outer=tree)
        case Sequence() if not isinstance(tree, str):
            for item in tree:
                yield from marked_calls(item, offered, dialect)
        case _:
            yield None


def bare_calls(tree: Json, offered: Offered, dialect: str) -> tuple[TextCall, ...] | None:
    """The calls of a whole message: ``None`` unless all are strict envelopes of known tools."""
    calls: list[TextCall] = []
    for item in tree if isinstance(tree, Sequence) and not isinstance(tree, str) else (tree,):
        inner = wrapped_calls(item) if isinstance(item, Mapping) else None
        if inner is not None and isinstance(item, Mapping):
            if not item.keys() <= {*_WRAPPERS, *_IDS, "type", "index"}:
                return None
            nested = bare_calls(inner, offered, dialect)
            if nested is None:
                return None
            if len(nested) == 1 and not nested[0].id:  # the id of the wrapper is that of its only call
                nested = (replace(nested[0], id=identity(_first_value(item, _IDS))),)
            calls.extend(nested)
            continue
        if not isinstance(item, Mapping) or item.get("type", "function") != "function":
            return None
        names = [key for key in _NAMES if key in item]
        places = [key for key in _ARGUMENTS if key in item]
        if len(names) != 1 or len(places) != 1 or not item.keys() <= {*names, *places, *_IDS, "type"}:
            return None
        call = _call_of_object(item, offered, dialect)
        if call is None or call.name not in offered.names:
            return None
        calls.append(call)
    return tuple(calls) or None


def wrapped_calls(tree: Mapping[str, Json]) -> Sequence[Json] | None:
    """The content of a wrapper such as OpenAI's ``function``; ``None`` if the object is no wrapper."""
    if _first_value(tree, _NAMES) is not None:
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


def _call_of_object(
    tree: Json, offered: Offered, dialect: str, outer: Mapping[str, Json] | None = None
) -> TextCall | None:
    if not isinstance(tree, Mapping):
        return None
    if (inner := wrapped_calls(tree)) is not None and len(inner) == 1:
        return _call_of_object(inner[0], offered, dialect, tree)
    raw_name = _first_value(tree, _NAMES)
    if not isinstance(raw_name, str):
        return None
    name = offered.named(raw_name)
    arguments = arguments_of(_arguments_of_object(tree, offered, name))
    if arguments is None:
        return None
    call_id = _first_value(tree, _IDS)
    return found(
        name, arguments, dialect, call_id if call_id is not None else _first_value(outer or {}, _IDS)
    )


def _arguments_of_object(tree: Mapping[str, Json], offered: Offered, name: str) -> Json:
    """The arguments under one of the usual keys, or else the other keys next to the name."""
    if any(key in tree for key in _ARGUMENTS):
        return _first_value(tree, _ARGUMENTS)
    flat = {key: value for key, value in tree.items() if key not in {*_NAMES, *_IDS, "type"}}
    return flat if flat.keys() <= offered.parameters(name).keys() else False


def _first_value(tree: Mapping[str, Json], keys: Sequence[str]) -> Json:
    return next((tree[key] for key in keys if tree.get(key) is not None), None)


def decoded(raw: str) -> Json:
    """The value of a text that is said to be JSON; the text itself if it is not."""
    source = SearchedText(raw)
    value = value_at(source, 0)
    if isinstance(value, Value) and skip(source, value.end) == len(raw):
        return value.tree
    return raw


Envelopes: TypeAlias = Callable[[Json, Offered, str], Iterator[TextCall | None]]

# Models put a code fence inside the tag, with or without `json`.
_FENCE: Final = lazy_pattern(f"[{BLANK}]*(?:```\\w*)?[{BLANK}]*")
# Envelopes may follow each other with nothing, a comma or a semicolon (Llama) between them.
_AND: Final = lazy_pattern(f"[{BLANK},;]*(?={{)")
# Closers too many: weak models lose count of them, above all Qwen2.5-Coder with its doubled braces.
_SURPLUS: Final = lazy_pattern(f"(?:[{BLANK}]*[}}\\]])*")
_BLANKS: Final = lazy_pattern(f"[{BLANK}]*")
"""Any white space, of any width."""


@dataclass(frozen=True, slots=True)
class Block:
    """How the JSON of a dialect is enclosed."""

    dialects: tuple[str, ...]
    """The dialects that share the opener, the likeliest first."""
    opening: re.Pattern[str]
    """The opener of a block."""
    closing: re.Pattern[str]
    """The closing tag, which may be missing."""
    envelopes: Envelopes = marked_calls


def closers(*tags: str) -> re.Pattern[str]:
    """A pattern of closing tags, with the end of a code fence that was opened inside before them."""
    return lazy_pattern(f"(?:```[{BLANK}]*)?(?:{'|'.join(tags)})", re.IGNORECASE)


def enveloped(block: Block, source: Source, _start: int, end: int) -> Reading:
    """The calls of the envelopes after an opener, in a row or in a list."""
    at = end_of(_FENCE, source.text, end)
    at += source.text.startswith("{{", at)  # Qwen2.5 copies the doubled braces of its chat template
    if not source.text.startswith(("{", "["), at):
        return Broken("truncated", at) if source.cut and at == len(source.text) else None
    calls: list[TextCall] = []
    broken: list[Rejection] = []
    begin = at
    while True:
        value = value_at(source, at, Style(closing=block.closing))
        if isinstance(value, Flaw):
            last = failed_call(source, begin, value, block)
            return Calls(tuple(calls), last.end, (*broken, last.why)) if calls else last
        read = list(block.envelopes(value.tree, source.offered, source.prefer(*block.dialects)))
        if calls and not any(read):
            break  # what follows a call and is none itself is text again
        calls.extend(call for call in read if call)
        broken.extend("malformed" for call in read if not call)
        at = begin = value.end
        following = _AND.match(source.text, at)
        if not following:
            break
        at = following.end()
    if calls:
        return Calls(tuple(calls), tail(source, begin, block), tuple(broken))
    # A list of plain values was not intended as a call.
    tree = value.tree
    items = tree if isinstance(tree, Sequence) and not isinstance(tree, str) else [tree]
    tried = any(isinstance(item, Mapping) for item in items)
    return Broken("malformed", debris(source, begin, begin, block)) if tried else None


def arguments(source: Source, at: int, name: str, block: Block, call_id: str = "") -> Reading:
    """The call of a named tool, whose arguments begin here."""
    at = end_of(_FENCE, source.text, at)
    dialect = source.prefer(*block.dialects)
    if block.closing.match(source.text, at):
        call = found(name, {}, dialect, call_id)
        return Calls((call,), tail(source, at, block)) if call else None
    value = value_at(source, at, Style(closing=block.closing))
    if isinstance(value, Flaw):
        return failed_call(source, at, value, block)
    given = arguments_of(value.tree)
    call = None if given is None else found(name, given, dialect, call_id)
    if call is None:
        return Broken("malformed", debris(source, at, value.end, block))
    return Calls((call,), tail(source, value.end, block))


def tail(source: Source, at: int, block: Block) -> int:
    """The end of a block whose JSON ends here, after surplus closers and the closing tag."""
    at = end_of(_SURPLUS, source.text, at)
    close = block.closing.match(source.text, skip_blanks(source.text, at))
    return close.end() if close else at


def debris(source: Source, begin: int, at: int, block: Block) -> int:
    """The end of a block with an error at some place: its closing tag, or the next block."""
    early = source.search(block.closing, begin)
    if (
        early
        and early.start() < at
        and block.opening.match(source.text, skip_blanks(source.text, early.end()))
    ):
        return early.end()
    close = source.search(block.closing, at)
    sibling = source.search(block.opening, at)
    if close and (not sibling or close.start() < sibling.start()):
        return close.end()
    return sibling.start() if sibling else len(source.text)


def skip_blanks(text: str, at: int) -> int:
    """The end of the white space that begins here."""
    return end_of(_BLANKS, text, at)


def failed_call(source: Source, begin: int, flaw: Flaw, block: Block) -> Broken:
    """The failed call: an unfinished one is truncated, unless the block is closed."""
    if not flaw.unfinished:
        return Broken("malformed", debris(source, begin, flaw.at, block))
    close = None if source.cut else source.search(block.closing, begin)
    return Broken("malformed", close.end()) if close else Broken("truncated", len(source.text))
