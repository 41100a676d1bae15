"""Calls as elements, one for each parameter: ``<invoke name="f"><parameter name="k">v</parameter></invoke>``.

Many models write this in many spellings: ``<function=f>`` and ``<function name="f">``, ``<parameter=k>`` and
``<param name="k">``, any namespace, DeepSeek's token instead of one, Grok's ``<xai:function_call name="f">``.
A value is text, and the schema decides what it means, unless the element says so (``string="true"``). GLM
puts a name and pairs of keys and values into ``<tool_call>``, a tag that others fill with JSON: its payload
selects the decoder. The tags of Kimi K3 and MiniMax M3 are tokens.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from toolreel_core._jsontext import Json, as_tree, end_of_match, parse, tree_at
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._text_calls.decoder_interface import (
    MAX_VALUE_DEPTH,
    Reading,
    Source,
    rejected_reading,
    text_call_if_valid,
)
from toolreel_core._text_calls.payloads import (
    Block,
    ParameterRead,
    Tags,
    call_after_parameters,
    call_with_given_name,
    closing_tag_pattern,
    decode_json,
    end_of_block,
    end_of_leftover_tags,
    end_of_object_or_array,
    end_of_value,
    enveloped_calls,
    is_tag_only_mentioned,
    may_hold_other_markup,
    name_in_tag,
    reject_up_to_balancing_tag,
    rejected_if_tags_follow,
    single_call_reading,
    skip_blanks,
    typed_value,
    without_outer_line_breaks,
)

BAR = "[|｜‖]{1,2}"
"""The fullwidth bar, or an ASCII or double bar in its place, possibly twice (lsdefine/GenericAgent#804)."""

# GigaChat 3.5 writes `GCML`, and DeepSeek V4.1 a blank behind the token.
DSML = rf"{BAR}(?:DSML|GCML){BAR}[ ]?"

NAMESPACE = rf"(?:\w{{1,40}}:|{DSML})?"

# Up to four attributes may precede the name; all is bounded, as a text may hold many unclosed tags.
_OTHER = r"""(?!name\b|tool\b|key\b)\w{1,40}[ ]*=[ ]*(?:"[^"<>\n]{0,200}"|'[^'<>\n]{0,200}')"""
ATTRIBUTE = (
    rf"""(?:[ ]*=[ ]*|(?P<lead>(?:[\sĠĊ]+{_OTHER}){{0,4}})[\sĠĊ]+(?:name|tool|key)[ ]*=[ ]*)"""
    # A name without quotes also ends where JSON begins: `<function=f{"a": 1}` lacks its `>`.
    r"""(?:"(?P<double>[^"<>\n]{0,200})"|'(?P<single>[^'<>\n]{0,200})'|(?P<plain>[^\s"'<>/{\[,]{1,200}))"""
    r"""(?P<rest>[^<>\n{]{0,200}?)"""
)
"""The name in an opening tag, quoted or not, and the rest of the tag."""

_PARAMETER = lazy_pattern(rf"<{NAMESPACE}param(?:eter)?{ATTRIBUTE}>", re.IGNORECASE)
_VALUE_END = lazy_pattern(rf"</{NAMESPACE}param(?:eter)?\b[^<>\n]{{0,80}}>", re.IGNORECASE)
_KIND = lazy_pattern(
    r"""string[ ]*=[ ]*["']?(?:true|false)|type(?:="|[^<>]*>\s*+)(?P<type>\w+)""", re.IGNORECASE
)
"""Where DeepSeek says whether a value is text, and Kimi K3 and a family of GLM's say of which type it is."""
_CDATA_BEGIN = lazy_pattern(r"\s*<!\[CDATA\[")
_CDATA = lazy_pattern(r"\s*<!\[CDATA\[(.*)\]\]>\s*", re.DOTALL)
_LEAK = lazy_pattern(">[ĠĊ]|[ĠĊ]<|<(?:function|param)[ĠĊ]")
"""A leaked sign next to a tag; elsewhere it may belong to a text."""
_LEAKED = str.maketrans("ĠĊ", " \n")
"""Blanks and line breaks as MiniCPM's tokenizer leaks them."""
_REST = lazy_pattern(r"(?:<(?:\|open\|>)?[^<>]*)?\Z")
"""The end of a text, with at most the beginning of a tag before it."""


def _read_element(
    source: Source, opening: re.Match[str], spelled: Block, body: Block, tags: Tags | None = None
) -> Reading | None:
    """The call after an opening tag: ``spelled`` in elements, or as JSON in its ``body``.

    :param spelled: its form with an element for each parameter
    :param body: its form with JSON instead
    """
    name, at = source.offered.resolve_name(name_in_tag(opening)), opening.end()
    dialect = source.enabled_dialect(*spelled.dialects)
    if opening["rest"].endswith("/"):  # the tag closes itself
        return single_call_reading(name, {}, dialect, at)
    at = skip_blanks(source.text, end_of_match(_BEFORE_JSON, source.text, at))
    if source.text.startswith("{", at):
        return call_with_given_name(source, at, name, body)
    tags = tags or Tags(_CALL, spelled.closing, _PARAMETER, _VALUE_END, _PARAMETER, _PARAMETER, _TAGS)
    read = _read_parameters(source, at, name, tags)
    if isinstance(read, Reading):
        return read
    given, at = read
    closed, end = -1, at
    while close := spelled.closing.match(source.text, end):  # it may be repeated
        closed, end = close.end(), skip_blanks(source.text, close.end())
    known = name in source.offered.names and source.offered.has_required_arguments(name, given)
    # The end of the element around a call ends it; without arguments only if the tool needs none.
    if closed < 0 and _WRAPPING.match(source.text, at) and (given or known):
        closed = at
    last = _REST.match(source.text, at) is not None
    if closed < 0 and not (source.cut and last):
        if (cut := end_of_leftover_tags(source, at, tags.left)) >= 0:
            return rejected_reading("malformed", cut)
        if not given:
            return None
    return call_after_parameters(source, at, name, given, dialect, closed=closed, last=last, tags=tags)


def _read_parameters(
    source: Source, begin: int, name: str, tags: Tags
) -> tuple[dict[str, Json], int] | Reading:
    given: dict[str, Json] = {}
    at, repeated, lax = begin, False, False
    while (pair := _read_parameter(source, at, name, given, tags)) is not None:
        if isinstance(pair, Reading):
            return pair
        key, value, at, closed = pair
        repeated, lax = repeated or key in given, lax or not closed
        # A key that comes twice, where a closer is lost, may be markup in a value: nobody knows which.
        if repeated and lax:
            return reject_up_to_balancing_tag(source, begin, tags)
        given[key] = value
    return given, at


def _read_parameter(
    source: Source, at: int, name: str, given: Mapping[str, Json], tags: Tags
) -> ParameterRead | Reading | None:
    opening = tags.parameter.match(source.text, at)
    if opening is None:
        return None
    groups = opening.groupdict()
    key, begin, said = name_in_tag(opening).strip(), opening.end(), f"{groups.get('lead')} {groups['rest']}"
    # A second `<tool_call>` opens a key only if the tool has that parameter; else it opens the next call.
    if groups.get("again") and key not in source.offered.parameters(name):
        return None
    if said.endswith("/"):
        return key, "", skip_blanks(source.text, begin), True
    schema = source.offered.parameter(name, key)
    data = _CDATA_BEGIN.match(source.text, begin)
    # In CDATA, and in strings of an object or array, a closing tag is text.
    behind = source.find("]]>", data.end()) if data else end_of_object_or_array(source, begin, schema)
    end = (
        None
        if behind < 0 and source.cut
        else end_of_value(source, max(begin, behind), name, given, key, tags)
    )
    if end is None:
        return rejected_reading("truncated", len(source.text))
    # A value whose own opener is lost counts as not closed: it may be a part of something else.
    text, closed = source.text[begin : end[0]], end[0] < end[1] and groups.get("value") != ""
    if not closed:  # then a leaked line break belongs to the tag that is missing
        text = text.removesuffix("\\n")
        # So does one before the value, if others before tags show that it is not the value's ("\\network").
        if groups.get("value") == "" and source.find("\\n<", 0) >= 0:
            text = text.removeprefix("\\n")
    value: Json = text
    if kind := _KIND.search(said):
        value = text if "true" in kind[0] or kind["type"] == "string" else decode_json(text)
    elif whole := _CDATA.fullmatch(text):
        value = typed_value(whole[1], schema)
    else:
        if source.search(_LEAK, 0):
            text = text.translate(_LEAKED)
        value = typed_value(without_outer_line_breaks(text), schema)
    if isinstance(value, str) and may_hold_other_markup(text, tags, closed=closed, behind=behind - begin):
        return reject_up_to_balancing_tag(source, at, tags)
    return key, value, skip_blanks(source.text, end[1]), closed


FUNCTION = lazy_pattern(rf"<{NAMESPACE}function{ATTRIBUTE}(?:>|(?=[\s,>]*{{))", re.IGNORECASE)
"""The opener; models without constrained decoding omit its ``>``."""
_XAI = lazy_pattern(rf"<xai:function_call{ATTRIBUTE}>", re.IGNORECASE)

_WRAPPING = lazy_pattern(
    rf"</{NAMESPACE}(?:\w{{1,20}}_)?(?:function_calls?|tool_?calls?|calls|tool|tool_use)\b[^<>\n]{{0,80}}>"
    rf"|<{BAR}tool[▁_ ]call[▁_ ]end{BAR}>",
    re.IGNORECASE,
)
"""The closing tag of the element around the calls, in its many spellings."""
_CALL = lazy_pattern(
    rf"<{NAMESPACE}(?:function|invoke|function_call)(?:\s*=|[\sĠĊ]+\w{{1,40}}[ ]*=)", re.IGNORECASE
)
_TAGS = lazy_pattern(
    rf"(?P<opens>{_CALL.pattern})|<{NAMESPACE}param(?:eter)?\b[^<>\n]{{0,200}}>"
    rf"|</{NAMESPACE}(?:param(?:eter)?|function|invoke|function_call)\b[^<>\n]{{0,80}}>",
    re.IGNORECASE,
)
"""What is left behind a call that was cut: tags of its inside and its end, up to the next call."""
_BEFORE_JSON = lazy_pattern(r"[\s,>]*(?={)")
"""What models without constrained decoding write between the name and a JSON object."""
_FUNCTION_END = closing_tag_pattern(rf"</{NAMESPACE}function\b[^<>\n]{{0,80}}>")

_AS_XML = Block(("qwen_xml", "seed_xml", "minicpm5_xml", "function_tag_json"), FUNCTION, _FUNCTION_END)
_AS_PARAM = Block(("minicpm5_xml", "qwen_xml", "seed_xml"), FUNCTION, _FUNCTION_END)
_AS_JSON = Block(("function_tag_json", "qwen_xml", "minicpm5_xml"), FUNCTION, _FUNCTION_END)
GROK = Block(
    ("xai_function_call",), _XAI, closing_tag_pattern(r"</(?:xai:)?function_?(?:call)?\b[^<>\n]{0,80}>")
)
"""``<xai:function_call name="f">``, whose closing tag is often misspelled."""
INVOKE = Block(
    ("invoke_xml", "minimax_xml"),
    lazy_pattern(rf"<{NAMESPACE}invoke{ATTRIBUTE}>", re.IGNORECASE),
    closing_tag_pattern(rf"</{NAMESPACE}invoke\b[^<>\n]{{0,80}}>"),
)
DSML_INVOKE = replace(INVOKE, dialects=("dsml",))
STEPTML_INVOKE = replace(INVOKE, dialects=("steptml",))


def function_tag_call(source: Source, start: int, _end: int) -> Reading | None:
    """``<function=f>`` as Qwen3-Coder, Seed and MiniCPM write it, or with JSON in it, as Llama does."""
    opening = FUNCTION.match(source.text, start)
    if opening is None:
        return None
    # The spelling decides only which dialect the call is said to be in.
    spelled = _AS_PARAM if re.search(r"\sname", opening[0]) else _AS_XML
    return _read_element(source, opening, spelled, _AS_JSON)


def element_call(block: Block, source: Source, start: int, _end: int) -> Reading | None:
    opening = block.opening.match(source.text, start)
    return _read_element(source, opening, block, block) if opening else None


# A checkpoint of Hunyuan has one on every tag: `<tool_call:opensource>`.
SUFFIX = r"(?::[^<>\s]{1,40})?"

# LongCat and K2-Horizon put a prefix before these tags, too: `<longcat_arg_key>`, `<ifm|arg_key>`.
_P = r"(?:\w{1,20}[_:|])?"
_GAP = r"(?:\s|\\n)*+"
_NAME = lazy_pattern(
    rf"{_GAP}(?P<name>[^\s<>{{}}\[\]\"'\\]{{1,200}}){_GAP}(?P<sep><{_P}tool_sep{SUFFIX}>)?{_GAP}"
)
_ARG_KEY = lazy_pattern(rf"{_GAP}<{_P}arg_key{SUFFIX}>")
_KEY_END = lazy_pattern(rf"</{_P}arg_key{SUFFIX}>(?:{_GAP}</{_P}arg_key{SUFFIX}>)*")
_INNER_VALUE = lazy_pattern(rf"<{_P}arg_value{SUFFIX}>")
"""The same anywhere: without the gap before it, which a search would cross again from each of its blanks."""
_ARG_VALUE_END = lazy_pattern(rf"</{_P}arg_value{SUFFIX}>")
_NEXT_KEY = lazy_pattern(rf"<{_P}arg_key{SUFFIX}>(?P<plain>[^<]{{1,200}})</{_P}arg_key{SUFFIX}>")
"""A whole key within a value: the value's closer was lost before it."""
_PAIR = lazy_pattern(
    rf"{_GAP}(?:<{_P}arg_key{SUFFIX}>|(?P<again><{_P}tool_call{SUFFIX}>{_GAP})?(?=[\w.-]{{1,200}}</{_P}arg_key))"
    rf"\s*+(?P<plain>[^<>]{{1,200}}?)(?:\\n)?\s*+{_KEY_END.pattern}"
    rf"(?P<rest>{_GAP}<{_P}arg_type{SUFFIX}>[^<]{{0,40}}</{_P}arg_type{SUFFIX}>)?"
    rf"(?P<value>(?:{_GAP}<{_P}arg_value{SUFFIX}>)?)"
)
"""A key, up to its value; its opener may be lost, or a second ``<tool_call>`` (getsigit/sigit#95)."""
_BLANKS = lazy_pattern(_GAP)
"""White space, also as an escape: some servers send the two characters."""
_CALL_CLOSE = lazy_pattern(rf"</{_P}tool_call{SUFFIX}>", re.IGNORECASE)
_CLOSES = lazy_pattern(rf"(?:{_GAP}{_CALL_CLOSE.pattern})*", re.IGNORECASE)
_CALL_OPEN = lazy_pattern(rf"<{_P}tool_call{SUFFIX}>", re.IGNORECASE)
_ARG_TAGS = lazy_pattern(
    rf"(?P<opens>{_CALL_OPEN.pattern})|</?{_P}arg_(?:key|value|type){SUFFIX}>|{_CALL_CLOSE.pattern}",
    re.IGNORECASE,
)
_PAIRS = Tags(
    _CALL_OPEN,
    _CALL_CLOSE,
    _INNER_VALUE,
    _ARG_VALUE_END,
    _PAIR,
    _NEXT_KEY,
    _ARG_TAGS,
)
_WORD_REST = lazy_pattern(r"\\?[\w.-]*(?:<[^<>]*)?\Z")
"""The same behind a word, of which more may be missing."""


def arg_key_call(source: Source, at: int, dialect: str) -> Reading | None:
    """The call whose name begins here, with pairs such as ``<arg_key>k</arg_key><arg_value>v</arg_value>``.

    Servers lose single tags (vllm-project/vllm#47190, #49248, #54971, ollama/ollama#14656), so any
    one opener or closer may be missing if the others show where it was.
    """
    head = _NAME.match(source.text, at)
    if head is None:
        return None
    raw, at = head["name"], head.end()
    if not head["sep"] and _KEY_END.match(source.text, at):  # the opener of the first key is lost
        # Name and key are glued: the longest offered name that they begin with is meant.
        raw = max(filter(raw.startswith, source.offered.names), key=len, default="")
        if not raw:
            return rejected_reading("malformed", source.end_of_next_match(_CALL_CLOSE, at))
        at = head.start("name") + len(raw)
    name = source.offered.resolve_name(raw)
    read = _read_parameters(source, at, name, _PAIRS)
    if isinstance(read, Reading):
        return read
    given, at = read
    at = end_of_match(_BLANKS, source.text, at)
    if _ARG_KEY.match(source.text, at):
        lost = source.search(_CALL_CLOSE, at)
        return rejected_reading(
            "malformed" if lost else "truncated", source.end_of_next_match(_CALL_CLOSE, at)
        )
    close = _CALL_CLOSE.match(source.text, at)
    # A bare word is a call only if it names a tool and is closed, because prose names the tag as well.
    if not given and not head["sep"] and not (name in source.offered.names and close):
        return None
    closed = end_of_match(_CLOSES, source.text, close.end()) if close else -1
    last = _WORD_REST.match(source.text, at) is not None
    return call_after_parameters(source, at, name, given, dialect, closed=closed, last=last, tags=_PAIRS)


# Seed-OSS, K2-Horizon, LongCat and IQuest put a prefix before the tag that Hermes and Qwen use.
_PREFIX = r"(?:seed:|ifm\||longcat_|iquest_)?"
OPENING = rf"<{_PREFIX}tool_call{SUFFIX}>"
"""The opening tag, with a family's prefix or a checkpoint's suffix."""
CLOSING = rf"</{_PREFIX}tool_call{SUFFIX}>"

_BLOCK = Block(
    ("hermes_json", "granite_json", "glm_xml", "qwen_xml"),
    lazy_pattern(OPENING, re.IGNORECASE),
    closing_tag_pattern(CLOSING),
)
_OWNERS = {"seed:": "seed_xml", "ifm|": "ifm_xml", "longcat_": "longcat_json", "iquest_": "glm_xml"}
# Some mix both forms: a bare name as GLM writes it, then an object as Hermes does. A colon, dots or a dash
# before the object are of a sentence or a list: `Sure: {`.
_NAMED = lazy_pattern(r"\s*+(?P<name>[\w.:-]{1,200}+)(?<=\w)\s*+(?={)")
# Qwen's code interpreter writes its code behind the JSON.
_CODE = lazy_pattern(r"\s*<code>")
_CODE_TAGS = lazy_pattern(rf"(?P<opens>{OPENING})|</code>|{CLOSING}", re.IGNORECASE)
"""Tags that are left behind a call that was cut, and the end of an element of code around it."""
# The beginning of `<code>` at the end of a truncated text.
_BEGUN = lazy_pattern(r"\s*(?:<(?:c(?:o(?:de?)?)?)?)?\Z")
_BLOCK_CLOSED = lazy_pattern(rf"{CLOSING}\Z", re.IGNORECASE)


def tool_call_block(source: Source, start: int, end: int) -> Reading | None:
    mark = source.text[start:end].lower().removeprefix("<")
    owner = next((owner for prefix, owner in _OWNERS.items() if mark.startswith(prefix)), "")
    block = replace(_BLOCK, dialects=(owner,)) if owner else _BLOCK
    at = skip_blanks(source.text, end)
    if FUNCTION.match(source.text, at):
        return function_tag_call(source, at, at)
    if INVOKE.opening.match(source.text, at):
        return element_call(INVOKE, source, at, at)
    if source.text.startswith(("{", "[", "```"), at):
        return _with_interpreter_code(source, enveloped_calls(block, source, start, at), block)
    if named := _NAMED.match(source.text, at):
        return call_with_given_name(source, named.end(), source.offered.resolve_name(named["name"]), block)
    likely = "hunyuan_xml" if mark.startswith("tool_call:") else "glm_xml"
    return arg_key_call(
        source, end, owner or source.enabled_dialect(likely, "hunyuan_xml", "glm_xml", "hermes_json")
    )


def _with_interpreter_code(source: Source, reading: Reading | None, block: Block) -> Reading | None:
    """Add the code that Qwen's code interpreter writes after the JSON of its call."""
    # The JSON announces it by an empty ``code``, so the call is incomplete without it.
    if reading is None or not reading.calls:
        return reading
    *others, call = reading.calls
    given = as_tree(parse(call.arguments))
    if given.get("code") != "":
        return reading
    incomplete = Reading(len(source.text), tuple(others), ("truncated",))
    opening = _CODE.match(source.text, reading.end)
    if opening is None:
        # 80 characters hold the longest closing tag, with its suffix.
        closed = _BLOCK_CLOSED.search(source.text[: reading.end][-80:])
        waiting = source.cut and not closed and _BEGUN.match(source.text, reading.end)
        return incomplete if waiting else rejected_if_tags_follow(source, reading, _CODE_TAGS)
    end = source.find("</code>", opening.end())
    code = without_outer_line_breaks(source.text[opening.end() : end])
    complete = text_call_if_valid(call.name, {**given, "code": code}, call.dialect, call.id)
    if end < 0 or complete is None:
        return incomplete
    if (again := code.find("<code>")) >= 0 and not is_tag_only_mentioned(code[:again]):
        return reject_up_to_balancing_tag(source, opening.end(), _PAIRS)
    end = end_of_block(source, end + len("</code>"), block)
    ended = replace(reading, end=end, calls=(*others, complete))
    return rejected_if_tags_follow(source, ended, _CODE_TAGS)


_XTML_CALL = lazy_pattern(rf"<\|open\|>call{ATTRIBUTE}<\|sep\|>")
_ARGUMENT = lazy_pattern(rf"<\|open\|>argument{ATTRIBUTE}<\|sep\|>")
_XTML_JSON = lazy_pattern(r"<\|open\|>json[^<>]{0,400}<\|sep\|>")
_JSON_BODY = Block(("kimi_k3_xtml",), _XTML_CALL, closing_tag_pattern(r"<\|close\|>json<\|sep\|>"))
_XTML_BODY = replace(_JSON_BODY, closing=lazy_pattern(r"<\|close\|>call<\|sep\|>"))
_XTML_TAGS = Tags(
    _XTML_CALL,
    _XTML_BODY.closing,
    lazy_pattern(r"<\|(?:open|close|sep)\|>"),
    lazy_pattern(r"<\|close\|>argument<\|sep\|>"),
    _ARGUMENT,
    _ARGUMENT,
    # A closer of an argument may lack its first token (can1357/oh-my-pi#8495).
    lazy_pattern(r"(?P<opens><\|open\|>call\b)|<\|(?:open|close)\|>(?:argument|call|json)|argument<\|sep\|>"),
)


def xtml_call(source: Source, start: int, _end: int) -> Reading | None:
    """One call, with its arguments one by one or as one object; only attributes are escaped."""
    opening = _XTML_CALL.match(source.text, start)
    if opening is None:
        return None
    if body := _XTML_JSON.match(source.text, skip_blanks(source.text, opening.end())):
        return call_with_given_name(
            source, body.end(), source.offered.resolve_name(name_in_tag(opening)), _JSON_BODY
        )
    return _read_element(source, opening, _XTML_BODY, _XTML_BODY, _XTML_TAGS)


def xtml_channel(source: Source, start: int, end: int) -> Reading | None:
    """A part of a message: ``response`` is text, ``think`` is reasoning."""
    name = source.text[start:end].removeprefix("<|open|>").removesuffix("<|sep|>")
    if not name.startswith("think"):
        return Reading(end, is_framing=True)
    closing = f"<|close|>{name}<|sep|>"
    close = source.find(closing, end)
    if close < 0:
        if not source.cut:
            return None
        close = len(source.text)
    behind = min(close + len(closing), len(source.text))
    return Reading(behind, reasoning=source.text[end:close].strip(), is_framing=True)


TAG_TOKEN = r"\]<\]minimax\[>\["  # noqa: S105 - a token of text

_M3_TAG = lazy_pattern(rf"{TAG_TOKEN}<(?P<close>/)?(?P<name>[^<>\s/]{{1,200}})[^<>]{{0,200}}>")
_M3_INVOKE = lazy_pattern(rf"""{TAG_TOKEN}<invoke\s+name\s*=\s*["']?(?P<name>[^"'<>]{{1,200}})["']?\s*>""")


def minimax_m3_call(source: Source, start: int, _end: int) -> Reading | None:
    opening = _M3_INVOKE.match(source.text, start)
    if opening is None:
        return None
    name = source.offered.resolve_name(opening["name"])
    parameters = {key: source.offered.parameter(name, key) for key in source.offered.parameters(name)}
    # Without `additionalProperties`, an element that is not a parameter would be typed by its looks.
    schema: Json = {"properties": parameters, "additionalProperties": False}
    stray: list[str] = []
    inside = _element_content(source, opening.end(), "invoke", schema, MAX_VALUE_DEPTH, stray)
    if inside is None:
        # Tags that do not match show no end: a call behind them may be a part of a value.
        closed = not source.cut and source.find("]<]minimax[>[</invoke>", opening.end()) >= 0
        return rejected_reading("malformed" if closed else "truncated", len(source.text))
    value, end = inside
    given = value if isinstance(value, Mapping) and not stray else {}
    blank = isinstance(value, str) and not value.strip()
    return (
        single_call_reading(name, given, "minimax_m3_xml", end)
        if given or blank
        else rejected_reading("malformed", end)
    )


def _element_content(
    source: Source, at: int, name: str, schema: Json, depth: int, stray: list[str]
) -> tuple[Json, int] | None:
    """The value of an element and its end; ``stray`` takes text next to elements."""
    begin = at
    members: dict[str, Json] = {}
    items: list[Json] = []
    while tag := source.search(_M3_TAG, at):
        # Nobody knows which of both is the value.
        if (members or items or not tag["close"]) and (text := source.text[at : tag.start()].strip()):
            stray.append(text)
        if tag["close"]:
            if tag["name"] != name:
                return None
            text = without_outer_line_breaks(source.text[begin : tag.start()])
            return items or members or typed_value(text, schema), tag.end()
        child = tag["name"]
        meant = _child_schema(schema, child)
        inner = _element_content(source, tag.end(), child, meant, depth - 1, stray) if depth else None
        if inner is None:
            return None
        value, at = inner
        if child == "item" and child not in tree_at(as_tree(schema), "properties"):
            items.append(value)
        else:
            members[child] = value
    return None


def _child_schema(schema: Json, child: str) -> Json:
    """The schema of an inner element; ``{}`` if the outer schema does not restrict it."""
    properties = tree_at(as_tree(schema), "properties")
    if child in properties or not isinstance(schema, Mapping):
        return properties.get(child)
    return schema.get("items", {}) if child == "item" else schema.get("additionalProperties", {})
