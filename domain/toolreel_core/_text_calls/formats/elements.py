"""Calls as elements, one for each parameter: ``<invoke name="f"><parameter name="k">v</parameter></invoke>``.

Many models write this in many spellings: ``<function=f>`` and ``<function name="f">``, ``<parameter=k>`` and
``<param name="k">``, any namespace, DeepSeek's token instead of one, Grok's ``<xai:function_call name="f">``.
A value is text, and the schema decides what it means, unless the element says so (``string="true"``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from toolreel_core._jsontext import Json, end_of
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._text_calls.decoder_interface import Broken, Calls, Reading, Source, found
from toolreel_core._text_calls.parameters import (
    Pair,
    Tags,
    confused,
    end_call,
    end_of_tree,
    end_of_value,
    may_have_swallowed,
    one_line_break_less,
    read_pairs,
    surplus,
    typed,
)
from toolreel_core._text_calls.payloads import Block, arguments, closers, decoded, skip_blanks

BAR: Final = "[|｜‖]{1,2}"
"""The fullwidth bar, or an ASCII or double bar in its place, possibly twice (lsdefine/GenericAgent#804)."""

DSML: Final = rf"{BAR}(?:DSML|GCML){BAR}[ ]?"
"""The token before the names of DeepSeek's tags."""

BARS: Final = frozenset("|｜‖")
"""The characters that a token may have for a bar."""


NAMESPACE: Final = rf"(?:\w{{1,40}}:|{DSML})?"
"""Optional prefix of a tag's name."""

_OTHER: Final = r"""(?!name\b|tool\b)\w{1,40}[ ]*=[ ]*(?:"[^"<>\n]{0,200}"|'[^'<>\n]{0,200}')"""
ATTRIBUTE: Final = (
    rf"""(?:[ ]*=[ ]*|(?P<lead>(?:[\sĠĊ]+{_OTHER}){{0,4}})[\sĠĊ]+(?:name|tool)[ ]*=[ ]*)"""
    r"""(?:"(?P<double>[^"<>\n]{0,200})"|'(?P<single>[^'<>\n]{0,200})'|(?P<plain>[^\s"'<>/{\[,]{1,200}))"""
    r"""(?P<rest>[^<>\n{]{0,200}?)"""
)
"""The name in an opening tag, quoted or not, and the rest of the tag."""

_PARAMETER: Final = lazy_pattern(rf"<{NAMESPACE}param(?:eter)?{ATTRIBUTE}>", re.IGNORECASE)
"""The opening tag of a parameter."""
_VALUE_END: Final = lazy_pattern(rf"</{NAMESPACE}param(?:eter)?\b[^<>\n]{{0,80}}>", re.IGNORECASE)
"""Its closing tag; some models repeat the name in it."""
_STRING: Final = lazy_pattern(r"""string[ ]*=[ ]*["']?(true|false)""", re.IGNORECASE)
"""The attribute by which DeepSeek says whether a value is text."""
_PARAM: Final = lazy_pattern(r"<param(?!eter)")
"""The short spelling of the tag, which is MiniCPM's."""
_CDATA_BEGIN: Final = lazy_pattern(r"\s*<!\[CDATA\[")
"""The start of a CDATA section around a value."""
_CDATA: Final = lazy_pattern(r"\s*<!\[CDATA\[(.*)\]\]>\s*", re.DOTALL)
"""A value that is one CDATA section."""
_LEAK: Final = lazy_pattern(">[ĠĊ]|[ĠĊ]<|<(?:function|param)[ĠĊ]")
"""A leaked sign next to a tag; elsewhere it may belong to a text."""
_LEAKED: Final = str.maketrans("ĠĊ", " \n")
"""Blanks and line breaks as MiniCPM's tokenizer leaks them."""
_REST: Final = lazy_pattern(r"(?:<[^<>]*)?\Z")
"""The rest of a text that was cut in a tag."""


def attribute(opening: re.Match[str]) -> str:
    """The name in an opening tag."""
    return next(opening[kind] for kind in ("double", "single", "plain") if opening[kind] is not None)


def _read_element(source: Source, opening: re.Match[str], spelled: Block, body: Block) -> Reading:
    """The call after an opening tag.

    :param spelled: its form with an element for each parameter
    :param body: its form with JSON instead
    """
    name, at = source.offered.named(attribute(opening)), opening.end()
    dialect = source.prefer(*spelled.dialects)
    if opening["rest"].rstrip().endswith("/"):  # the tag closes itself
        call = found(name, {}, dialect)
        return Calls((call,), at) if call else Broken("malformed", at)
    at = end_of(_BEFORE_JSON, source.text, at)
    at = skip_blanks(source.text, at)
    if source.text.startswith("{", at):
        return arguments(source, at, name, body)
    tags = Tags(_CALL, spelled.closing, _PARAMETER, _VALUE_END, _PARAMETER, attribute, _TAGS)
    read = read_pairs(source, at, tags, lambda at, given: _read_parameter(source, at, name, given, tags))
    if isinstance(read, Broken):
        return read
    given, at = read
    closed, end = -1, at
    while close := spelled.closing.match(source.text, end):  # it may be repeated
        closed, end = close.end(), skip_blanks(source.text, close.end())
    known = name in source.offered.names and source.offered.satisfied(name, given)
    if closed < 0 and _WRAPPING.match(source.text, at) and (given or known):
        closed = at
    last = _REST.match(source.text, at) is not None
    if closed < 0:
        if (left := surplus(source, at, _TAGS_AND_WRAPPING if given else _TAGS)) >= 0:
            return Broken("malformed", left)
        if not given and not (source.cut and last):
            return None
    return end_call(source, at, name, given, dialect, closed=closed, last=last, tags=tags)


def _read_parameter(
    source: Source, at: int, name: str, given: Mapping[str, Json], tags: Tags
) -> Pair | Broken | None:
    """The parameter that begins here, if one does."""
    opening = _PARAMETER.match(source.text, at)
    if opening is None:
        return None
    key, begin = attribute(opening).strip(), opening.end()
    schema = source.offered.parameter(name, key)
    if opening["rest"].rstrip().endswith("/"):
        return key, "", skip_blanks(source.text, begin), True
    data = _CDATA_BEGIN.match(source.text, begin)
    behind = source.find("]]>", data.end()) if data else end_of_tree(source, begin, schema)
    end = (
        None
        if behind < 0 and source.cut
        else end_of_value(source, max(begin, behind), name, given, key, tags)
    )
    if end is None:
        return Broken("truncated", len(source.text))
    value = _parameter_value(source, opening, end[0], schema)
    text, closed = source.text[begin : end[0]], end[0] < end[1]
    if isinstance(value, str) and may_have_swallowed(text, tags, closed=closed, behind=behind - begin):
        return confused(source, at, tags)
    return key, value, skip_blanks(source.text, end[1]), closed


def _parameter_value(source: Source, opening: re.Match[str], end: int, schema: Json) -> Json:
    text = source.text[opening.end() : end]
    if said := _STRING.search(f"{opening['lead'] or ''} {opening['rest']}"):
        return text if said[1].lower() == "true" else decoded(text)
    if data := _CDATA.fullmatch(text):
        return typed(data[1], schema)
    if _PARAM.match(opening[0]) and source.search(_LEAK, 0):
        text = text.translate(_LEAKED)
    verbatim = opening[0][1] in BARS
    return typed(text if verbatim else one_line_break_less(text), schema)


FUNCTION: Final = lazy_pattern(rf"<{NAMESPACE}function{ATTRIBUTE}(?:>|(?=[\s,>]*{{))", re.IGNORECASE)
"""The opener; models without constrained decoding omit its ``>``."""
INVOKE: Final = lazy_pattern(rf"<{NAMESPACE}invoke{ATTRIBUTE}>", re.IGNORECASE)
"""The opener of a call with the name in an attribute."""
_XAI: Final = lazy_pattern(rf"<xai:function_call{ATTRIBUTE}>", re.IGNORECASE)
"""Grok's opener."""

_WRAPPING: Final = lazy_pattern(
    rf"</{NAMESPACE}(?:\w{{1,20}}_)?(?:function_calls?|tool_?calls?|calls|tool|tool_use)\b[^<>\n]{{0,80}}>"
    rf"|<{BAR}tool[▁_ ]call[▁_ ]end{BAR}>",
    re.IGNORECASE,
)
"""The closing tag of the element around the calls, in its many spellings."""
_CALL: Final = lazy_pattern(
    rf"<{NAMESPACE}(?:function|invoke|function_call)(?:\s*=|[\sĠĊ]+\w{{1,40}}[ ]*=)", re.IGNORECASE
)
"""The start of a call, in any of the spellings."""
_TAGS: Final = lazy_pattern(
    rf"(?P<opens>{_CALL.pattern})|<{NAMESPACE}param(?:eter)?\b[^<>\n]{{0,200}}>"
    rf"|</{NAMESPACE}(?:param(?:eter)?|function|invoke|function_call)\b[^<>\n]{{0,80}}>",
    re.IGNORECASE,
)
"""What is left behind a call that was cut: tags of its inside and its end, up to the next call."""
_TAGS_AND_WRAPPING: Final = lazy_pattern(f"{_TAGS.pattern}|{_WRAPPING.pattern}", re.IGNORECASE)
"""The same for a call without a closing tag, which may end with the element around it, but not before it."""
_BEFORE_JSON: Final = lazy_pattern(r"[\s,>]*(?={)")
"""What models without constrained decoding write between the name and a JSON object."""
_FUNCTION_END: Final = closers(rf"</{NAMESPACE}function\b[^<>\n]{{0,80}}>")
_INVOKE_END: Final = closers(rf"</{NAMESPACE}invoke\b[^<>\n]{{0,80}}>")
_XAI_END: Final = closers(r"</(?:xai:)?function_?(?:call)?\b[^<>\n]{0,20}>")

_AS_XML: Final = Block(("qwen_xml", "seed_xml", "minicpm5_xml", "function_tag_json"), FUNCTION, _FUNCTION_END)
_AS_PARAM: Final = Block(("minicpm5_xml", "qwen_xml", "seed_xml"), FUNCTION, _FUNCTION_END)
_AS_JSON: Final = Block(("function_tag_json", "qwen_xml", "minicpm5_xml"), FUNCTION, _FUNCTION_END)
_GROK: Final = Block(("xai_function_call",), _XAI, _XAI_END)


def function(source: Source, start: int, _end: int) -> Reading:
    """``<function=f>`` as Qwen3-Coder, Seed and MiniCPM write it, or with JSON in it, as Llama does."""
    opening = FUNCTION.match(source.text, start)
    if opening is None:
        return None
    spelled = _AS_PARAM if re.search(r"\sname", opening[0]) else _AS_XML
    return _read_element(source, opening, spelled, _AS_JSON)


def invoke(source: Source, start: int, _end: int) -> Reading:
    """``<invoke name="f">``; its namespace, if any, tells the dialect."""
    opening = INVOKE.match(source.text, start)
    if opening is None:
        return None
    dialects: tuple[str, ...] = ("invoke_xml", "minimax_xml")
    if opening[0][1] in BARS:
        dialects = ("dsml",)
    elif opening[0].lower().startswith("<steptml:"):
        dialects = ("steptml",)
    block = Block(dialects, INVOKE, _INVOKE_END)
    return _read_element(source, opening, block, block)


def xai(source: Source, start: int, _end: int) -> Reading:
    """Grok's ``<xai:function_call name="f">``, whose closing tag is often misspelled."""
    opening = _XAI.match(source.text, start)
    return _read_element(source, opening, _GROK, _GROK) if opening else None
