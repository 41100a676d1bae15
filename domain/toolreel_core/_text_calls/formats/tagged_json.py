"""JSON inside tags, tokens or brackets, with the odd forms that some models give it.

LM Studio asks for ``[TOOL_CALL]…[/TOOL_CALL]``, around an envelope or a map of arrows with the arguments as
options of a shell: ``[TOOL_CALL]{tool => "read_file", args => {--path "notes.md"}}[/TOOL_CALL]``. Nobody
specified the latter, so only quoted values without a backslash, and plain numbers and words, are certain:
whether a backslash escapes is not. Other models name the tool in an attribute of the tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from toolreel_core._jsontext import Flaw, Json, as_list, as_tree, end_of, parse
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._text_calls.decoder_interface import (
    Offered,
    Reading,
    Source,
    TextCall,
    broken,
    text_call,
)
from toolreel_core._text_calls.formats.elements import BAR
from toolreel_core._text_calls.payloads import (
    Block,
    arguments_of,
    closing_tags,
    decode_json,
    enveloped_calls,
    failed_call,
    named_call,
    one_call,
    skip_blanks,
    unless_tags_left,
)

_MAP: Final = lazy_pattern(r"\{\s*tool\s*=>")
_HEAD: Final = lazy_pattern(r'\{\s*tool\s*=>\s*"(?P<name>[\w.:-]{1,200})"\s*,\s*args\s*=>\s*\{')
_OPTION: Final = lazy_pattern(
    r'\s*--(?P<key>[\w-]{1,200})\s+(?:"(?P<text>[^"\\]*)"|(?P<plain>-?\d{1,40}(?:\.\d{1,40})?|true|false|null))'
    r"(?=[\s},]),?"
)
"""One argument, as an option of a command line: a simple text, a number or a word."""
_MAP_END: Final = lazy_pattern(r"\s*\}\s*\}\s*\[/TOOL_CALL\]", re.IGNORECASE)


def bracket_call(block: Block, source: Source, _start: int, end: int) -> Reading | None:
    begin = skip_blanks(source.text, end)
    if not _MAP.match(source.text, begin):
        return enveloped_calls(block, source, begin, begin)
    flaw = Flaw(begin, unfinished=source.cut and source.search(block.closing, begin) is None)
    head = _HEAD.match(source.text, begin)
    if head is None:
        return failed_call(source, begin, flaw, block)
    name, at = source.offered.resolve_name(head["name"]), head.end()
    given: dict[str, Json] = {}
    while option := _OPTION.match(source.text, at):
        key = option["key"]
        if key in given or key not in source.offered.parameters(name):
            break
        given[key] = option["text"] if option["text"] is not None else decode_json(option["plain"])
        at = option.end()
    closing = _MAP_END.match(source.text, at)
    if closing is None:
        return failed_call(source, begin, flaw, block)
    return one_call(name, given, block.dialects[0], closing.end())


_QUOTED: Final = r"""(?:"[^"<>\n]{0,200}"|'[^'<>\n]{0,200}')"""
NAMED_TAG: Final = rf"<tool(?:_call)?(?:\s+(?:name|id)\s*=\s*{_QUOTED}){{1,2}}\s*>(?=\s*{{)"

_TAG: Final = lazy_pattern(r"<(\w+)")
_ATTRIBUTE: Final = lazy_pattern(rf"(?<!\w)(?P<key>\w++)\s*+=\s*+(?P<value>{_QUOTED})")
_NAMED: Final = {
    tag: Block(
        ("invoke_xml", "hermes_json"),
        lazy_pattern(rf"<{tag}\b", re.IGNORECASE),
        closing_tags(rf"</{tag}\s*>"),
    )
    for tag in ("tool", "tool_call")
}
_LEFT: Final = {
    tag: lazy_pattern(rf"(?P<opens><{tag}\b)|</{tag}\s*>", re.IGNORECASE) for tag in ("tool", "tool_call")
}
_CLOSED: Final = lazy_pattern(r"</tool(?:_call)?\s*>\Z", re.IGNORECASE)


def named_tag(source: Source, start: int, end: int) -> Reading | None:
    """The call of an offered tool that an attribute names; one of another tool is no call."""
    opening = source.text[start:end]
    given = [(found["key"].lower(), found["value"][1:-1]) for found in _ATTRIBUTE.finditer(opening)]
    attributes = dict(given)
    name = source.offered.resolve_name(attributes.get("name", ""))
    if name not in source.offered.names or len(attributes) < len(given):
        return None
    tag = _TAG.findall(opening)[0].lower()
    begin = skip_blanks(source.text, end)
    reading = named_call(source, begin, name, _NAMED[tag], attributes.get("id", ""))
    if reading.calls and not _CLOSED.search(source.text[begin : reading.end][-80:]):
        return broken("truncated" if source.cut else "malformed", reading.end)
    return unless_tags_left(source, reading, _LEFT[tag])


def calls_by_tool_name_key(tree: Json, offered: Offered, dialect: str) -> Iterator[TextCall | None]:
    for item in as_list(tree):
        for name, raw in item.items() if isinstance(item, Mapping) else ():
            yield text_call(offered.resolve_name(name), arguments_of(raw), dialect)


CALL_BEGIN: Final = rf"<{BAR}tool[▁_ ]call[▁_ ]begin{BAR}>"
"""DeepSeek's opener, also as proxies garble it; in plain ASCII it is Kimi's."""

_SEP: Final = rf"<{BAR}tool[▁_ ]sep{BAR}>"
_NAME: Final = r"\s*+(?P<name>[^\s<>{}`\"']{1,200}+)\s*+"

