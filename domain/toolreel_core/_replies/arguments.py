"""Arguments of a tool call: any value from a provider in, a JSON object or a typed error out.

Text is parsed as JSON strictly first, then with repairs, each reported by a code. Truncated text is never
completed: nothing here closes a string or a bracket, because a completed ``{"path": "/etc"`` is a call that
the model never made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, assert_never

from returns.result import Success

from toolreel_core._jsontext import (
    REPAIRS,
    ArgumentRepairs,
    Flaw,
    Json,
    JsonText,
    SearchedText,
    Style,
    Value,
    canonical,
    encodable_text,
    end_of_blanks,
    has_lone_surrogate,
    json_type,
    json_with_sorted_keys,
    read_json,
    read_json_with_non_finite,
    value_at,
)
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._replies.warning_codes import WarningCode, WarningCodes

# The closing fence is as long as the opening one, so that a fence may quote a shorter one.
_FENCE = lazy_pattern(r"(?P<fence>`{3,}+|~{3,}+)[\w+-]*+\s?(?P<body>.*)(?P=fence)", re.DOTALL)
_OPEN_FENCE = lazy_pattern(r"\s*+(?:```|~~~)")
# `<|im_end|>`, `</s>`, `[/TOOL_CALLS]`. No blanks, quotes or braces within, so that it is no HTML and no
# JSON; the length is bounded, so that a long text of `<` is not searched again from each of them.
# The outer group is not possessive: see the numbers of `json_repair`.
_TOKENS = lazy_pattern(r"(?:\s*+(?:<[^<>\s\"'{}]{1,64}+>|\[/?[A-Z_]{2,32}+\]))+\s*+")
# Brackets inside strings do not count. Possessive: no backtracking.
_STRING = lazy_pattern(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


# Qwen3-Coder's own notation, which a server passed on (anomalyco/opencode#1585); no markup in the values.
_ELEMENT = lazy_pattern(r"\s*<parameter=(?P<key>[\w.-]{1,200})>(?P<text>[^<>]*)</parameter>")
# The server may have left the closing tags of the call behind the last element, too.
_END_OF_ELEMENTS = lazy_pattern(r"\s*(?:</function>)?\s*(?:</tool_call>)?\s*")


def arguments_in_parameter_elements(text: str) -> dict[str, Json] | None:
    """The arguments in a text of nothing but whole ``<parameter=…>`` elements, as texts; else ``None``."""
    given: dict[str, Json] = {}
    at = 0
    while element := _ELEMENT.match(text, at):
        if element["key"] in given:
            return None
        given[element["key"]] = element["text"].removeprefix("\n").removesuffix("\n")
        at = element.end()
    return given if given and _END_OF_ELEMENTS.fullmatch(text, at) else None


def without_fence(text: str) -> str:
    fenced = _FENCE.fullmatch(text.strip())
    return fenced["body"].strip() if fenced else text


def without_tokens_behind_fence(text: str) -> str:
    """The text without the control tokens after its closing code fence."""
    fence = max(text.rfind("```"), text.rfind("~~~")) + 3
    return text[:fence] if fence > 2 and _TOKENS.fullmatch(text, fence) else text


def is_truncated_json(text: str) -> bool:
    """Whether JSON text, or the code fence around it, is never closed; true for blank text."""
    # Brackets are counted instead of parsed, because the text may be wrong before the place where it stops.
    if _OPEN_FENCE.match(text) and without_fence(text) == text:
        return True
    outside = _STRING.sub("", text)
    opened, closed = sum(map(outside.count, "[{")), sum(map(outside.count, "]}"))
    return '"' in outside or opened > closed or not text.strip()


class JsonReading(NamedTuple):
    tree: Json
    codes: WarningCodes = ()
    """One code for each repair, in the order in which they were applied."""


class Unreadable(NamedTuple):
    why: str
    codes: WarningCodes = ()


def parse_json_with_repairs(
    text: str, *, max_depth: int, repairs: ArgumentRepairs
) -> JsonReading | Unreadable:
    found = _parse_strictly(text, max_depth)
    if isinstance(found, JsonReading) or found.codes or repairs == "strict":
        return found
    return _parse_by_repairs(text.strip(), max_depth, repairs, found)


def _parse_strictly(text: str, max_depth: int) -> JsonReading | Unreadable:
    """Parse a text without repairs; the last of repeated keys wins, and is reported."""
    # Nearly every text is parsed once. The second attempt tells a repeated key from text that is not JSON.
    unique = read_json(text, max_depth=max_depth, unique_keys=True)
    if isinstance(unique, Success):
        return JsonReading(unique.unwrap())
    repeated = read_json(text, max_depth=max_depth)
    if isinstance(repeated, Success):
        return JsonReading(repeated.unwrap(), ("ARGUMENTS_DUPLICATE_KEYS",))
    # NaN and infinite numbers have a code, and are never repaired.
    odd = isinstance(read_json_with_non_finite(text, max_depth=max_depth), Success)
    return Unreadable(repeated.failure(), ("NON_FINITE_NUMBER",) if odd else ())


_NOTHING = ("None", "undefined")
_Unwrapping: TypeAlias = "tuple[WarningCode, Callable[[str], str]]"

# The order matters: a byte-order mark hides a fence, and tokens after a fence hide its end. An empty fence
# and Python's None are what models write for a call without arguments.
_UNWRAPPINGS: tuple[_Unwrapping, ...] = (
    ("ARGUMENTS_REPAIRED", lambda text: text.strip("\ufeff")),
    ("ARGUMENTS_TRAILING_TEXT", without_tokens_behind_fence),
    ("ARGUMENTS_FENCED", lambda text: without_fence(text) or ("{}" if text else "")),
    ("ARGUMENTS_PYTHON_LITERAL", lambda text: "{}" if text in _NOTHING else text),
)
_IN_JSON = frozenset({"repeated_keys"})
"""Allowed by JSON itself, so it is not a repair; it has its own code."""


def _parse_by_repairs(
    text: str, max_depth: int, repairs: ArgumentRepairs, why: Unreadable
) -> JsonReading | Unreadable:
    """Remove what surrounds the JSON, step by step, until the text parses; then repair what remains."""
    codes: WarningCodes = ()
    if given := arguments_in_parameter_elements(text):
        return JsonReading(given, ("ARGUMENTS_REPAIRED",))
    for code, unwrap in _UNWRAPPINGS:
        changed = unwrap(text)
        if changed == text:
            continue
        text, codes = changed, (*codes, code)
        # After each step a strict parse comes first, so that a sound payload in a fence is not "repaired".
        found = _parse_strictly(text, max_depth)
        if isinstance(found, JsonReading):
            return JsonReading(found.tree, (*codes, *found.codes))
    values, count, rest, commented = _leading_json_values(
        encodable_text(text), Style(repairs=REPAIRS[repairs], max_depth=max_depth)
    )
    trailing = "" if _TOKENS.fullmatch(rest) else rest
    # Prose after the object is harmless when lenient, but another brace may be a second, broken object.
    left_over = "{" in trailing if repairs == "lenient" else trailing.strip()
    if not values or left_over or (rest and not isinstance(values[0].tree, Mapping)):
        return why
    if any("non_finite" in value.repairs for value in values):
        return why._replace(codes=("NON_FINITE_NUMBER",))
    # Gateways replay a call into the same stream (codex-lb#284). Objects that differ are two calls whose
    # boundary was lost, and choosing one would run a call that nobody asked for.
    if len({json_with_sorted_keys(value.tree) for value in values}) > 1:
        differ = f"{count} objects in a row that are not the same"
        return Unreadable(differ, ("ARGUMENTS_CONCATENATED",))
    done: Mapping[WarningCode, bool] = {
        "ARGUMENTS_REPAIRED": commented or any(value.repairs - _IN_JSON for value in values),
        "ARGUMENTS_CONCATENATED": count > 1,
        "ARGUMENTS_TRAILING_TEXT": bool(rest),
        "ARGUMENTS_DUPLICATE_KEYS": "repeated_keys" in values[0].repairs,
    }
    return JsonReading(values[0].tree, (*codes, *(code for code, was in done.items() if was)))


# Without a limit, a hostile text of objects that differ took 0.55 s (`benchmarks/hostile_replies.py`).
_MOST_OBJECTS = 1_000


def _leading_json_values(text: str, style: Style) -> tuple[Sequence[Value], int, str, bool]:
    """The objects or the other value at the start, their number, the rest, and if there are comments."""
    source = SearchedText(text)
    values: list[Value] = []
    end = count = 0
    at = end_of_blanks(source, end, style)
    commented = bool(text[end:at].strip())
    while not values or (
        text.startswith("{", at) and isinstance(values[0].tree, Mapping) and len(values) < _MOST_OBJECTS
    ):
        value = value_at(source, at, style)
        if isinstance(value, Flaw):
            break
        written = text[at : value.end]
        # A model that repeats an object does so thousands of times, until its tokens are used up. An
        # identical copy is compared as text instead of being parsed, which keeps this linear.
        values.append(value)
        again = True
        while again:
            count, end = count + 1, at + len(written)
            at = end if text.startswith("{", end) else end_of_blanks(source, end, style)
            commented = commented or bool(text[end:at].strip())
            again = written.startswith("{") and text.startswith(written, at)
    return values, count, text[at:], commented


ArgumentErrorCode: TypeAlias = Literal[
    "ARGUMENTS_INVALID_JSON", "ARGUMENTS_NOT_OBJECT", "ARGUMENTS_TRUNCATED"
]

ERROR_WORDS: Mapping[ArgumentErrorCode, str] = {
    "ARGUMENTS_INVALID_JSON": "The arguments are not JSON and could not be repaired; the call is not run.",
    "ARGUMENTS_NOT_OBJECT": "The arguments are JSON but no object; the call is not run.",
    "ARGUMENTS_TRUNCATED": "The arguments were cut at the token limit and are never completed; the call is "
    "not run.",
}

_EMPTY = canonical({})
_LEVELS = 2
"""How many layers of JSON inside a JSON string are decoded: servers encode once too often, or twice."""
_MARKUP = lazy_pattern(r"<[|\uff5c\u2016]|</?(?:arg_key|arg_value|parameter|function|tool_call|invoke)\b")
"""Call markup of a model inside a key (exo#2187), which means that the value cannot be trusted either."""
_WRAPPERS = frozenset({"arguments", "parameters", "args", "input"})


@dataclass(frozen=True, slots=True)
class ArgumentError:
    """Why arguments could not be read as an object."""

    code: ArgumentErrorCode
    detail: str = ""
    """What was found instead, or the parser's message."""


ArgumentsOrError: TypeAlias = JsonText | ArgumentError
"""Canonical text of an object, or the reason why the arguments are not one."""


class ArgumentsRead(NamedTuple):
    """Arguments of one call: the value that was read, the original text, and the repairs."""

    value: ArgumentsOrError
    original: str
    """The text that the model wrote; for arguments that came as an object, its canonical text."""
    warnings: WarningCodes = ()


_Parsed: TypeAlias = "tuple[ArgumentsOrError, WarningCodes]"


def read_arguments(raw: Json, *, max_depth: int, repairs: ArgumentRepairs = "safe") -> ArgumentsRead:
    """Read the ``arguments`` of a call, whatever their JSON type."""
    match raw:
        case str():
            value, codes = _arguments_of_text(raw, max_depth, repairs, _LEVELS)
            codes = (*codes, "LONE_SURROGATE") if has_lone_surrogate(raw) else codes
            # One object where both are equal: the states of a run keep it.
            original = value if isinstance(value, JsonText) and value == raw else raw
            return ArgumentsRead(value, original, tuple(dict.fromkeys(codes)))
        case None:
            missing = ArgumentError("ARGUMENTS_NOT_OBJECT", "nothing")
            return ArgumentsRead(missing if repairs == "strict" else _EMPTY, "")
        case bool() | int() | float() | Mapping() | Sequence():
            try:  # encoded first, so that the rules for text apply to it
                text = canonical(raw)
            except ValueError as error:  # a body parsed tolerantly may hold NaN
                invalid = ArgumentError("ARGUMENTS_INVALID_JSON", str(error))
                return ArgumentsRead(invalid, "", ("ARGUMENTS_NOT_STRING", "NON_FINITE_NUMBER"))
            if repairs == "strict":
                not_text = ArgumentError("ARGUMENTS_NOT_OBJECT", "a value that is no text")
                return ArgumentsRead(not_text, text, ("ARGUMENTS_NOT_STRING",))
            value, codes = _arguments_of_text(text, max_depth, repairs, 0)
            return ArgumentsRead(value, text, ("ARGUMENTS_NOT_STRING", *codes))
        case _:
            assert_never(raw)


def _arguments_of_text(text: str, max_depth: int, repairs: ArgumentRepairs, levels: int) -> _Parsed:
    """The arguments in a text: those of an object, or of a string that holds the JSON text of one."""
    if not text.strip() and repairs != "strict":
        return _EMPTY, ()
    found = parse_json_with_repairs(text, max_depth=max_depth, repairs=repairs)
    if isinstance(found, Unreadable):
        return ArgumentError("ARGUMENTS_INVALID_JSON", found.why), found.codes
    tree, codes = found.tree, found.codes
    if repairs == "strict":
        if codes:
            return ArgumentError("ARGUMENTS_INVALID_JSON", "a key stands twice"), codes
        if isinstance(tree, Mapping):
            return canonical(tree), ()
        return ArgumentError("ARGUMENTS_NOT_OBJECT", _json_kind_with_article(tree)), ()
    if isinstance(tree, Mapping):
        if any(map(_MARKUP.search, tree)):
            return ArgumentError("ARGUMENTS_INVALID_JSON", "a key holds markup of the model"), ()
        # A whole call, or ``{"arguments": {…}}``, is only reported here: a tool may have a parameter called
        # ``input``, and only its schema can tell.
        wrapped = envelope_in(tree) is not None
        return canonical(tree), (*codes, "ARGUMENTS_MAYBE_WRAPPED") if wrapped else codes
    if isinstance(tree, str) and levels:
        value, inner_codes = _arguments_of_text(tree, max_depth, repairs, levels - 1)
        broken: WarningCodes = ("LONE_SURROGATE",) if has_lone_surrogate(tree) else ()
        if isinstance(value, JsonText):
            return value, (*codes, "ARGUMENTS_DOUBLE_ENCODED", *inner_codes, *broken)
        codes = (*codes, *inner_codes, *broken)
    # Null and ``[]`` are what servers send for a call without arguments.
    if tree is None or tree == []:
        return _EMPTY, codes if tree is None else (*codes, "ARGUMENTS_EMPTY_LIST")
    return ArgumentError("ARGUMENTS_NOT_OBJECT", _json_kind_with_article(tree)), codes


def envelope_in(tree: Mapping[str, Json]) -> tuple[str, Mapping[str, Json]] | None:
    """The key of an envelope and the object in it; ``None`` if the object has other keys than a name, too."""
    keys = [key for key in tree if key in _WRAPPERS]
    if len(keys) != 1 or not tree.keys() <= {"name", *keys}:
        return None
    inner = tree[keys[0]]
    inner = read_json(inner, unique_keys=True).value_or("") if isinstance(inner, str) else inner
    return (keys[0], inner) if isinstance(inner, Mapping) else None


def _json_kind_with_article(tree: Json) -> str:
    kind = {"array": "list", "integer": "number"}.get(name := json_type(tree), name)
    return kind if kind == "null" else f"a {kind}"


# The lookbehinds keep a long fence from being tried again as a shorter one, from its second character on.
_CODE_BLOCK = lazy_pattern(
    r"(?P<fence>(?<!`)`{3,}+|(?<!~)~{3,}+)[\w+-]*+[ \t]*+\n(?P<body>.*?)\n[ \t]*+(?P=fence)", re.DOTALL
)
_BRACE = lazy_pattern(r"\{")
# What follows the brace of an object, as opposed to that of a template such as `{name}`.
_OBJECT = lazy_pattern(r"\{\s*+[\"'}]")
# Braces that are tried: an answer has few, and 200,000 of them took 0.9 s without a limit.
_ATTEMPTS = 64


@dataclass(frozen=True, slots=True)
class Answers:
    """The JSON values of a text, of which one may be the answer."""

    readings: tuple[JsonReading, ...]
    whole: bool
    """Whether the text is that one value, and nothing else."""
    why: str = ""


def json_answers_in_text(text: str, *, max_depth: int, repairs: ArgumentRepairs) -> Answers:
    """The JSON values of a text: one if it is JSON as a whole, else, unless ``strict``, those within it.

    :param repairs: with ``strict``, only a text that is JSON as a whole counts
    """
    # A draft in the reasoning is not the answer.
    said = text if repairs == "strict" else without_thoughts(text)
    found = parse_json_with_repairs(said, max_depth=max_depth, repairs=repairs)
    if isinstance(found, JsonReading):
        inner = found if repairs == "strict" else _decode_json_string(found, max_depth, repairs)
        return Answers((inner,), whole=True)
    if repairs == "strict":
        return Answers((), whole=False, why=found.why)
    blocks = (
        parse_json_with_repairs(block["body"], max_depth=max_depth, repairs=repairs)
        for block in _CODE_BLOCK.finditer(said)
    )
    fenced = [block for block in blocks if isinstance(block, JsonReading)]
    within = fenced or _objects_between_words(said, max_depth, repairs)
    readings = (JsonReading(reading.tree, ("OUTPUT_IN_TEXT", *reading.codes)) for reading in within)
    return Answers(tuple(readings), whole=False, why=found.why)


def without_thoughts(text: str) -> str:
    from toolreel_core._text_calls import has_think_tags, leading_reasoning  # noqa: PLC0415 - decoders load slowly

    return text if not has_think_tags(text) else text[leading_reasoning(text).end :]


def _decode_json_string(reading: JsonReading, max_depth: int, repairs: ArgumentRepairs) -> JsonReading:
    """The reading of JSON text inside a JSON string, if the string holds an object or a list."""
    inner, codes = reading, reading.codes
    decoded: WarningCodes = ("ARGUMENTS_DOUBLE_ENCODED",)
    for _ in range(_LEVELS):
        if not isinstance(inner.tree, str):
            break
        found = parse_json_with_repairs(inner.tree, max_depth=max_depth, repairs=repairs)
        if isinstance(found, Unreadable):
            return reading
        inner, codes = found, codes + decoded + found.codes
    return JsonReading(inner.tree, codes) if isinstance(inner.tree, Mapping | list) else reading


def _objects_between_words(text: str, max_depth: int, repairs: ArgumentRepairs) -> Iterator[JsonReading]:
    """The objects between words; none behind one that cannot be read, whose parts mean nothing alone."""
    source, style = SearchedText(text), Style(repairs=REPAIRS[repairs], max_depth=max_depth)
    at = 0
    for _ in range(_ATTEMPTS):
        brace = _BRACE.search(text, at)
        if brace is None:
            return
        value = value_at(source, brace.start(), style)
        if not isinstance(value, Value):
            if _OBJECT.match(text, brace.start()):
                return
            at = brace.end()
        elif "non_finite" in value.repairs:
            return
        else:
            yield JsonReading(value.tree, ("ARGUMENTS_REPAIRED",) if value.repairs else ())
            at = value.end
