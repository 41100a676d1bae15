"""Calls with pairs of keys and values, as GLM has them: ``<arg_key>k</arg_key><arg_value>v</arg_value>``.

The same grammar goes under several namespaces (``ifm|``, ``longcat_``) and with checkpoint
suffixes (``<arg_key:opensource>``). Servers lose single tags of it now and then
(vllm-project/vllm#47190, #49248, #54971, ollama/ollama#14656), so that any one opener or closer
may be missing where the others say what was meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolreel_core._jsontext.canonical import Json
from toolreel_core._text_calls.decoder import Broken, Calls, Reading, found
from toolreel_core._text_calls.formats.elements import one_line_break_less
from toolreel_core._text_calls.source import Source
from toolreel_core._text_calls.values.untyped_text import decoded, typed

SUFFIX: Final = r"(?::[^>\s]{1,40})?"
"""The name of a checkpoint behind the name of a tag."""

_P: Final = r"(?:\w{1,20}[_:|])?"
_GAP: Final = r"(?:\s|\\n)*+"
_NAME: Final = re.compile(
    rf"{_GAP}(?P<name>[^\s<>{{}}\[\]\"'\\]{{1,200}}){_GAP}(?P<sep><{_P}tool_sep{SUFFIX}>)?{_GAP}"
)
_KEY: Final = re.compile(rf"{_GAP}<{_P}arg_key{SUFFIX}>")
_KEY_END: Final = re.compile(rf"</{_P}arg_key{SUFFIX}>(?:{_GAP}</{_P}arg_key{SUFFIX}>)*")
_TYPE: Final = re.compile(rf"{_GAP}<{_P}arg_type{SUFFIX}>([^<]{{0,40}})</{_P}arg_type{SUFFIX}>")
_VALUE: Final = re.compile(rf"{_GAP}<{_P}arg_value{SUFFIX}>")
_VALUE_END: Final = re.compile(rf"</{_P}arg_value{SUFFIX}>(?:{_GAP}</{_P}arg_value{SUFFIX}>)*")
_NEXT_KEY: Final = re.compile(rf"<{_P}arg_key{SUFFIX}>(?P<key>[^<]{{1,200}})</{_P}arg_key{SUFFIX}>")
_PLAIN_KEY: Final = re.compile(rf"{_GAP}(?P<key>[\w.-]{{1,200}})(?=</{_P}arg_key{SUFFIX}>)")
_BLANKS: Final = re.compile(_GAP)
_CLOSE: Final = re.compile(rf"</{_P}tool_call{SUFFIX}>", re.IGNORECASE)
_TAG: Final = re.compile(r"(?:<[^<>]*)?\Z")
_REST: Final = re.compile(r"\\?[\w.-]*(?:<[^<>]*)?\Z")


@dataclass(frozen=True, slots=True)
class _Pair:
    key: str
    value: Json
    end: int


def arg_keys(source: Source, at: int, dialect: str) -> Reading:
    """The call whose name begins here."""
    head = _NAME.match(source.text, at)
    if head is None:
        return Broken("truncated", at) if source.cut and at == len(source.text) else None
    raw, at = head["name"], head.end()
    if not head["sep"] and _KEY_END.match(source.text, at):  # the opener of the first key is lost
        raw = source.offered.beginning(raw)
        if not raw:
            return Broken("malformed", _end_of_block(source, at))
        at = head.start("name") + len(raw)
    name = source.offered.named(raw)
    given: dict[str, Json] = {}
    while begin := _key(source, at):
        pair = _pair(source, begin, name, given)
        if isinstance(pair, Broken):
            return pair
        given[pair.key] = pair.value
        at = pair.end
    return _ended(source, name, given, at, dialect, separated=head["sep"] is not None)


def _ended(
    source: Source, name: str, given: Mapping[str, Json], at: int, dialect: str, *, separated: bool
) -> Reading:
    blanks = _BLANKS.match(source.text, at)
    at = blanks.end() if blanks else at
    close = _CLOSE.match(source.text, at)
    last = _REST.match(source.text, at) is not None
    known = name in source.offered.names
    if not given and not separated and not (known and close):
        begun = source.cut and not close and _TAG.match(source.text, at)
        return Broken("truncated", len(source.text)) if begun else None
    if close is None and ((source.cut and last) or not given or not source.offered.satisfied(name, given)):
        return Broken("truncated", len(source.text) if last else at)
    call = found(name, given, dialect)
    end = close.end() if close else at
    return Calls((call,), end) if call else Broken("malformed", end)


def _key(source: Source, at: int) -> int:
    """Where the next key begins; 0 if there is none."""
    opening = _KEY.match(source.text, at)
    if opening:
        return opening.end()
    plain = _PLAIN_KEY.match(source.text, at)
    return plain.start("key") if plain else 0


def _pair(source: Source, at: int, name: str, given: Mapping[str, Json]) -> _Pair | Broken:
    key_end = source.search(_KEY_END, at)
    if key_end is None or ((close := source.search(_CLOSE, at)) and close.start() < key_end.start()):
        return _missing(source, at)
    key, at = source.text[at : key_end.start()].strip().removesuffix("\\n"), key_end.end()
    kind = _TYPE.match(source.text, at)
    at = kind.end() if kind else at
    opening = _VALUE.match(source.text, at)
    at = opening.end() if opening else at
    end = _value_end(source, at, name, {**given, key: None})
    if end is None:
        return _missing(source, at)
    text = one_line_break_less(source.text[at : end[0]])
    if kind:
        return _Pair(key, text if kind[1].strip() == "string" else decoded(text), end[1])
    return _Pair(key, typed(text, source.offered.parameter(name, key)), end[1])


def _value_end(source: Source, at: int, name: str, given: Mapping[str, Json]) -> tuple[int, int] | None:
    """Where a value ends, and where what follows it begins.

    The next key ends a value whose closing tag is missing, if the tool has such a parameter, and so
    does the end of the call, unless more of the value may be missing.
    """
    close = source.search(_VALUE_END, at)
    following = source.search(_NEXT_KEY, at)
    if following and (close is None or following.start() < close.start()):
        key = following["key"].strip()
        if key in source.offered.parameters(name) and key not in given:
            return following.start(), following.start()
    if close:
        return close.start(), close.end()
    end = None if source.cut else source.search(_CLOSE, at)
    return (end.start(), end.start()) if end else None


def _missing(source: Source, at: int) -> Broken:
    close = None if source.cut else source.search(_CLOSE, at)
    return Broken("malformed", close.end()) if close else Broken("truncated", len(source.text))


def _end_of_block(source: Source, at: int) -> int:
    close = source.search(_CLOSE, at)
    return close.end() if close else len(source.text)
