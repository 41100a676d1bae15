"""Calls whose name stands before their arguments: in a tag or token, before brackets, or in a header.

LM Studio asks for ``[TOOL_CALL]…[/TOOL_CALL]``, around an envelope or a map of arrows with the arguments as
options of a shell: ``[TOOL_CALL]{tool => "read_file", args => {--path "notes.md"}}[/TOOL_CALL]``. Nobody
specified the latter, so only quoted values without a backslash, and plain numbers and words, are certain:
whether a backslash escapes is not. Other models name the tool in an attribute of the tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TypeAlias

from toolreel_core._jsontext import (
    Bare,
    Flaw,
    Json,
    Style,
    as_list,
    as_tree,
    end_of_blanks,
    end_of_match,
    members_at,
    parse,
)
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._text_calls.decoder_interface import (
    Offered,
    Reading,
    Source,
    TextCall,
    rejected_reading,
    text_call_if_valid,
)
from toolreel_core._text_calls.elements import BAR
from toolreel_core._text_calls.payloads import (
    Block,
    arguments_as_object,
    call_with_given_name,
    closing_tag_pattern,
    decode_json,
    end_of_block,
    enveloped_calls,
    failed_call,
    rejected_if_tags_follow,
    single_call_reading,
    skip_blanks,
    typed_value,
)

# The map of arrows is from RooCodeInc/Roo-Code#11187.
_MAP = lazy_pattern(r"\{\s*tool\s*=>")
_HEAD = lazy_pattern(r'\{\s*tool\s*=>\s*"(?P<name>[\w.:-]{1,200})"\s*,\s*args\s*=>\s*\{')
_OPTION = lazy_pattern(
    r'\s*--(?P<key>[\w-]{1,200})\s+(?:"(?P<text>[^"\\]*)"|(?P<plain>-?\d{1,40}(?:\.\d{1,40})?|true|false|null))'
    r"(?=[\s},]),?"
)
"""One argument, as an option of a command line: a simple text, a number or a word."""
_MAP_END = lazy_pattern(r"\s*\}\s*\}\s*\[/TOOL_CALL\]", re.IGNORECASE)


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
        # The map then does not end here, and the call is malformed.
        if key in given or key not in source.offered.parameters(name):
            break
        given[key] = option["text"] if option["text"] is not None else decode_json(option["plain"])
        at = option.end()
    closing = _MAP_END.match(source.text, at)
    if closing is None:
        return failed_call(source, begin, flaw, block)
    return single_call_reading(name, given, block.dialects[0], closing.end())


_QUOTED = r"""(?:"[^"<>\n]{0,200}"|'[^'<>\n]{0,200}')"""
# As in diegosouzapw/OmniRoute#3275 and Extra-Chill/data-machine#2436.
NAMED_TAG = rf"<tool(?:_call)?(?:\s+(?:name|id)\s*=\s*{_QUOTED}){{1,2}}\s*>(?=\s*{{)"

_TAG = lazy_pattern(r"<(\w+)")
_ATTRIBUTE = lazy_pattern(rf"(?<!\w)(?P<key>\w++)\s*+=\s*+(?P<value>{_QUOTED})")
_NAMED = {
    tag: Block(
        ("invoke_xml", "hermes_json"),
        lazy_pattern(rf"<{tag}\b", re.IGNORECASE),
        closing_tag_pattern(rf"</{tag}\s*>"),
    )
    for tag in ("tool", "tool_call")
}
_LEFT = {
    tag: lazy_pattern(rf"(?P<opens><{tag}\b)|</{tag}\s*>", re.IGNORECASE) for tag in ("tool", "tool_call")
}
_CLOSED = lazy_pattern(r"</tool(?:_call)?\s*>\Z", re.IGNORECASE)


def call_named_by_attribute(source: Source, start: int, end: int) -> Reading | None:
    """The call of an offered tool that an attribute names; ``None`` for any other tool."""
    opening = source.text[start:end]
    given = [(found["key"].lower(), found["value"][1:-1]) for found in _ATTRIBUTE.finditer(opening)]
    attributes = dict(given)
    name = source.offered.resolve_name(attributes.get("name", ""))
    if name not in source.offered.names or len(attributes) < len(given):
        return None
    tag = _TAG.findall(opening)[0].lower()
    begin = skip_blanks(source.text, end)
    reading = call_with_given_name(source, begin, name, _NAMED[tag], attributes.get("id", ""))
    # Without its closer, the object may not be the whole call.
    if reading.calls and not _CLOSED.search(source.text[begin : reading.end][-80:]):
        return rejected_reading("truncated" if source.cut else "malformed", reading.end)
    return rejected_if_tags_follow(source, reading, _LEFT[tag])


