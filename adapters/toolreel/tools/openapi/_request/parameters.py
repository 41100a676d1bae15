"""Serialize parameters by their style (OpenAPI 3.1, 4.8.12.3; RFC 6570).

Arguments are percent-encoded, so that none can change another part of the URL. Nested lists and objects, for
which the specification has no rule, are written as JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, assert_never
from urllib.parse import quote, unquote

from toolreel.tools._call_context import ToolError
from toolreel_core._jsontext.canonical import Json, canonical

ParameterLocation: TypeAlias = Literal["path", "query", "header", "cookie"]
ParameterStyle: TypeAlias = Literal[
    "simple", "label", "matrix", "form", "spaceDelimited", "pipeDelimited", "deepObject"
]

STYLES: Final[Mapping[ParameterLocation, tuple[ParameterStyle, ...]]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
"""Allowed styles by location; the first is the default."""

_DELIMITERS: Final[Mapping[str, str]] = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}
_RESERVED: Final = ":/?@!$'()*,;[]"
"""Characters that ``allowReserved`` leaves unencoded: those reserved by RFC 3986, without #, & and =."""
_VARIABLE: Final = re.compile(r"\{([^{}/]+)\}")
"""A variable in a path."""
# Some servers treat a backslash as a slash.
_SEPARATORS: Final = re.compile(r"[/\\]")


@dataclass(frozen=True, slots=True)
class Parameter:
    """Location and serialization of an argument."""

    name: str
    """Its name on the server."""
    location: ParameterLocation
    style: ParameterStyle
    explode: bool
    required: bool = False
    as_json: bool = False
    """Whether it is serialized as JSON."""
    reserved: bool = False
    """Whether reserved characters stay unencoded in a query."""
    schema: Json = True
    """As in the document, not converted."""
    description: str = ""


def style_of(location: ParameterLocation, value: Json) -> ParameterStyle | None:
    """The style of a parameter, or the default of its location; ``None`` if it is not allowed there."""
    styles = STYLES[location]
    return styles[0] if value is None else next((style for style in styles if style == value), None)


def expanded_path(template: str, parameters: Mapping[str, tuple[Parameter, Json]]) -> str:
    """Fill in the variables of a path; a value cannot leave its segment.

    :param parameters: by the name of the variable
    :raises ToolError: if a value is empty, or would lead to another path
    """

    def filled(found: re.Match[str]) -> str:
        parameter, value = parameters[found[1]]
        text = _in_path(parameter, value)
        if not text:
            raise ToolError(f"{parameter.name} is empty; it is a part of the path, so it needs a value.")
        return text

    path = []
    for segment in template.split("/"):
        whole = _VARIABLE.sub(filled, segment)
        if whole != segment and {".", ".."} & {*_SEPARATORS.split(unquote(whole))}:
            raise ToolError(f"{unquote(whole)!r} would lead to another path; '.' and '..' are refused.")
        path.append(whole)
    return "/".join(path)


def query_pairs(parameter: Parameter, value: Json) -> list[str]:
    """The parts of a query or of a ``Cookie`` header for a value, such as ``limit=5``."""
    name = quote(parameter.name, safe="")
    safe = _RESERVED if parameter.reserved else ""
    if value is None:
        return []
    if parameter.as_json:
        return [f"{name}={quote(canonical(value), safe='')}"]
    if parameter.style == "deepObject" and isinstance(value, Mapping):
        return _deep(parameter.name, value)
    match value:
        case str() | bool() | int() | float():
            return [f"{name}={quote(_text(value), safe=safe)}"]
        case Mapping():
            pairs = _pairs(value, safe)
            if parameter.explode:
                return [f"{key}={text}" for key, text in pairs]
            flat = [part for pair in pairs for part in pair]
        case Sequence():
            flat = _items(value, safe)
            if parameter.explode or parameter.style == "deepObject":
                return [f"{name}={text}" for text in flat]
        case _:
            assert_never(value)
    return [f"{name}={_DELIMITERS[parameter.style].join(flat)}"] if flat else []


def header_text(parameter: Parameter, value: Json) -> str:
    """The value of a header.

    :raises ToolError: if a header cannot hold it
    """
    text = canonical(value) if parameter.as_json else _simple(value, ",", parameter.explode, safe=None)
    if not (text.isascii() and text.isprintable()):
        raise ToolError(
            f"{parameter.name} is sent as a header, which holds only printable ASCII in one line."
        )
    return text.strip()


def _in_path(parameter: Parameter, value: Json) -> str:
    if value is None:
        return ""
    if parameter.as_json:
        return quote(canonical(value), safe="")
    if isinstance(value, Mapping | Sequence) and not value:
        return ""
    match parameter.style:
        case "label":
            return "." + _simple(value, "." if parameter.explode else ",", parameter.explode)
        case "matrix":
            return _matrix(parameter, value)
        case _:
            return _simple(value, ",", parameter.explode)


def _matrix(parameter: Parameter, value: Json) -> str:
    name = quote(parameter.name, safe="")
    if parameter.explode and isinstance(value, Mapping):
        return "".join(f";{key}={text}" for key, text in _pairs(value, ""))
    if parameter.explode and isinstance(value, Sequence) and not isinstance(value, str):
        return "".join(f";{name}={text}" for text in _items(value, ""))
    return f";{name}={_simple(value, ',', explode=False)}"


def _simple(value: Json, delimiter: str, explode: bool, *, safe: str | None = "") -> str:
    """A value in style ``simple``; in a header it is not percent-encoded."""
    match value:
        case None:
            return ""
        case str() | bool() | int() | float():
            return _quoted(_text(value), safe)
        case Mapping():
            pairs = _pairs(value, safe)
            return delimiter.join("=".join(pair) if explode else delimiter.join(pair) for pair in pairs)
        case Sequence():
            return delimiter.join(_items(value, safe))
        case _:
            assert_never(value)


def _deep(name: str, value: Mapping[str, Json]) -> list[str]:
    parts: list[str] = []
    for key, item in value.items():
        inner = f"{name}[{key}]"
        if isinstance(item, Mapping):
            parts += _deep(inner, item)
        elif isinstance(item, Sequence) and not isinstance(item, str):
            parts += [f"{quote(inner, safe='')}={text}" for text in _items(item, "")]
        elif item is not None:
            parts.append(f"{quote(inner, safe='')}={quote(_text(item), safe='')}")
    return parts


def _pairs(value: Mapping[str, Json], safe: str | None) -> list[tuple[str, str]]:
    pairs = [(key, _text(item)) for key, item in value.items() if item is not None]
    return [(_quoted(key, safe), _quoted(text, safe)) for key, text in pairs]


def _items(value: Sequence[Json], safe: str | None) -> list[str]:
    return [_quoted(_text(item), safe) for item in value if item is not None]


def _quoted(text: str, safe: str | None) -> str:
    """Text with percent-encoding, except for the safe characters; ``None`` encodes nothing, for headers."""
    return text if safe is None else quote(text, safe=safe)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else canonical(value)
