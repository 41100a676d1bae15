"""The scan without its shortcuts: each text on its own, for every kind of secret, with nothing remembered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from toolreel._secrets import Leak, SecretRules, as_ascii, leaks, names_a_secret, put_together, readings
from toolreel_core._jsontext import Json, canonical, read

_NESTED = 4


def slow_line_texts(line: str) -> Iterator[tuple[str, str]]:
    yield from _text("", line, 1)
    match read(line).value_or(None):
        case {"event": {"body": str() as body}}:
            for content in put_together(as_ascii(body)):
                yield "event.body, put together", content
        case _:
            pass


def slow_body_texts(place: str, body: bytes) -> Iterator[tuple[str, str]]:
    for text in readings(body):
        yield from _text(place, text, 1)
        for content in put_together(text):
            yield f"{place}, put together", content


def slow_leaks(
    texts: Iterator[tuple[str, str]], known: Mapping[str, str], rules: SecretRules
) -> Iterator[tuple[str, Leak]]:
    seen = set[str]()
    for place, text in texts:
        if text in seen:
            continue
        for inside, part in _text(place, text, _NESTED):
            if part not in seen:
                seen.add(part)
                for leak in leaks(part, known, rules):
                    yield inside, leak
        seen.add(text)


def _text(place: str, text: str, nested: int) -> Iterator[tuple[str, str]]:
    if "\0" in text:
        yield from _text(place, as_ascii(text), nested)
    value: Json = None
    if nested and text.lstrip()[:1] in {"{", "[", '"'}:
        value = read(text).value_or(None)
    if value is not None:
        yield from _leaves(place, value, nested - 1)
    if value is None or canonical(value) != text:
        yield place, text


def _leaves(place: str, value: Json, nested: int) -> Iterator[tuple[str, str]]:
    match value:
        case str():
            yield from _text(place, value, nested)
        case {"data": str() as base64, "format": str() as form, **more} if not more:
            yield f"{place}.data", f"data:audio/{form};base64,{base64}"
        case {"blob": str(), "base64": str() as base64, **more} if not more:
            yield f"{place}.base64", f"data:;base64,{base64}"
        case Mapping():
            for key, item in value.items():
                yield f"{place} (a key)".strip(), key
                inside = f"{place}.{key}" if place else key
                if isinstance(item, str) and names_a_secret(key):
                    yield inside, f"{key}: {item}"
                yield from _leaves(inside, item, nested)
        case list():
            for index, item in enumerate(value):
                yield from _leaves(f"{place}[{index}]", item, nested)
        case _:
            yield place, str(value)