def calls_by_tool_name_key(tree: Json, offered: Offered, dialect: str) -> Iterator[TextCall | None]:
    for item in as_list(tree):
        for name, raw in item.items() if isinstance(item, Mapping) else ():
            yield text_call_if_valid(offered.resolve_name(name), arguments_as_object(raw), dialect)


CALL_BEGIN = rf"<{BAR}tool[▁_ ]call[▁_ ]begin{BAR}>"
"""DeepSeek's opener, also as proxies garble it; in plain ASCII it is Kimi's."""

_SEP = rf"<{BAR}tool[▁_ ]sep{BAR}>"
_NAME = r"\s*+(?P<name>[^\s<>{}`\"']{1,200}+)\s*+"

# The look-behind, here and in `_DEEPSEEK_HEAD`, keeps blanks out of the lazy part: otherwise it could end at
# each of a run of blanks, in quadratic time.
_KIMI_HEAD = lazy_pattern(r"\s*+(?P<id>[^<>\n]{1,200}?)(?<!\s)\s*+<\|tool_call_argument_begin\|>")
_KIMI_COUNT = lazy_pattern(r":\d+\Z")
_KIMI_COUNTER = lazy_pattern(r"(?:call_?|functions\.)?:?\d+")
"""An id that is only a counter: then nothing names the tool."""
_KIMI = Block(
    ("kimi_k2",),
    lazy_pattern(CALL_BEGIN),
    closing_tag_pattern(r"<\|tool_call(?:s?_section)?_end\|>"),
)
_END = rf"<{BAR}tool[▁_ ]calls?[▁_ ]end{BAR}>"
_DEEPSEEK_HEAD = lazy_pattern(
    rf"\s*+(?P<first>[^<>\n]{{1,200}}?)(?<!\s)\s*+{_SEP}"
    rf"(?:{_NAME}(?=[{{`]|{_END}))?\s*+(?=[{{`\"]|{_END}|\Z)"
)
"""The head of a call of DeepSeek: V3 has a type before the name, V3.1 the name alone."""
_DEEPSEEK = Block(
    ("deepseek_v31", "deepseek_v3"),
    lazy_pattern(CALL_BEGIN),
    # A call includes its own end, but not the end of the section, which `WRAPPER` removes.
    closing_tag_pattern(_END.replace("calls?", "call"), rf"(?={_END})"),
)
_DEEPSEEK_3 = replace(_DEEPSEEK, dialects=("deepseek_v3", "deepseek_v31"))
_MISTRAL = lazy_pattern(r"\s*+(?P<name>[\w.:-]{1,200})(?:\[CALL_ID\](?P<id>\w{1,64}))?\s*(?:\[ARGS\]|(?={))")
"""The head of a call of Mistral, with an id or without; the mark of the arguments may be missing."""
SOLAR = lazy_pattern(rf"\s*+(?P<id>[^<>\s]{{0,200}}+)\s*+<\|tool_call:name\|>{_NAME}<\|tool_call:args\|>")
PLAMO = lazy_pattern(
    rf"{_NAME}<\|plamo:end_tool_name:plamo\|>\s*<\|plamo:begin_tool_arguments:plamo\|>\s*"
    rf"(?:<\|plamo:constrain\|>\w*\s*)?(?:<\|plamo:msg\|>)?"
)
"""The head of a call of PLaMo, whose constraint on the arguments is optional."""
_FLOWER = lazy_pattern(r"[ ]*+(?:[:：][ ]*+)?(?P<name>[^\s✿:：]{1,200}+)\s*+✿ARGS✿[ ]*[:：]?")
_REMARK = lazy_pattern(r"[ \t]*(?://|#)[^\n]*")


def deepseek_or_kimi_call(source: Source, _start: int, end: int) -> Reading | None:
    """One call after the opener that both families share; Kimi marks the arguments."""
    kimi = _KIMI_HEAD.match(source.text, end)
    if kimi:
        return _call_after_kimi_id(source, kimi) if "kimi_k2" in source.enabled else None
    head = _DEEPSEEK_HEAD.match(source.text, end)
    if head is None:
        return None
    if head["name"]:
        return call_with_given_name(
            source, head.end(), source.offered.resolve_name(head["name"]), _DEEPSEEK_3
        )
    return call_with_given_name(source, head.end(), source.offered.resolve_name(head["first"]), _DEEPSEEK)


