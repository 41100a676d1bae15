"""JSON in the text of a final answer: the whole text, the code blocks in it, or the objects between words.

What surrounds the JSON may be ignored, since a schema judges what is found. Truncated text is never
completed, and nothing is taken from the inside of JSON that could not be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from toolreel_core._jsontext import (
    REPAIRS,
    ArgumentRepairs,
    SearchedText,
    Style,
    Value,
    either,
    value_at,
)
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._replies.arguments import Reading, read_text
from toolreel_core._replies.warning_codes import WarningCode
from toolreel_core._text_calls import has_think_tags

_FENCED: Final = lazy_pattern(
    r"(?P<fence>(?<!`)`{3,}+|(?<!~)~{3,}+)[\w+-]*+[ \t]*+\n(?P<body>.*?)\n[ \t]*+(?P=fence)", re.DOTALL
)
"""A whole code block; its closer repeats the opening mark."""
_BRACE: Final = lazy_pattern(r"\{")
"""A place where an object may begin."""
# What follows the brace of an object, as opposed to that of a template such as `{name}`.
_OBJECT: Final = lazy_pattern(r"\{\s*+[\"'}]")
_ATTEMPTS: Final = 64
"""Maximum braces tried: the text comes from outside."""
_LEVELS: Final = 2
"""How many layers of JSON inside a JSON string are decoded."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The JSON values of a text, of which one may be the answer."""

    readings: tuple[Reading, ...]
    whole: bool
    """Whether the text is that one value, and nothing else."""
    why: str = ""
    """Why the text as a whole is not JSON."""


def answers_in(text: str, *, max_depth: int, repairs: ArgumentRepairs) -> Answers:
    """The JSON values of a text: one if the text is JSON as a whole, else those within it.

    >>> answers_in('Here you are: {"n": 1}', max_depth=64, repairs="safe").readings[0].tree
    {'n': 1}
    >>> answers_in('{"n": ', max_depth=64, repairs="safe").readings
    ()

    :param repairs: with ``strict``, only a text that is JSON as a whole counts
    """
    said = text if repairs == "strict" else without_thoughts(text)
    found = either(read_text(said, max_depth=max_depth, repairs=repairs))
    if isinstance(found, Reading):
        return Answers((_decode_json_string(found, max_depth, repairs),), whole=True)
    if repairs == "strict":
        return Answers((), whole=False, why=found.why)
    blocks = (
        either(read_text(block["body"], max_depth=max_depth, repairs=repairs))
        for block in _FENCED.finditer(said)
    )
    fenced = [block for block in blocks if isinstance(block, Reading)]
    within = fenced or _objects_between_words(said, max_depth, repairs)
    readings = (Reading(reading.tree, ("OUTPUT_IN_TEXT", *reading.codes)) for reading in within)
    return Answers(tuple(readings), whole=False, why=found.why)


def without_thoughts(text: str) -> str:
    """The text behind tagged reasoning.

    >>> without_thoughts("<think>2+2</think>Four.")
    'Four.'
    """
    if not has_think_tags(text):
        return text
    from toolreel_core._text_calls import thoughts  # noqa: PLC0415 - decoders load slowly

    return text[thoughts(text).end :]


def _decode_json_string(
    reading: Reading, max_depth: int, repairs: ArgumentRepairs, levels: int = _LEVELS
) -> Reading:
    """The reading of JSON text inside a JSON string, if the string holds an object or a list."""
    if repairs == "strict" or not levels or not isinstance(reading.tree, str):
        return reading
    inner = either(read_text(reading.tree, max_depth=max_depth, repairs=repairs))
    if not isinstance(inner, Reading) or not isinstance(inner.tree, str | Mapping | list):
        return reading
    inner = _decode_json_string(inner, max_depth, repairs, levels - 1)
    if isinstance(inner.tree, str):
        return reading
    codes: tuple[WarningCode, ...] = ("ARGUMENTS_DOUBLE_ENCODED",)
    return Reading(inner.tree, (*reading.codes, *codes, *inner.codes))


def _objects_between_words(text: str, max_depth: int, repairs: ArgumentRepairs) -> Iterator[Reading]:
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
            yield Reading(value.tree, ("ARGUMENTS_REPAIRED",) if value.repairs else ())
            at = value.end
