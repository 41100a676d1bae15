"""What the formats share: JSON payloads, untyped text, and what shows that a call was cut within a value.

A payload holds envelopes that name a tool and its arguments, or the arguments of a named call. Untyped text
becomes the value that a parameter's schema asks for: a string parameter keeps its text, even if it looks like
a number, and text that does not match stays a string, so that validation can report what is wrong. A raw
value that holds the closing tag of its dialect seems to end there; the rest gives itself away, since its own
closing tag is then one too many.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from types import MappingProxyType
from typing import TypeAlias

from toolreel_core._jsontext import (
    BLANK,
    LITERALS,
    Flaw,
    Json,
    SearchedText,
    Style,
    Value,
    as_list,
    as_tree,
    end_of_blanks,
    end_of_match,
    json_type,
    list_at,
    schema_types,
    value_at,
)
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._text_calls.decoder_interface import (
    Offered,
    Reading,
    Rejection,
    Source,
    TextCall,
    rejected_reading,
    text_call_if_valid,
)

# `tool_name` is Cohere's, `input` Anthropic's, `recipient_name` from GPT's parallel calls (`tool_uses`).
_NAMES = ("name", "tool_name", "tool", "recipient_name")
_ARGUMENTS = ("arguments", "parameters", "args", "input")
_IDS = ("id", "tool_call_id", "call_id")
_WRAPPERS = ("function", "function_call", "tool_call", "tool_calls", "tool_uses")


def arguments_as_object(raw: Json) -> Mapping[str, Json] | None:
    """Arguments as an object (null is empty, text is parsed once); ``None`` if they are not one."""
    if isinstance(raw, str):
        raw = decode_json(raw) if raw.strip() else None
    if raw is None:
        return {}
    return raw if isinstance(raw, Mapping) else None


def marked_calls(
    tree: Json,
    offered: Offered,
    dialect: str,
    outer: Mapping[str, Json] = MappingProxyType({}),
    *,
    strict: bool = False,
) -> Iterator[TextCall | None]:
    """The calls of a value after an opener; ``None`` for each item that is not a call."""
    for item in as_list(tree):
        inner = wrapped_calls(item) if isinstance(item, Mapping) else None
        if not isinstance(item, Mapping) or (
            strict and not _is_strict_envelope(item, wraps=inner is not None)
        ):
            yield None
        elif inner is not None:
            # The id of a wrapper around several calls is the id of none.
            around = {} if len(inner) > 1 else item
            yield from marked_calls(inner, offered, dialect, around, strict=strict)
        else:
            yield _call_of_object(item, offered, dialect, outer)


def _is_strict_envelope(tree: Mapping[str, Json], *, wraps: bool) -> bool:
    # A foreign key shows that the object is an answer: a package.json has a name as well.
    if wraps:
        return tree.keys() <= {*_WRAPPERS, *_IDS, "type", "index"}
    places = [key for key in _ARGUMENTS if key in tree]
    names = [key for key in _NAMES if key in tree]
    own = tree.keys() - {*_IDS, "type"}
    return tree.get("type", "function") == "function" and len(places) == 1 and own == {*names[:1], *places}


def bare_calls(trees: Sequence[Json], offered: Offered, dialect: str) -> tuple[TextCall, ...]:
    """The calls of a whole message: none unless all are strict envelopes of known tools."""
    items = [item for tree in trees for item in as_list(tree)]
    calls: list[TextCall] = []
    for call in marked_calls(items, offered, dialect, strict=True):
        if call is None or call.name not in offered.names:
            return ()
        calls.append(call)
    return tuple(calls)


def wrapped_calls(tree: Mapping[str, Json]) -> Sequence[Json] | None:
    if _first_value(tree, _NAMES) is not None:
        return None
    inside = (tree.get(key) for key in _WRAPPERS)
    return next((as_list(inner) for inner in inside if isinstance(inner, Mapping | list)), None)


def _call_of_object(
    tree: Mapping[str, Json], offered: Offered, dialect: str, outer: Mapping[str, Json]
) -> TextCall | None:
    """The call of an envelope with its arguments under one of the usual keys, or next to the name."""
    raw_name = _first_value(tree, _NAMES)
    if not isinstance(raw_name, str):
        return None
    name = offered.resolve_name(raw_name)
    if any(key in tree for key in _ARGUMENTS):
        arguments = arguments_as_object(_first_value(tree, _ARGUMENTS))
    else:
        arguments = {key: value for key, value in tree.items() if key not in {*_NAMES, *_IDS, "type"}}
        if not arguments.keys() <= offered.parameters(name).keys():
            return None
    return text_call_if_valid(name, arguments, dialect, _first_value({**outer, **tree}, _IDS))


def _first_value(tree: Mapping[str, Json], keys: Sequence[str]) -> Json:
    return next((tree[key] for key in keys if tree.get(key) is not None), None)


def object_at(source: SearchedText, at: int) -> tuple[Mapping[str, Json], int] | None:
    value = value_at(source, at)
    return (value.tree, value.end) if isinstance(value, Value) and isinstance(value.tree, Mapping) else None


def single_call_reading(
    name: str, given: Mapping[str, Json] | None, dialect: str, end: int, call_id: Json = None
) -> Reading:
    call = text_call_if_valid(name, given, dialect, call_id)
    return Reading(end, (call,)) if call else rejected_reading("malformed", end)


def decode_json(raw: str) -> Json:
    """The value of a text that is said to be JSON; the text itself if it is not."""
    source = SearchedText(raw)
    value = value_at(source, 0)
    if isinstance(value, Value) and end_of_blanks(source, value.end) == len(raw):
        return value.tree
    return raw


Envelopes: TypeAlias = Callable[[Json, Offered, str], Iterator[TextCall | None]]

# Models put a code fence inside the tag, with or without `json`.
_FENCE = lazy_pattern(f"[{BLANK}]*(?:```\\w*)?[{BLANK}]*")
# Envelopes may follow each other with nothing, a comma or a semicolon (Llama) between them.
_AND = lazy_pattern(f"[{BLANK},;]*(?={{)")
# Closers too many: weak models lose count of them, above all Qwen2.5-Coder with its doubled braces.
_SURPLUS = lazy_pattern(f"(?:[{BLANK}]*[}}\\]])*")
_BLANKS = lazy_pattern(f"[{BLANK}]*")


@dataclass(frozen=True, slots=True)
class Block:
    dialects: tuple[str, ...]
    """The dialects that share the opener, the likeliest first."""
    opening: re.Pattern[str]
    closing: re.Pattern[str]
    envelopes: Envelopes = marked_calls


def closing_tag_pattern(*tags: str) -> re.Pattern[str]:
    """A pattern of closing tags, with the end of a code fence that was opened inside before them."""
    return lazy_pattern(f"(?:```[{BLANK}]*)?(?:{'|'.join(tags)})", re.IGNORECASE)


def enveloped_calls(block: Block, source: Source, _start: int, end: int) -> Reading | None:
    at = end_of_match(_FENCE, source.text, end)
    at += source.text.startswith("{{", at)  # Qwen2.5 copies the doubled braces of its chat template
    if not source.text.startswith(("{", "["), at):
        return None
    calls: list[TextCall] = []
    problems: list[Rejection] = []
    begin = at
    while True:
        value = value_at(source, at, Style(closing=block.closing))
        if isinstance(value, Flaw):
            last = failed_call(source, begin, value, block)
            return Reading(last.end, tuple(calls), (*problems, *last.rejected))
        read = list(block.envelopes(value.tree, source.offered, source.enabled_dialect(*block.dialects)))
        if calls and not any(read):
            break  # what follows a call and is none itself is text again
        calls.extend(call for call in read if call)
        problems.extend("malformed" for call in read if not call)
        begin = value.end
        following = _AND.match(source.text, begin)
        if not following:
            break
        at = following.end()
    if calls:
        return Reading(end_of_block(source, begin, block), tuple(calls), tuple(problems))
    # A list of plain values was not intended as a call.
    tried = any(isinstance(item, Mapping) for item in as_list(value.tree))
    return rejected_reading("malformed", end_of_broken_block(source, begin, begin, block)) if tried else None


def call_with_given_name(source: Source, at: int, name: str, block: Block, call_id: Json = None) -> Reading:
    at = end = end_of_match(_FENCE, source.text, at)
    given: Mapping[str, Json] | None = {}
    if not block.closing.match(source.text, at):
        value = value_at(source, at, Style(closing=block.closing))
        if isinstance(value, Flaw):
            return failed_call(source, at, value, block)
        given, end = arguments_as_object(value.tree), value.end
    call = text_call_if_valid(name, given, source.enabled_dialect(*block.dialects), call_id)
    if call is None:
        return rejected_reading("malformed", end_of_broken_block(source, at, end, block))
    return Reading(end_of_block(source, end, block), (call,))


def end_of_block(source: Source, at: int, block: Block) -> int:
    """The end of a block whose JSON ends here, after surplus closers and the closing tag."""
    at = end_of_match(_SURPLUS, source.text, at)
    close = block.closing.match(source.text, skip_blanks(source.text, at))
    return close.end() if close else at


def end_of_broken_block(source: Source, begin: int, at: int, block: Block) -> int:
    """The end of a block with an error at some place: its closing tag, or the next block."""
    early = source.search(block.closing, begin)
    # A string that is left open seems to hold the closer; the next block shows that it does not.
    if early and block.opening.match(source.text, skip_blanks(source.text, early.end())):
        return early.end()
    sibling = source.search(block.opening, at)
    return min(source.end_of_next_match(block.closing, at), sibling.start() if sibling else len(source.text))


def skip_blanks(text: str, at: int) -> int:
    return end_of_match(_BLANKS, text, at)


def failed_call(source: Source, begin: int, flaw: Flaw, block: Block) -> Reading:
    """The failed call: an unfinished one is truncated, unless the block is closed."""
    if not flaw.unfinished:
        return rejected_reading("malformed", end_of_broken_block(source, begin, flaw.at, block))
    if source.cut or not source.search(block.closing, begin):
        return rejected_reading("truncated", len(source.text))
    return rejected_reading("malformed", source.end_of_next_match(block.closing, begin))


_INTEGER = lazy_pattern(r"[-+]?\d{1,4300}")
"""An integer; Python reads at most 4,300 digits."""
_NUMBER = lazy_pattern(r"[-+]?(?:\d{1,4300}(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?")
"""A number, with bounded lengths: a longer one stays a text."""
# In any letter case, since no quotes tell text from words here.
_WORDS = {word.lower(): value for word, (value, repair) in LITERALS.items() if repair in {None, "words"}}
_TREES = frozenset({"null", "object", "array"})


def typed_value(raw: str, schema: Json) -> Json:
    """The value that a text stands for by the schema of its parameter; an unknown one holds a string."""
    if not isinstance(schema, Mapping):
        return raw
    types, text = _allowed_types(schema), raw.strip()
    value: Json = raw
    if text.lower() in _WORDS:
        value = _WORDS[text.lower()]
    elif _INTEGER.fullmatch(text):
        value = int(text)
    elif _NUMBER.fullmatch(text):
        value = float(text)
        value = raw if math.isinf(value) else value
    elif text.startswith(("{", "[")):
        value = decode_json(text)
    kind = json_type(value)
    fits = not types or kind in types or (kind == "integer" and "number" in types)
    return value if fits and kind != "string" else raw


def end_of_object_or_array(source: SearchedText, at: int, schema: Json) -> int:
    """The end of the object or array that begins here; its start if there is none, or it may be text."""
    # Inside its strings, the closing tag of a dialect is text.
    types = _allowed_types(schema) if isinstance(schema, Mapping) else None
    if not types or not types <= _TREES:
        return at
    begin = end_of_blanks(source, at)
    value = value_at(source, begin) if source.text.startswith(("{", "["), begin) else None
    return value.end if isinstance(value, Value) else at


def unwrapped_arguments(given: Mapping[str, Json], parameters: Mapping[str, Json]) -> Mapping[str, Json]:
    """The arguments, where a model has put all of them into one parameter that does not exist."""
    # DeepSeek does so with `arguments`; vLLM opens it, too (`_unwrap_wrapper_args`).
    for key in ("arguments", "input"):
        if set(given) == {key} and key not in parameters:
            inner = given[key]
            tree = decode_json(inner) if isinstance(inner, str) else inner
            return tree if isinstance(tree, Mapping) else given
    return given


def _allowed_types(schema: Mapping[str, Json]) -> frozenset[str]:
    names = {*schema_types(schema)}
    if names:
        return frozenset(names)
    for key in ("anyOf", "oneOf", "allOf"):
        names = names.union(*(_allowed_types(as_tree(option)) for option in list_at(schema, key)))
    fixed = [schema["const"]] if "const" in schema else []
    return frozenset(names.union(map(json_type, (*list_at(schema, "enum"), *fixed))))


def without_outer_line_breaks(text: str) -> str:
    # One on each side, as Qwen's template writes them; any other belongs to the value.
    text = text.removeprefix("\r").removeprefix("\n")
    return text.removesuffix("\n").removesuffix("\r")


@dataclass(frozen=True, slots=True)
class Tags:
    opening: re.Pattern[str]
    closing: re.Pattern[str]
    value: re.Pattern[str]
    """What opens inside a value if its closer was lost."""
    value_end: re.Pattern[str]
    parameter: re.Pattern[str]
    following: re.Pattern[str]
    left: re.Pattern[str]
    """What is left behind a call that was cut: tags of its inside and its end. ``opens`` is the next call."""


def name_in_tag(opening: re.Match[str]) -> str:
    groups = opening.groupdict()
    name = next(groups[kind] for kind in ("double", "single", "plain") if groups.get(kind) is not None)
    return unescape(name)


ParameterRead: TypeAlias = "tuple[str, Json, int, bool]"
"""A key, its value, their end, and whether the closing tag of the value is there."""


def end_of_value(
    source: Source, at: int, name: str, given: Mapping[str, Json], key: str, tags: Tags
) -> tuple[int, int] | None:
    """The end of a value, and of its closing tag if it has one; ``None`` if more of it may be missing.

    Models omit closing tags: a value also ends at the next parameter, if the tool has it and it was not given
    yet, or at the end of the call.
    """
    close = source.search(tags.value_end, at)
    following = source.search(tags.following, at)
    if following and (close is None or following.start() < close.start()):
        other = name_in_tag(following).strip()
        if other != key and other not in given and other in source.offered.parameters(name):
            return following.start(), following.start()
    if close:
        return close.start(), close.end()
    end = None if source.cut else source.search(tags.closing, at)
    if end is None:
        return None
    tag = source.text.rindex("<", end.start(), end.end())  # a fence before it may belong to the value
    return tag, tag


def may_hold_other_markup(text: str, tags: Tags, *, closed: bool, behind: int = 0) -> bool:
    """Whether a value may hold a part of the markup; one with both of its tags may mention tags.

    :param behind: the end of what in it is certain
    """
    if not closed:
        return has_angle_brackets(text)
    inner = tags.value.search(text, behind)
    # No prose names one of the tokens of Kimi K3.
    return inner is not None and (inner[0].endswith("|>") or not is_tag_only_mentioned(text[: inner.start()]))


def call_after_parameters(
    source: Source,
    at: int,
    name: str,
    given: Mapping[str, Json],
    dialect: str,
    *,
    closed: int,
    last: bool,
    tags: Tags,
) -> Reading:
    """The call whose parameters end here; without a closing tag (-1) only if nothing can be missing.

    :param closed: the end of its closing tag; -1 if it has none
    :param last: whether the text ends here, but for the rest of a tag
    """
    if closed < 0:
        if (source.cut and last) or not given or not source.offered.has_required_arguments(name, given):
            return rejected_reading("truncated", at)
        # Text that goes on behind the last value is the rest of it: it held its own closing tag.
        if not _ENDS.match(source.text, at):
            following = source.search(tags.opening, at)
            return rejected_reading("malformed", following.start() if following else len(source.text))
    end = max(at, closed)
    complete = unwrapped_arguments(given, source.offered.parameters(name))
    return rejected_if_tags_follow(source, single_call_reading(name, complete, dialect, end), tags.left)


_ANGLES = frozenset("<>")
_ENDS = lazy_pattern(
    r"\s*+(?:```\s*+)?(?:\Z|<[|\uff5c\u2016]|\[[\w/]|\][<~]"
    r"|</?(?:\w{1,40}[:_|])?(?:tool|function|invoke|calls?\b|dots_|response|answer|think|s>))",
    re.IGNORECASE,
)
"""The end of a text, or a tag or token that may stand behind a call: the next call, or a closer around it."""


def has_angle_brackets(text: str) -> bool:
    """Whether a text may hold part of a tag."""
    # A value or key that lacks one of its own tags is certain only without: the tag may be misspelt.
    return not _ANGLES.isdisjoint(text)


def is_tag_only_mentioned(before: str) -> bool:
    """Whether an opening tag after this part of a value is only mentioned there.

    Directly at the head of the value the tag is doubled, and behind other markup the value may be two.
    """
    return bool(before.replace("\\n", "\n").strip()) and not has_angle_brackets(before)


def end_of_leftover_tags(source: Source, at: int, tags: re.Pattern[str]) -> int:
    """The end of the last tag before the next call; -1 if there is none.

    :param tags: of the inside and the end of a call; its group ``opens`` matches the next call
    """
    last = -1
    for tag in tags.finditer(source.text, at):
        if tag["opens"] is not None:
            break
        if source.text[tag.start() - 1] != "`":  # prose that names the tag
            last = tag.end()
    return last


def rejected_if_tags_follow(source: Source, reading: Reading, tags: re.Pattern[str]) -> Reading:
    """A reading, unless tags of the call are left behind its end: then it was cut, and is malformed."""
    end = end_of_leftover_tags(source, reading.end, tags) if reading.calls else -1
    return reading if end < 0 else rejected_reading("malformed", end)


def reject_up_to_balancing_tag(source: Source, at: int, tags: Tags) -> Reading:
    """A call whose values hold markup, up to the closing tag that balances its opening tag."""
    # What stands inside may look like another call, so nothing in it is read; without a balance, nothing up
    # to the end of the text.
    depth = 1
    while depth:
        close = source.search(tags.closing, at)
        if close is None:
            return rejected_reading("malformed", len(source.text))
        opened = source.search(tags.opening, at)
        if opened and opened.start() < close.start():
            depth, at = depth + 1, opened.end()
        else:
            depth, at = depth - 1, close.end()
    return rejected_reading("malformed", at)
