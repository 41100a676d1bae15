"""Calls as elements, one for each parameter: ``<invoke name="f"><parameter name="k">v</parameter></invoke>``.

Many models write this in many spellings: ``<function=f>`` and ``<function name="f">``, ``<parameter=k>`` and
``<param name="k">``, any namespace, DeepSeek's token instead of one, Grok's ``<xai:function_call name="f">``.
A value is text, and the schema decides what it means, unless the element says so (``string="true"``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolreel_core._jsontext import Json
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._text_calls.decoder_interface import Broken, Calls, Reading, Source, found
from toolreel_core._text_calls.payloads import (
    Block,
    arguments,
    closers,
    confused,
    decoded,
    end_of_tree,
    holds_markup,
    mentions,
    rest,
    skip_blanks,
    surplus,
    typed,
    unwrapped,
    whole,
)

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


@dataclass(frozen=True, slots=True)
class Element:
    """An element that is a call, after its opening tag."""

    name: str
    void: bool
    """Whether the opening tag closes itself."""
    block: Block
    """The call's form with an element for each parameter."""
    body: Block
    """Its form with JSON instead."""
    wrapping: re.Pattern[str]
    """The closing tag of the enclosing element, which ends the call too."""


@dataclass(frozen=True, slots=True)
class _Argument:
    key: str
    value: Json
    end: int
    closed: bool = True
    """Whether its own closing tag ends it."""
    confused: bool = False
    """Whether it may have swallowed markup."""


def attribute(opening: re.Match[str]) -> str:
    """The name in an opening tag."""
    return next(opening[kind] for kind in ("double", "single", "plain") if opening[kind] is not None)


def element(source: Source, at: int, call: Element) -> Reading:
    """The call whose opening tag ends here."""
    if call.void:
        return _call_of_element(source, call, {}, at)
    at = skip_blanks(source.text, at)
    if source.text.startswith("{", at):
        return arguments(source, at, call.name, call.body)
    begin = at
    given: dict[str, Json] = {}
    repeated = lax = False
    while opening := _PARAMETER.match(source.text, at):
        argument = _read_parameter(source, opening, call, given)
        if argument is None:
            return Broken("truncated", len(source.text))
        repeated, lax = repeated or argument.key in given, lax or not argument.closed
        if argument.confused or (repeated and lax):
            return confused(source, begin, _CALL, call.block.closing)
        given[argument.key] = argument.value
        at = skip_blanks(source.text, argument.end)
    return _end_element(source, call, given, at)


def one_line_break_less(text: str) -> str:
    r"""A value without one line break at its start and one at its end.

    >>> one_line_break_less("\n  a\n\n")
    '  a\n'
    """
    text = text.removeprefix("\r").removeprefix("\n")
    return text.removesuffix("\n").removesuffix("\r")


def _end_element(source: Source, call: Element, given: Mapping[str, Json], at: int) -> Reading:
    """The call; without a closing tag only if nothing can be missing."""
    if call.block.closing.match(source.text, at):
        end = at
        while close := call.block.closing.match(source.text, at):  # it may be repeated
            end, at = close.end(), skip_blanks(source.text, close.end())
        return whole(source, _call_of_element(source, call, given, end), _TAGS)
    wrapped = call.wrapping.match(source.text, at)
    if wrapped and (
        given or (call.name in source.offered.names and source.offered.satisfied(call.name, given))
    ):
        return whole(source, _call_of_element(source, call, given, at), _TAGS)
    last = _REST.match(source.text, at)
    if (left := surplus(source, at, _TAGS_AND_WRAPPING if given else _TAGS)) >= 0:
        return Broken("malformed", left)
    if not given and not (source.cut and last):
        return None
    if (source.cut and last) or not source.offered.satisfied(call.name, given):
        return Broken("truncated", len(source.text) if last else at)
    return rest(source, at, _CALL) or _call_of_element(source, call, given, at)


def _call_of_element(source: Source, call: Element, given: Mapping[str, Json], end: int) -> Reading:
    opened = unwrapped(given, source.offered.parameters(call.name))
    read = found(call.name, opened, source.prefer(*call.block.dialects))
    return Calls((read,), end) if read else Broken("malformed", end)


def _read_parameter(
    source: Source, opening: re.Match[str], call: Element, given: Mapping[str, Json]
) -> _Argument | None:
    """One parameter; ``None`` if its value has no end.

    Models omit closing tags: a value also ends at the next parameter, if the tool has it and it was not given
    yet, or at the end of the call, unless more of the value may be missing.
    """
    key, begin = attribute(opening).strip(), opening.end()
    schema = source.offered.parameter(call.name, key)
    if opening["rest"].rstrip().endswith("/"):
        return _Argument(key, "", begin)
    data = _CDATA_BEGIN.match(source.text, begin)
    behind = source.find("]]>", data.end()) if data else end_of_tree(source, begin, schema)
    if behind < 0 and source.cut:
        return None
    close = source.search(_VALUE_END, max(begin, behind))
    following = source.search(_PARAMETER, max(begin, behind))
    if following and (close is None or following.start() < close.start()):
        other = attribute(following).strip()
        if other != key and other not in given and other in source.offered.parameters(call.name):
            return _unclosed_parameter(source, opening, following.start(), schema)
    if close:
        value = _parameter_value(source, opening, close.start(), schema)
        swallowed = following is not None and following.start() < close.start()
        odd = swallowed and not mentions(source.text[begin : following.start()]) if following else False
        return _Argument(key, value, close.end(), confused=odd and isinstance(value, str))
    close = None if source.cut else source.search(call.block.closing, max(begin, behind))
    if close is None:
        return None
    tag = source.text.rindex("<", close.start(), close.end())  # a fence before it may belong to the value
    return _unclosed_parameter(source, opening, tag, schema)


def _unclosed_parameter(source: Source, opening: re.Match[str], end: int, schema: Json) -> _Argument:
    """A parameter without a closing tag of its own."""
    value = _parameter_value(source, opening, end, schema)
    swallowed = isinstance(value, str) and holds_markup(source.text[opening.end() : end])
    return _Argument(attribute(opening).strip(), value, end, closed=False, confused=swallowed)


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


def _read_element(source: Source, opening: re.Match[str], spelled: Block, body: Block) -> Reading:
    name = source.offered.named(attribute(opening))
    void = opening["rest"].rstrip().endswith("/")
    gap = _BEFORE_JSON.match(source.text, opening.end())
    return element(source, gap.end() if gap else opening.end(), Element(name, void, spelled, body, _WRAPPING))
