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
from typing import Final

from toolreel_core._jsontext import BLANK, Json, as_tree, end_of, parse, tree_at
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._text_calls.decoder_interface import (
    MAX_DEPTH,
    Broken,
    Calls,
    Frame,
    Reading,
    Source,
    TextCall,
    found,
)
from toolreel_core._text_calls.payloads import (
    Block,
    Pair,
    Tags,
    arguments,
    closers,
    confused,
    decoded,
    end_call,
    end_of_tree,
    end_of_value,
    enveloped,
    holds_markup,
    may_have_swallowed,
    mentions,
    one_line_break_less,
    read_pairs,
    skip_blanks,
    surplus,
    tail,
    typed,
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


SUFFIX: Final = r"(?::[^<>\s]{1,40})?"
"""The name of a checkpoint after the name of a tag."""

_P: Final = r"(?:\w{1,20}[_:|])?"
_GAP: Final = r"(?:\s|\\n)*+"
_NAME: Final = lazy_pattern(
    rf"{_GAP}(?P<name>[^\s<>{{}}\[\]\"'\\]{{1,200}}){_GAP}(?P<sep><{_P}tool_sep{SUFFIX}>)?{_GAP}"
)
"""The name, up to the first key; a family has a tag of its own behind it."""
_ARG_KEY: Final = lazy_pattern(rf"{_GAP}<{_P}arg_key{SUFFIX}>")
"""The opener of a key."""
_KEY_END: Final = lazy_pattern(rf"</{_P}arg_key{SUFFIX}>(?:{_GAP}</{_P}arg_key{SUFFIX}>)*")
"""The closer of a key, which some replies repeat."""
_ARG_TYPE: Final = lazy_pattern(rf"{_GAP}<{_P}arg_type{SUFFIX}>([^<]{{0,40}})</{_P}arg_type{SUFFIX}>")
"""The type of a value, which a family adds."""
_ARG_VALUE: Final = lazy_pattern(rf"{_GAP}<{_P}arg_value{SUFFIX}>")
"""The opener of a value, at a place."""
_INNER_VALUE: Final = lazy_pattern(rf"<{_P}arg_value{SUFFIX}>")
"""The same anywhere: without the gap before it, which a search would cross again from each of its blanks."""
_ARG_VALUE_END: Final = lazy_pattern(rf"</{_P}arg_value{SUFFIX}>")
"""The closer of a value."""
_NEXT_KEY: Final = lazy_pattern(rf"<{_P}arg_key{SUFFIX}>(?P<key>[^<]{{1,200}})</{_P}arg_key{SUFFIX}>")
"""A whole key within a value: the value's closer was lost before it."""
_PLAIN_KEY: Final = lazy_pattern(rf"{_GAP}(?P<key>[\w.-]{{1,200}})(?=</{_P}arg_key{SUFFIX}>)")
"""A key whose opener was lost."""
_BLANKS: Final = lazy_pattern(_GAP)
"""White space, also as an escape: some servers send the two characters."""
_CALL_CLOSE: Final = lazy_pattern(rf"</{_P}tool_call{SUFFIX}>", re.IGNORECASE)
"""The closer of a call."""
_CLOSES: Final = lazy_pattern(rf"(?:{_GAP}{_CALL_CLOSE.pattern})*", re.IGNORECASE)
"""Closers of a call, which some replies repeat."""
_CALL_OPEN: Final = lazy_pattern(rf"<{_P}tool_call{SUFFIX}>", re.IGNORECASE)
"""The opener of a call."""
_ARG_TAGS: Final = lazy_pattern(
    rf"(?P<opens>{_CALL_OPEN.pattern})|</?{_P}arg_(?:key|value|type){SUFFIX}>|{_CALL_CLOSE.pattern}",
    re.IGNORECASE,
)
"""What is left behind a call that was cut: tags of its inside and its end, up to the next call."""
_PAIRS: Final = Tags(
    _CALL_OPEN,
    _CALL_CLOSE,
    _INNER_VALUE,
    _ARG_VALUE_END,
    _NEXT_KEY,
    lambda following: following["key"],
    _ARG_TAGS,
)
_CUT_TAG: Final = lazy_pattern(r"(?:<[^<>]*)?\Z")
"""The rest of a text that was cut in a tag."""
_WORD_REST: Final = lazy_pattern(r"\\?[\w.-]*(?:<[^<>]*)?\Z")
"""The rest of a text that was cut in a word or a tag."""


def arg_keys(source: Source, at: int, dialect: str) -> Reading:
    """The call whose name begins here, with pairs such as ``<arg_key>k</arg_key><arg_value>v</arg_value>``.

    Servers lose single tags (vllm-project/vllm#47190, #49248, #54971, ollama/ollama#14656), so any
    one opener or closer may be missing if the others show where it was.
    """
    head = _NAME.match(source.text, at)
    if head is None:
        return Broken("truncated", at) if source.cut and at == len(source.text) else None
    raw, at = head["name"], head.end()
    if not head["sep"] and _KEY_END.match(source.text, at):  # the opener of the first key is lost
        raw = source.offered.beginning(raw)
        if not raw:
            close = source.search(_CALL_CLOSE, at)
            return Broken("malformed", close.end() if close else len(source.text))
        at = head.start("name") + len(raw)
    name = source.offered.named(raw)
    read = read_pairs(source, at, _PAIRS, lambda at, given: _key_and_value(source, at, name, given))
    if isinstance(read, Broken):
        return read
    given, at = read
    at = end_of(_BLANKS, source.text, at)
    close = _CALL_CLOSE.match(source.text, at)
    if not given and not head["sep"] and not (name in source.offered.names and close):
        begun = source.cut and not close and _CUT_TAG.match(source.text, at)
        return Broken("truncated", len(source.text)) if begun else None
    closed = end_of(_CLOSES, source.text, close.end()) if close else -1
    last = _WORD_REST.match(source.text, at) is not None
    return end_call(source, at, name, given, dialect, closed=closed, last=last, tags=_PAIRS)


def _next_key(source: Source, at: int, name: str) -> int:
    """The start of the next key; 0 if there is none.

    GLM sometimes opens a key with a second ``<tool_call>``: it is one if the tool has that parameter.
    """
    opening = _ARG_KEY.match(source.text, at)
    if opening:
        return opening.end()
    again = _CALL_OPEN.match(source.text, end_of(_BLANKS, source.text, at))
    plain = _PLAIN_KEY.match(source.text, again.end() if again else at)
    if plain is None or (again and plain["key"] not in source.offered.parameters(name)):
        return 0
    return plain.start("key")


def _key_and_value(source: Source, at: int, name: str, given: Mapping[str, Json]) -> Pair | Broken | None:
    """The pair that begins here, if one does."""
    at = begin = _next_key(source, at, name)
    if not begin:
        return None
    key_end = source.search(_KEY_END, at)
    if key_end is None or ((close := source.search(_CALL_CLOSE, at)) and close.start() < key_end.start()):
        return _missing_value(source, at)
    key, at = source.text[at : key_end.start()].strip().removesuffix("\\n"), key_end.end()
    kind = _ARG_TYPE.match(source.text, at)
    at = kind.end() if kind else at
    opened = _ARG_VALUE.match(source.text, at)
    at = opened.end() if opened else at
    schema = source.offered.parameter(name, key)
    end = end_of_value(source, end_of_tree(source, at, schema), name, given, key, _PAIRS)
    if end is None:
        return _missing_value(source, at)
    closed = opened is not None and end[0] < end[1]
    text = one_line_break_less(source.text[at : end[0]])
    if not closed:  # then a leaked line break belongs to the tag that is missing
        text = text.removeprefix("\\n").removesuffix("\\n")
    said = kind[1].strip() if kind else None
    value = typed(text, schema) if said is None else text if said == "string" else decoded(text)
    if holds_markup(key) or (isinstance(value, str) and may_have_swallowed(text, _PAIRS, closed=closed)):
        return confused(source, begin, _PAIRS)
    return key, value, end[1], closed


def _missing_value(source: Source, at: int) -> Broken:
    close = None if source.cut else source.search(_CALL_CLOSE, at)
    return Broken("malformed", close.end()) if close else Broken("truncated", len(source.text))


# Seed-OSS, K2-Horizon, LongCat and IQuest put a prefix before the tag that Hermes and Qwen use.
_PREFIX: Final = r"(?:seed:|ifm\||longcat_|iquest_)?"
OPENING: Final = rf"<{_PREFIX}tool_call{SUFFIX}>"
"""The opening tag, with a family's prefix or a checkpoint's suffix."""
CLOSING: Final = rf"</{_PREFIX}tool_call{SUFFIX}>"
"""The closing tag."""

_BLOCK: Final = Block(
    ("hermes_json", "granite_json", "glm_xml", "qwen_xml"),
    lazy_pattern(OPENING, re.IGNORECASE),
    closers(CLOSING),
)
_OWNERS: Final = {"seed:": "seed_xml", "ifm|": "ifm_xml", "longcat_": "longcat_json", "iquest_": "glm_xml"}
# Some mix both forms: a bare name as GLM writes it, then an object as Hermes does.
_NAMED: Final = lazy_pattern(rf"[{BLANK}]*+(?P<name>[\w.:-]{{1,200}}+)(?<=\w)[{BLANK}]*+(?={{)")
# Qwen's code interpreter writes its code behind the JSON.
_CODE: Final = lazy_pattern(rf"[{BLANK}]*<code>")
_CODE_TAGS: Final = lazy_pattern(rf"(?P<opens>{OPENING})|</code>|{CLOSING}", re.IGNORECASE)
"""Tags that are left behind a call that was cut, and the end of an element of code around it."""
# The beginning of `<code>` at the end of a truncated text.
_BEGUN: Final = lazy_pattern(rf"[{BLANK}]*(?:<(?:c(?:o(?:de?)?)?)?)?\Z")
_BLOCK_CLOSED: Final = lazy_pattern(rf"{CLOSING}\Z", re.IGNORECASE)
"""The closer at the end of a block."""


def tool_call(source: Source, start: int, end: int) -> Reading:
    """The calls of one block, or the first of its elements."""
    mark = source.text[start + 1 : end - 1].lower()
    owner = next((owner for prefix, owner in _OWNERS.items() if mark.startswith(prefix)), "")
    block = replace(_BLOCK, dialects=(owner,)) if owner else _BLOCK
    at = skip_blanks(source.text, end)
    if FUNCTION.match(source.text, at):
        return function(source, at, at)
    if INVOKE.match(source.text, at):
        return invoke(source, at, at)
    if source.text.startswith(("{", "[", "```"), at):
        return _with_interpreter_code(source, enveloped(block, source, start, at), block)
    if named := _NAMED.match(source.text, at):
        return arguments(source, named.end(), source.offered.named(named["name"]), block)
    likely = "hunyuan_xml" if mark.startswith("tool_call:") else "glm_xml"
    return arg_keys(source, end, owner or source.prefer(likely, "hunyuan_xml", "glm_xml", "hermes_json"))


def closed_envelopes(source: Source, at: int) -> Calls | None:
    """The calls of envelopes that begin here, without an opening tag but with the closing one."""
    if not source.text.startswith("{", at) or source.search(_BLOCK.closing, at) is None:
        return None
    reading = enveloped(_BLOCK, source, at, at)
    if not isinstance(reading, Calls) or reading.broken:
        return None
    return reading if _BLOCK_CLOSED.search(source.text[: reading.end][-80:]) else None


def _with_interpreter_code(source: Source, reading: Reading, block: Block) -> Reading:
    """Add the code that Qwen's code interpreter writes after the JSON of its call.

    The JSON announces it by an empty ``code``, so the call is incomplete without it.
    """
    if not isinstance(reading, Calls):
        return reading
    *others, call = reading.calls
    tree = parse(call.arguments)
    given = tree if isinstance(tree, Mapping) else {}
    if given.get("code") != "":
        return reading
    opening = _CODE.match(source.text, reading.end)
    if opening is None:
        closed = _BLOCK_CLOSED.search(source.text[: reading.end][-80:])
        waiting = source.cut and not closed and _BEGUN.match(source.text, reading.end)
        return _without_incomplete_call(source, others) if waiting else whole(source, reading, _CODE_TAGS)
    end = source.find("</code>", opening.end())
    code = one_line_break_less(source.text[opening.end() : end])
    complete = found(call.name, {**given, "code": code}, call.dialect, call.id)
    if end < 0 or complete is None:
        return _without_incomplete_call(source, others)
    if (again := code.find("<code>")) >= 0 and not mentions(code[:again]):
        return confused(source, opening.end(), _PAIRS)
    ended = Calls((*others, complete), tail(source, end + len("</code>"), block), reading.broken)
    return whole(source, ended, _CODE_TAGS)


def _without_incomplete_call(source: Source, calls: list[TextCall]) -> Reading:
    end = len(source.text)
    return Calls(tuple(calls), end, ("truncated",)) if calls else Broken("truncated", end)


_XTML_ATTRIBUTE: Final = lazy_pattern(r'(?P<key>\w{1,40})="(?P<value>[^"]{0,200})"')
"""An attribute in the token that opens an element."""
_XTML_OPEN: Final = r"<\|open\|>{}(?P<attributes>[^<>]{{0,400}})<\|sep\|>"
_XTML_CALL: Final = lazy_pattern(_XTML_OPEN.format("call"))
"""The opener of a call."""
_ARGUMENT: Final = lazy_pattern(_XTML_OPEN.format("argument"))
"""The opener of one argument."""
_XTML_JSON: Final = lazy_pattern(_XTML_OPEN.format("json"))
"""The opener of all arguments as one object."""
_JSON_BODY: Final = Block(("kimi_k3_xtml",), _XTML_CALL, closers(r"<\|close\|>json<\|sep\|>"))
_ARGUMENT_END: Final = "<|close|>argument<|sep|>"
_XTML_CALL_END: Final = "<|close|>call<|sep|>"
_XTML_CLOSED: Final = lazy_pattern(rf"(?:\s*{re.escape(_XTML_CALL_END)})*")
"""Closers that are left behind a call, since some replies repeat them."""
_XTML_VALUE_END: Final = lazy_pattern(re.escape(_ARGUMENT_END))
_TOKEN: Final = lazy_pattern(r"<\|(?:open|close|sep)\|>")
"""A token within a value: the value's own closer was lost."""
_XTML_TAGS: Final = lazy_pattern(
    r"(?P<opens><\|open\|>call\b)|<\|(?:open|close)\|>(?:argument|call|json)|argument<\|sep\|>"
)
"""What is left behind a call that was cut."""
_MARKUP: Final = Tags(
    _XTML_CALL,
    lazy_pattern(re.escape(_XTML_CALL_END)),
    _TOKEN,
    _XTML_VALUE_END,
    _ARGUMENT,
    lambda following: _xtml_attributes(following["attributes"]).get("key", ""),
    _XTML_TAGS,
)
_ENTITIES: Final = (("&quot;", '"'), ("&lt;", "<"), ("&gt;", ">"), ("&apos;", "'"), ("&amp;", "&"))


def xtml_call(source: Source, start: int, _end: int) -> Reading:
    """One call, with its arguments one by one or as one object; only attributes are escaped."""
    opening = _XTML_CALL.match(source.text, start)
    attributes = _xtml_attributes(opening["attributes"]) if opening else {}
    if opening is None or "tool" not in attributes:
        return None
    name = source.offered.named(attributes["tool"])
    at = skip_blanks(source.text, opening.end())
    if body := _XTML_JSON.match(source.text, at):
        return arguments(source, body.end(), name, _JSON_BODY)
    read = read_pairs(source, at, _MARKUP, lambda at, _: _read_argument(source, at, name))
    if isinstance(read, Broken):
        return read
    given, at = read
    closed = source.text.startswith(_XTML_CALL_END, at)
    if not (closed or given or source.cut):
        return None
    end = end_of(_XTML_CLOSED, source.text, at) if closed else -1
    return end_call(source, at, name, given, "kimi_k3_xtml", closed=end, last=True, tags=_MARKUP)


def _read_argument(source: Source, at: int, name: str) -> Pair | Broken | None:
    """The argument that begins here, if one does."""
    opening = _ARGUMENT.match(source.text, at)
    if opening is None:
        return None
    end = source.find(_ARGUMENT_END, opening.end())
    if end < 0:
        return Broken("truncated", len(source.text))
    about = _xtml_attributes(opening["attributes"])
    key, text = about.get("key", ""), source.text[opening.end() : end]
    if _TOKEN.search(text):
        return confused(source, opening.end(), _MARKUP)
    match about.get("type", ""):
        case "string":
            value: Json = text
        case "":
            value = typed(text, source.offered.parameter(name, key))
        case _:
            value = decoded(text)
    return key, value, skip_blanks(source.text, end + len(_ARGUMENT_END)), True


def xtml_channel(source: Source, start: int, end: int) -> Reading:
    """A part of a message: ``response`` is text, ``think`` is reasoning."""
    name = source.text[start:end].removeprefix("<|open|>").removesuffix("<|sep|>")
    if not name.startswith("think"):
        return Frame(end)
    closing = f"<|close|>{name}<|sep|>"
    close = source.find(closing, end)
    if close < 0:
        return Frame(len(source.text), source.text[end:].strip()) if source.cut else None
    return Frame(close + len(closing), source.text[end:close].strip())


def _xtml_attributes(text: str) -> dict[str, str]:
    given: dict[str, str] = {}
    for attribute in _XTML_ATTRIBUTE.finditer(text):
        given[attribute["key"]] = attribute["value"]
        for entity, character in _ENTITIES:
            given[attribute["key"]] = given[attribute["key"]].replace(entity, character)
    return given


TAG_TOKEN: Final = r"\]<\]minimax\[>\["  # noqa: S105 - a token of text
"""The token before each tag."""

_M3_TAG: Final = lazy_pattern(rf"{TAG_TOKEN}<(?P<close>/)?(?P<name>[^<>\s/]{{1,200}})[^<>]{{0,200}}>")
"""Any tag of MiniMax M3, opening or closing."""
_M3_INVOKE: Final = lazy_pattern(
    rf"""{TAG_TOKEN}<invoke\s+name\s*=\s*["']?(?P<name>[^"'<>]{{1,200}})["']?\s*>"""
)
"""The opener of its calls."""


def minimax_m3(source: Source, start: int, _end: int) -> Reading:
    """One ``<invoke name="f">`` and its elements."""
    opening = _M3_INVOKE.match(source.text, start)
    if opening is None:
        return None
    name = source.offered.named(opening["name"])
    schema: Json = {"properties": source.offered.parameters(name), "additionalProperties": False}
    inside = _element_content(source, name, opening.end(), "invoke", schema, MAX_DEPTH)
    if inside is None:
        return Broken("truncated", len(source.text))
    value, end = inside
    given = value if isinstance(value, Mapping) else {}
    blank = isinstance(value, str) and not value.strip()
    call = found(name, given, "minimax_m3_xml") if given or blank else None
    return Calls((call,), end) if call else Broken("malformed", end)


def _element_content(
    source: Source, tool: str, at: int, name: str, schema: Json, depth: int
) -> tuple[Json, int] | None:
    """The content of an element, elements or text, and its end; ``None`` if it is not closed."""
    begin = at
    members: dict[str, Json] = {}
    items: list[Json] = []
    while tag := source.search(_M3_TAG, at):
        if (members or items or not tag["close"]) and source.text[at : tag.start()].strip():
            return None
        if tag["close"]:
            if tag["name"] != name:
                return None
            text = one_line_break_less(source.text[begin : tag.start()])
            return items or members or typed(text, schema), tag.end()
        child = tag["name"]
        meant = source.offered.meant(tool, _child_schema(schema, child))
        inner = _element_content(source, tool, tag.end(), child, meant, depth - 1) if depth else None
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