_KIMI_HEAD: Final = lazy_pattern(r"\s*+(?P<id>[^<>\n]{1,200}?)(?<!\s)\s*+<\|tool_call_argument_begin\|>")
_KIMI_COUNT: Final = lazy_pattern(r":\d+\Z")
_KIMI_COUNTER: Final = lazy_pattern(r"(?:call_?|functions\.)?:?\d+")
"""An id that is only a counter: then nothing names the tool."""
_KIMI: Final = Block(
    ("kimi_k2",),
    lazy_pattern(CALL_BEGIN),
    closing_tags(r"<\|tool_call(?:s?_section)?_end\|>"),
)
_END: Final = rf"<{BAR}tool[▁_ ]calls?[▁_ ]end{BAR}>"
_DEEPSEEK_HEAD: Final = lazy_pattern(
    rf"\s*+(?P<first>[^<>\n]{{1,200}}?)(?<!\s)\s*+{_SEP}"
    rf"(?:{_NAME}(?=[{{`]|{_END}))?\s*+(?=[{{`\"]|{_END}|\Z)"
)
"""The head of a call of DeepSeek: V3 has a type before the name, V3.1 the name alone."""
_DEEPSEEK: Final = Block(
    ("deepseek_v31", "deepseek_v3"),
    lazy_pattern(CALL_BEGIN),
    closing_tags(_END.replace("calls?", "call"), rf"(?={_END})"),
)
_DEEPSEEK_3: Final = replace(_DEEPSEEK, dialects=("deepseek_v3", "deepseek_v31"))
_MISTRAL: Final = lazy_pattern(
    r"\s*+(?P<name>[\w.:-]{1,200})(?:\[CALL_ID\](?P<id>\w{1,64}))?\s*(?:\[ARGS\]|(?={))"
)
"""The head of a call of Mistral, with an id or without; the mark of the arguments may be missing."""
SOLAR: Final = lazy_pattern(
    rf"\s*+(?P<id>[^<>\s]{{0,200}}+)\s*+<\|tool_call:name\|>{_NAME}<\|tool_call:args\|>"
)
PLAMO: Final = lazy_pattern(
    rf"{_NAME}<\|plamo:end_tool_name:plamo\|>\s*<\|plamo:begin_tool_arguments:plamo\|>\s*"
    rf"(?:<\|plamo:constrain\|>\w*\s*)?(?:<\|plamo:msg\|>)?"
)
"""The head of a call of PLaMo, whose constraint on the arguments is optional."""
_FLOWER: Final = lazy_pattern(r"[ ]*+(?:[:：][ ]*+)?(?P<name>[^\s✿:：]{1,200}+)\s*+✿ARGS✿[ ]*[:：]?")
_REMARK: Final = lazy_pattern(r"[ \t]*(?://|#)[^\n]*")


def deepseek_or_kimi(source: Source, _start: int, end: int) -> Reading | None:
    """One call after the opener that both families share; Kimi marks the arguments."""
    kimi = _KIMI_HEAD.match(source.text, end)
    if kimi:
        return _call_after_kimi_id(source, kimi) if "kimi_k2" in source.enabled else None
    head = _DEEPSEEK_HEAD.match(source.text, end)
    if head is None:
        return None
    if head["name"]:
        return named_call(source, head.end(), source.offered.resolve_name(head["name"]), _DEEPSEEK_3)
    return named_call(source, head.end(), source.offered.resolve_name(head["first"]), _DEEPSEEK)


def call_after_head(
    head: re.Pattern[str], block: Block, source: Source, _start: int, end: int
) -> Reading | None:
    """The call whose name, and perhaps id, stand in a head before its arguments."""
    found_head = head.match(source.text, end)
    if found_head is None:
        return None
    call_id = found_head.groupdict().get("id")
    return named_call(
        source, found_head.end(), source.offered.resolve_name(found_head["name"]), block, call_id
    )


def mistral_calls(block: Block, source: Source, start: int, end: int) -> Reading | None:
    """``[TOOL_CALLS]`` before a list of envelopes, or before a name and its arguments."""
    if source.text.startswith(("[{", "{", "[ ", "[\n"), skip_blanks(source.text, end)):
        return enveloped_calls(block, source, start, end)
    return call_after_head(_MISTRAL, block, source, start, end)


def flower_call(block: Block, source: Source, start: int, end: int) -> Reading | None:
    """Qwen-Agent's call; a comment behind its JSON is part of it."""
    reading = call_after_head(_FLOWER, block, source, start, end)
    if reading is None or not reading.calls:
        return reading
    return replace(reading, end=end_of(_REMARK, source.text, reading.end))


def _call_after_kimi_id(source: Source, head: re.Match[str]) -> Reading | None:
    """A call whose id contains the tool's name, as in ``functions.ping:0``, or is only a counter.

    With a counter, the arguments select the tool, if they fit only one.
    """
    call_id = head["id"]
    if _KIMI_COUNTER.fullmatch(call_id):
        reading = named_call(source, head.end(), "?", _KIMI, call_id)
        if not reading.calls:
            return reading
        (call,) = reading.calls
        inferred = source.offered.only_tool_taking(as_tree(parse(call.arguments)))
        if not inferred:
            return broken("malformed", reading.end)
        return replace(reading, calls=(replace(call, name=inferred),))
    name = source.offered.resolve_name(_KIMI_COUNT.sub("", call_id).removeprefix("functions."))
    return named_call(source, head.end(), name, _KIMI, call_id if _KIMI_COUNT.search(call_id) else "")
