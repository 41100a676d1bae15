"""``<tool_call>`` and related tags; the payload selects the decoder.

Hermes and Qwen put JSON into the tag, Qwen3-Coder a ``<function=…>``, GLM a name and pairs of keys and
values, and models fall back from one to the other. GLM's pairs occur under several namespaces (``ifm|``,
``longcat_``) and with checkpoint suffixes (``<arg_key:opensource>``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from toolreel_core._jsontext import BLANK, Json, end_of, parse
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._text_calls.decoder_interface import Broken, Calls, Reading, Source, TextCall, found
from toolreel_core._text_calls.formats.elements import FUNCTION, INVOKE, function, invoke
from toolreel_core._text_calls.parameters import (
    Pair,
    Tags,
    confused,
    end_call,
    end_of_tree,
    end_of_value,
    holds_markup,
    may_have_swallowed,
    mentions,
    one_line_break_less,
    read_pairs,
    typed,
    whole,
)
from toolreel_core._text_calls.payloads import (
    Block,
    arguments,
    closers,
    decoded,
    enveloped,
    skip_blanks,
    tail,
)

SUFFIX: Final = r"(?::[^<>\s]{1,40})?"
"""The name of a checkpoint after the name of a tag."""

_P: Final = r"(?:\w{1,20}[_:|])?"
_GAP: Final = r"(?:\s|\\n)*+"
_NAME: Final = lazy_pattern(
    rf"{_GAP}(?P<name>[^\s<>{{}}\[\]\"'\\]{{1,200}}){_GAP}(?P<sep><{_P}tool_sep{SUFFIX}>)?{_GAP}"
)
"""The name, up to the first key; a family has a tag of its own behind it."""
_KEY: Final = lazy_pattern(rf"{_GAP}<{_P}arg_key{SUFFIX}>")
"""The opener of a key."""
_KEY_END: Final = lazy_pattern(rf"</{_P}arg_key{SUFFIX}>(?:{_GAP}</{_P}arg_key{SUFFIX}>)*")
"""The closer of a key, which some replies repeat."""
_TYPE: Final = lazy_pattern(rf"{_GAP}<{_P}arg_type{SUFFIX}>([^<]{{0,40}})</{_P}arg_type{SUFFIX}>")
"""The type of a value, which a family adds."""
_VALUE: Final = lazy_pattern(rf"{_GAP}<{_P}arg_value{SUFFIX}>")
"""The opener of a value, at a place."""
_INNER_VALUE: Final = lazy_pattern(rf"<{_P}arg_value{SUFFIX}>")
"""The same anywhere: without the gap before it, which a search would cross again from each of its blanks."""
_VALUE_END: Final = lazy_pattern(rf"</{_P}arg_value{SUFFIX}>")
"""The closer of a value."""
_NEXT_KEY: Final = lazy_pattern(rf"<{_P}arg_key{SUFFIX}>(?P<key>[^<]{{1,200}})</{_P}arg_key{SUFFIX}>")
"""A whole key within a value: the value's closer was lost before it."""
_PLAIN_KEY: Final = lazy_pattern(rf"{_GAP}(?P<key>[\w.-]{{1,200}})(?=</{_P}arg_key{SUFFIX}>)")
"""A key whose opener was lost."""
_BLANKS: Final = lazy_pattern(_GAP)
"""White space, also as an escape: some servers send the two characters."""
_CLOSE: Final = lazy_pattern(rf"</{_P}tool_call{SUFFIX}>", re.IGNORECASE)
"""The closer of a call."""
_CLOSES: Final = lazy_pattern(rf"(?:{_GAP}{_CLOSE.pattern})*", re.IGNORECASE)
"""Closers of a call, which some replies repeat."""
_OPEN: Final = lazy_pattern(rf"<{_P}tool_call{SUFFIX}>", re.IGNORECASE)
"""The opener of a call."""
_TAGS: Final = lazy_pattern(
    rf"(?P<opens>{_OPEN.pattern})|</?{_P}arg_(?:key|value|type){SUFFIX}>|{_CLOSE.pattern}", re.IGNORECASE
)
"""What is left behind a call that was cut: tags of its inside and its end, up to the next call."""
_PAIRS: Final = Tags(
    _OPEN, _CLOSE, _INNER_VALUE, _VALUE_END, _NEXT_KEY, lambda following: following["key"], _TAGS
)
_TAG: Final = lazy_pattern(r"(?:<[^<>]*)?\Z")
"""The rest of a text that was cut in a tag."""
_REST: Final = lazy_pattern(r"\\?[\w.-]*(?:<[^<>]*)?\Z")
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
            close = source.search(_CLOSE, at)
            return Broken("malformed", close.end() if close else len(source.text))
        at = head.start("name") + len(raw)
    name = source.offered.named(raw)
    read = read_pairs(source, at, _PAIRS, lambda at, given: _key_and_value(source, at, name, given))
    if isinstance(read, Broken):
        return read
    given, at = read
    at = end_of(_BLANKS, source.text, at)
    close = _CLOSE.match(source.text, at)
    if not given and not head["sep"] and not (name in source.offered.names and close):
        begun = source.cut and not close and _TAG.match(source.text, at)
        return Broken("truncated", len(source.text)) if begun else None
    closed = end_of(_CLOSES, source.text, close.end()) if close else -1
    last = _REST.match(source.text, at) is not None
    return end_call(source, at, name, given, dialect, closed=closed, last=last, tags=_PAIRS)


def _next_key(source: Source, at: int, name: str) -> int:
    """The start of the next key; 0 if there is none.

    GLM sometimes opens a key with a second ``<tool_call>``: it is one if the tool has that parameter.
    """
    opening = _KEY.match(source.text, at)
    if opening:
        return opening.end()
    again = _OPEN.match(source.text, end_of(_BLANKS, source.text, at))
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
    if key_end is None or ((close := source.search(_CLOSE, at)) and close.start() < key_end.start()):
        return _missing_value(source, at)
    key, at = source.text[at : key_end.start()].strip().removesuffix("\\n"), key_end.end()
    kind = _TYPE.match(source.text, at)
    at = kind.end() if kind else at
    opened = _VALUE.match(source.text, at)
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
    close = None if source.cut else source.search(_CLOSE, at)
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
_CLOSED: Final = lazy_pattern(rf"{CLOSING}\Z", re.IGNORECASE)
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
    return reading if _CLOSED.search(source.text[: reading.end][-80:]) else None


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
        closed = _CLOSED.search(source.text[: reading.end][-80:])
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
