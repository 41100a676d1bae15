"""The operations of a document, with their parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from toolreel._internal.errors import OpenApiError
from toolreel.tools.openapi._document.document import Document
from toolreel.tools.openapi._request.body_encoding import RequestBody, body_of
from toolreel.tools.openapi._request.parameters import (
    STYLES,
    Parameter,
    ParameterLocation,
    style_of,
)
from toolreel_core._jsontext.canonical import Json, Tree

METHODS: Final = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
"""Methods whose operations can be tools."""

_VARIABLE: Final = re.compile(r"\{([^{}/]+)\}")
"""A variable in a path."""
# The `token` of RFC 9110, which names of headers and cookies consist of.
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_RESERVED_HEADERS: Final = frozenset(
    {"accept", "accept-encoding", "authorization", "connection", "content-length", "content-type", "cookie"}
    | {"expect", "host", "keep-alive", "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade"}
)
"""Headers that the HTTP request sets itself, so that they cannot be arguments."""


@dataclass(frozen=True, slots=True)
class OperationEntry:
    """An operation in its document, before its parameters are parsed."""

    method: str
    """In upper case."""
    path: str
    tree: Tree
    item: Tree
    """The path item around it."""

    @property
    def operation_id(self) -> str:
        """Its ``operationId``; empty if it has none."""
        value = self.tree.get("operationId")
        return value if isinstance(value, str) else ""

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags."""
        return tuple(tag for tag in _list(self.tree.get("tags")) if isinstance(tag, str))

    @property
    def deprecated(self) -> bool:
        """Whether the document marks it as deprecated."""
        return self.tree.get("deprecated") is True

    @property
    def label(self) -> str:
        """Its name in error messages."""
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class OpenApiOperation:
    """An operation with its parameters and body."""

    listed: OperationEntry
    parameters: tuple[Parameter, ...]
    """In the order of the document; those of the path item come first."""
    body: RequestBody | None

    @property
    def description(self) -> str:
        """Its summary and description."""
        texts = (self.listed.tree.get("summary"), self.listed.tree.get("description"))
        parts = dict.fromkeys(part.strip() for part in texts if isinstance(part, str) and part.strip())
        return "\n\n".join(parts)


def listed_operations(document: Document) -> Iterator[OperationEntry]:
    """All operations of a document, in its order.

    :raises OpenApiError: if its ``paths`` are invalid; names the place
    """
    paths = document.tree.get("paths", {})
    if not isinstance(paths, Mapping):
        raise OpenApiError("paths: expected an object")
    for path, value in paths.items():
        if not path.startswith("/"):
            if path.startswith("x-"):
                continue
            raise OpenApiError(f"paths.{path}: a path begins with /")
        item = document.opened(value, f"paths.{path}")
        for key, entry in item.items():
            if key.upper() in METHODS and key.islower():
                yield OperationEntry(key.upper(), path, document.opened(entry, f"paths.{path}.{key}"), item)


def operation_of(document: Document, listed: OperationEntry) -> OpenApiOperation:
    """An operation with its parameters and body.

    :raises OpenApiError: if it has a parameter or body that we cannot send
    """
    if "#" in listed.path or "{" in listed.path.partition("?")[2]:
        raise OpenApiError(f"{listed.path!r} holds a '#', or a variable after its '?', which a path cannot")
    found: dict[tuple[str, str], Parameter] = {}
    for value in (*_list(listed.item.get("parameters")), *_list(listed.tree.get("parameters"))):
        parameter = _parameter(document, document.opened(value, "parameters"))
        found[parameter.location, parameter.name] = parameter
    for name in _VARIABLE.findall(listed.path):
        found.setdefault(
            ("path", name), Parameter(name, "path", "simple", False, True, schema={"type": "string"})
        )
    variables = {*_VARIABLE.findall(listed.path)}
    body = listed.tree.get("requestBody")
    return OpenApiOperation(
        listed,
        tuple(each for each in found.values() if _is_argument(each, variables)),
        None if body is None else body_of(document, document.opened(body, "requestBody")),
    )


def _is_argument(parameter: Parameter, variables: set[str]) -> bool:
    match parameter.location:
        case "header":
            return parameter.name.lower() not in _RESERVED_HEADERS
        case "path":
            return parameter.name in variables
        case _:
            return True


def _parameter(document: Document, tree: Tree) -> Parameter:
    name = tree.get("name")
    known: dict[str, ParameterLocation] = {location: location for location in STYLES}
    place = known.get(str(tree.get("in")))
    if not isinstance(name, str) or not name or place is None:
        where = ", ".join(STYLES)
        raise OpenApiError(f"a parameter needs a name, and a place of {where}; got {tree.get('in')!r}")
    if place in {"header", "cookie"} and not _TOKEN.fullmatch(name):
        raise OpenApiError(f"{name!r} cannot be the name of a {place}")
    style = style_of(place, tree.get("style"))
    if style is None:
        allowed = ", ".join(STYLES[place])
        raise OpenApiError(
            f"parameter {name!r}: the style of a {place} parameter is {allowed}, got {tree['style']!r}"
        )
    content = tree.get("content")
    schema: Json = tree.get("schema", True)
    if isinstance(content, Mapping) and content:
        media_type, value = next(iter(content.items()))
        if not media_type.partition(";")[0].strip().endswith(("/json", "+json")):
            raise OpenApiError(
                f"parameter {name!r}: only JSON can be written in a parameter, not {media_type}"
            )
        schema = document.opened(value, media_type).get("schema", True)
    return Parameter(
        name,
        place,
        style,
        tree.get("explode", style == "form") is True,
        required=place == "path" or tree.get("required") is True,
        as_json=isinstance(content, Mapping) and bool(content),
        reserved=tree.get("allowReserved") is True,
        schema=schema,
        description=str(tree.get("description", "")),
    )


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()