def call_after_head(
    head: re.Pattern[str], block: Block, source: Source, _start: int, end: int
) -> Reading | None:
    """The call whose name, and perhaps id, stand in a head before its arguments."""
    found_head = head.match(source.text, end)
    if found_head is None:
        return None
    call_id = found_head.groupdict().get("id")
    return call_with_given_name(
        source, found_head.end(), source.offered.resolve_name(found_head["name"]), block, call_id
    )


def mistral_calls(block: Block, source: Source, start: int, end: int) -> Reading | None:
    """``[TOOL_CALLS]`` before a list of envelopes, or before a name and its arguments."""
    # Other brackets behind the marker are prose or tokens, not a list of envelopes.
    if source.text.startswith(("[{", "{", "[ ", "[\n"), skip_blanks(source.text, end)):
        return enveloped_calls(block, source, start, end)
    return call_after_head(_MISTRAL, block, source, start, end)


def qwen_agent_call(block: Block, source: Source, start: int, end: int) -> Reading | None:
    """Qwen-Agent's call; a comment behind its JSON is part of it."""
    reading = call_after_head(_FLOWER, block, source, start, end)
    if reading is None or not reading.calls:
        return reading
    return replace(reading, end=end_of_match(_REMARK, source.text, reading.end))


def _call_after_kimi_id(source: Source, head: re.Match[str]) -> Reading | None:
    """A call whose id has its name (``functions.ping:0``); with a counter, the arguments select the tool."""
    call_id = head["id"]
    if _KIMI_COUNTER.fullmatch(call_id):
        # A placeholder, because a call without a name is invalid.
        reading = call_with_given_name(source, head.end(), "?", _KIMI, call_id)
        if not reading.calls:
            return reading
        (call,) = reading.calls
        given, offered = as_tree(parse(call.arguments)), source.offered
        tools = offered.names & offered.schemas.keys()
        fitting = [name for name in tools if given.keys() <= offered.parameters(name).keys()]
        # If several tools take these keys, which of them is meant is a guess, as SGLang makes it.
        if len(fitting) != 1:
            return rejected_reading("malformed", reading.end)
        return replace(reading, calls=(replace(call, name=fitting[0]),))
    name = source.offered.resolve_name(_KIMI_COUNT.sub("", call_id).removeprefix("functions."))
    return call_with_given_name(
        source, head.end(), name, _KIMI, call_id if _KIMI_COUNT.search(call_id) else ""
    )


# Function notation: Python's ``[ping(), add(a=1, b="x")]`` and Gemma's ``call:add{a:1}``.
#
# Nothing is evaluated, and only literals are arguments. They are read by the JSON reader with its repairs
# instead of Python's parser, because models write JSON's literals, raw line breaks in strings, keywords that
# Python reserves (``from=``), and numbers with a leading zero.

# Bounded lengths: a long text of letters is not searched again from each of them. A hyphen is no Python,
# but many tool names have one. Gemini prints the result of a call: `print(default_api.f(a=1))`.
_FUNCTION = r"(?P<name>[^\W\d][\w-]{0,100}(?:\.[\w-]{1,100}){0,8})\("
CALLEE = lazy_pattern(rf"(?:print\((?={_FUNCTION.replace('?P<name>', '?:')}))?{_FUNCTION}")
# Llama 3.1 calls its built-in tools (brave_search, wolfram_alpha) by a method, with semicolons between.
BUILTIN = lazy_pattern(r"(?P<name>[^\W\d]\w{0,100})\.call\(")
_KEYWORDS = Style(colons="=")
CODE = replace(_KEYWORDS, repairs=_KEYWORDS.repairs | {"hash_comments"})

Expressions: TypeAlias = tuple[tuple[TextCall, ...], int, Flaw | None]
"""Calls, their end, and the error in the one that begins there."""


def call_expressions(
    source: Source,
    at: int,
    dialect: str,
    callee: re.Pattern[str] = CALLEE,
    style: Style = _KEYWORDS,
) -> Expressions:
    at = end_of_blanks(source, at, style)
    listed = source.text.startswith("[", at)
    at = end_of_blanks(source, at + listed, style)
    calls: list[TextCall] = []
    while head := callee.match(source.text, at):
        given = members_at(source, head.end(), ")", style)
        # A list with a flaw is rejected as a whole; of calls in a row, those before the flaw are whole.
        whole = () if listed else tuple(calls)
        if isinstance(given, Flaw):
            return whole, at, given
        printed = head.start("name") > at
        call = text_call_if_valid(source.offered.resolve_name(head["name"]), as_tree(given.tree), dialect)
        if call is None or (printed and not source.text.startswith(")", given.end)):
            return whole, at, Flaw(given.end, unfinished=False)
        calls.append(call)
        at = end_of_blanks(source, given.end + printed, style)
        if source.text.startswith((",", ";"), at):
            at = end_of_blanks(source, at + 1, style)
        # Outside of a list, the next call needs a line or a separator of its own.
        elif listed or "\n" not in source.text[given.end : at]:
            break
    if not calls or (listed and not source.text.startswith("]", at)):
        return (), at, Flaw(at, unfinished=at >= len(source.text))
    return tuple(calls), at + listed, None


