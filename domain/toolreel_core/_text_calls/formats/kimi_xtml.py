"""Kimi K3's markup, whose tags are tokens: ``<|open|>call tool="f" index="1"<|sep|>…``."""

from __future__ import annotations

import re
from typing import Final

from toolreel_core._jsontext.canonical import Json
from toolreel_core._text_calls.decoder import Broken, Calls, Frame, Reading, found
from toolreel_core._text_calls.source import Source
from toolreel_core._text_calls.values.payload import Block, arguments, closers, skip_blanks
from toolreel_core._text_calls.values.untyped_text import decoded, typed

_ATTRIBUTE: Final = re.compile(r'(?P<key>\w{1,40})="(?P<value>[^"]{0,200})"')
_OPEN: Final = r"<\|open\|>{}(?P<attributes>[^<>]{{0,400}})<\|sep\|>"
_CALL: Final = re.compile(_OPEN.format("call"))
_ARGUMENT: Final = re.compile(_OPEN.format("argument"))
_JSON: Final = re.compile(_OPEN.format("json"))
_JSON_BODY: Final = Block(("kimi_k3_xtml",), _CALL, closers(r"<\|close\|>json<\|sep\|>"))
_ARGUMENT_END: Final = "<|close|>argument<|sep|>"
_CALL_END: Final = "<|close|>call<|sep|>"
_ENTITIES: Final = (("&quot;", '"'), ("&lt;", "<"), ("&gt;", ">"), ("&apos;", "'"), ("&amp;", "&"))


def xtml_call(source: Source, start: int, _end: int) -> Reading:
    """One call, whose arguments stand one by one or as one object; only attributes are escaped."""
    opening = _CALL.match(source.text, start)
    attributes = _attributes(opening["attributes"]) if opening else {}
    if opening is None or "tool" not in attributes:
        return None
    name = source.offered.named(attributes["tool"])
    given: dict[str, Json] = {}
    at = skip_blanks(source.text, opening.end())
    if body := _JSON.match(source.text, at):
        return arguments(source, body.end(), name, _JSON_BODY)
    while argument := _ARGUMENT.match(source.text, at):
        end = source.find(_ARGUMENT_END, argument.end())
        if end < 0:
            return Broken("truncated", len(source.text))
        about = _attributes(argument["attributes"])
        key, text = about.get("key", ""), source.text[argument.end() : end]
        given[key] = _value(text, about.get("type", ""), source.offered.parameter(name, key))
        at = skip_blanks(source.text, end + len(_ARGUMENT_END))
    closed = source.text.startswith(_CALL_END, at)
    if not closed and (source.cut or not given or not source.offered.satisfied(name, given)):
        return Broken("truncated", len(source.text)) if given or source.cut else None
    call = found(name, given, "kimi_k3_xtml")
    end = at + len(_CALL_END) if closed else at
    return Calls((call,), end) if call else Broken("malformed", end)


def xtml_channel(source: Source, start: int, end: int) -> Reading:
    """What a message is divided into: the response is its text, thinking its reasoning."""
    name = source.text[start:end].removeprefix("<|open|>").removesuffix("<|sep|>")
    if not name.startswith("think"):
        return Frame(end)
    closing = f"<|close|>{name}<|sep|>"
    close = source.find(closing, end)
    if close < 0:
        return Frame(len(source.text), source.text[end:].strip()) if source.cut else None
    return Frame(close + len(closing), source.text[end:close].strip())


def _attributes(text: str) -> dict[str, str]:
    return {found["key"]: _plain(found["value"]) for found in _ATTRIBUTE.finditer(text)}


def _plain(text: str) -> str:
    for entity, character in _ENTITIES:
        text = text.replace(entity, character)
    return text


def _value(text: str, kind: str, schema: Json) -> Json:
    match kind:
        case "string":
            return text
        case "":
            return typed(text, schema)
        case _:
            return decoded(text)