def calls_in_code_block(
    callee: re.Pattern[str], block: Block, source: Source, start: int, end: int
) -> Reading | None:
    """The calls between tokens; some models write JSON envelopes instead, and other code is not a call."""
    at = skip_blanks(source.text, end)
    first = skip_blanks(source.text, at + source.text.startswith("[", at))
    if not callee.match(source.text, first):
        return enveloped_calls(block, source, start, at)
    calls, end, flaw = call_expressions(source, at, source.enabled_dialect(*block.dialects), callee)
    if flaw is not None:
        return replace(failed_call(source, end, flaw, block), calls=calls)
    reading = Reading(end_of_block(source, end, block), calls)
    closed = block.closing.search(source.text, end, reading.end)
    # Other code before the closer may change what the calls mean.
    return reading if closed else rejected_if_tags_follow(source, reading, _block_tags_pattern(block))


# `call` or its colon may be missing, and Gemma 4 sometimes writes parentheses.
_GEMMA_HEAD = lazy_pattern(r"\s*+(?:call\b[ ]*+)?(?::[ ]*+)?(?P<name>[\w.:-]{1,200}+)\s*+(?P<opener>[{(])")


def gemma_call(quote: str, block: Block, source: Source, _start: int, at: int) -> Reading | None:
    """Gemma's call, with tokens as quotes: ``<escape>`` of FunctionGemma, ``<|"|>`` of Gemma 4."""
    head = _GEMMA_HEAD.match(source.text, at)
    if head is None:
        return None
    # The equals sign is from `key='value'` (ollama/ollama#17882).
    style = Style(quote=quote, colons=":=", words=True, closing=block.closing)
    given = members_at(source, head.end(), "}" if head["opener"] == "{" else ")", style)
    if isinstance(given, Flaw):
        return failed_call(source, at, given, block)
    name = source.offered.resolve_name(head["name"])
    members = as_tree(given.tree).items()
    values = {key: _typed_value(item, source.offered.parameter(name, key)) for key, item in members}
    reading = single_call_reading(name, values, block.dialects[0], end_of_block(source, given.end, block))
    return rejected_if_tags_follow(source, reading, _block_tags_pattern(block))


@cache
def _block_tags_pattern(block: Block) -> re.Pattern[str]:
    return re.compile(f"(?P<opens>{block.opening.pattern})|{block.closing.pattern}", re.IGNORECASE)


def _typed_value(item: Json, schema: Json) -> Json:
    match item:
        case Bare():
            return typed_value(str(item), schema) if schema is not None else decode_json(str(item))
        case Mapping():
            return {key: _typed_value(inner, None) for key, inner in item.items()}
        case Sequence() if not isinstance(item, str):
            return [_typed_value(inner, None) for inner in item]
        case _:
            return item


# Messages with headers: OpenAI's Harmony, Muse's recipients, Inkling's typed blocks.
#
# The header names the recipient: messages to the user are text, messages of the model to itself are
# reasoning, and messages to ``functions.NAME`` are calls. Headers are never visible text.

_TRAILER = r"<\|(?:end|call|return|eom|eot|end_message|content_model_end_sampling)\|>"

_HEADER = lazy_pattern(
    r"<\|(?P<opener>start|channel)\|>(?P<role>\w{0,40})[^<>\n]{0,200}"
    r"(?:<\|(?:channel|constrain)\|>[^<>\n]{0,200}){0,4}<\|message\|>"
)
_BODY_END = lazy_pattern(rf"{_TRAILER}|(?=<\|start\|>|<\|channel\|>)")
_RECIPIENT = lazy_pattern(r"\bto=(?P<to>[^\s<>]{1,200})")
_CHANNEL = lazy_pattern(r"<\|channel\|>\s*(?P<name>\w*)")
_CALL = Block(("harmony",), lazy_pattern(r"<\|start\|>|<\|channel\|>"), closing_tag_pattern(_TRAILER))

_LEAKED = lazy_pattern(r"to=functions\.(?P<name>[\w.-]{1,200})[^{}<>`]{0,100}(?={)")
"""A header whose tokens the server has removed, up to the arguments."""
_NO_TOKEN = Block(("harmony",), lazy_pattern(r"to=functions\."), closing_tag_pattern(r"(?!)"))

# Garbage is glued to leaked calls (livekit/agents-js#1632); a blank or a tag ends it.
_DEBRIS = lazy_pattern(r"[^\s<]*")
_GLUED = lazy_pattern(r"(?:assistant)?(?:commentary|analysis)?[ ]?\Z")
_MUSE = lazy_pattern(r"to=(?P<to>[^\s<>]{1,200})[ \t]*<\|message\|>")
_THINKING = {"thinking", "thought", "reasoning"}


def message_with_header(source: Source, start: int, _end: int) -> Reading | None:
    """One message, by its recipient and channel (gpt-oss) or by its recipient alone (Muse)."""
    header = _HEADER.match(source.text, start)
    channel = _CHANNEL.search(header[0]) if header else None
    if header is None or (channel and "harmony" not in source.enabled):
        return None
    # A turn of the user or a tool that the model made up.
    if header["opener"] == "start" and header["role"] not in {"", "assistant"}:
        return rejected_reading("fabricated_result", len(source.text))
    recipient = _RECIPIENT.search(header[0])
    if channel is None:
        return _muse_message(source, header, recipient["to"] if recipient else "user")
    if recipient:
        return _call_to_recipient(source, header, recipient["to"])
    match channel["name"]:
        case "analysis":
            return _reasoning_message(source, header.end())
        case "commentary" if source.text.startswith("{", skip_blanks(source.text, header.end())):
            # Arguments in the channel of calls, for no tool (NVIDIA/TensorRT-LLM#9256).
            return rejected_reading("malformed", source.end_of_next_match(_BODY_END, header.end()))
        case "commentary" | "final":
            return Reading(header.end(), is_framing=True)
        case _:
            return None


def message_with_bare_recipient(source: Source, start: int, _end: int) -> Reading | None:
    """A header that begins with ``to=``: Muse's without its opener, or Harmony's without its tokens.

    Of the latter only ``to=functions.NAME`` and JSON remain, with other debris around them
    (openai/codex#13114). The same words may be prose, so the tool must exist.
    """
    if header := _MUSE.match(source.text, start):
        return _muse_message(source, header, header["to"])
    leaked = _LEAKED.match(source.text, start)
    if leaked is None or "harmony" not in source.enabled or leaked["name"] not in source.offered.names:
        return None
    reading = call_with_given_name(source, leaked.end(), leaked["name"], _NO_TOKEN)
    if reading.calls:
        return replace(reading, end=end_of_match(_DEBRIS, source.text, reading.end))
    # If it is not a call, these words are prose.
    return reading if reading.rejected == ("truncated",) else None


def start_of_header_words(text: str, start: int) -> int:
    """The start of the words that remain of a header before ``to=`` if its tokens are lost."""
    # The longest of them, `assistantcommentary `, has 20 characters.
    words = _GLUED.search(text, max(0, start - 30), start)
    return words.start() if words else start


def start_of_preceding_name(text: str, start: int, reading: Reading | None) -> int:
    # Inkling may write the name before its opener as well; there it is not content.
    name = reading.calls[0].name if reading and reading.calls else ""
    return start - len(name) if text.endswith(name, 0, start) else start


def inkling_block(source: Source, start: int, end: int) -> Reading | None:
    kind = source.text[start:end].removeprefix("<|content_").removesuffix("|>")
    return _reasoning_message(source, end) if kind in _THINKING else Reading(end, is_framing=True)


def _muse_message(source: Source, header: re.Match[str], recipient: str) -> Reading | None:
    """Muse: messages to ``self`` are reasoning; calls follow as markup."""
    if recipient.startswith("functions."):
        return _call_to_recipient(source, header, recipient) if "harmony" in source.enabled else None
    if recipient == "self":
        return _reasoning_message(source, header.end())
    return Reading(header.end(), is_framing=True)


def _call_to_recipient(source: Source, header: re.Match[str], recipient: str) -> Reading | None:
    name = recipient.removeprefix("functions.")
    if name == recipient:
        end = source.end_of_next_match(_BODY_END, header.end())
        return Reading(end, rejected=("builtin_recipient",), is_framing=True)
    return call_with_given_name(source, header.end(), source.offered.resolve_name(name), _CALL)


def _reasoning_message(source: Source, begin: int) -> Reading:
    close = source.search(_BODY_END, begin)
    reasoning = source.text[begin : close.start() if close else None].strip()
    return Reading(source.end_of_next_match(_BODY_END, begin), reasoning=reasoning, is_framing=True)
