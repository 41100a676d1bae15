"""The operations of a document: what each takes, and where it is sent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from toolreel._errors import OpenApiError
from toolreel.tools.openapi._document.document import Document
from toolreel.tools.openapi._request.bodies import RequestBody, body_of
from toolreel.tools.openapi._request.parameters import LOCATIONS, STYLES, Parameter, location_of, style_of
from toolreel_core._jsontext.canonical import Json, Tree

__all__ = ["METHODS", "OpenApiOperation", "OperationEntry", "listed_operations", "operation_of"]

METHODS: Final = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
"""Methods whose operations can be tools."""

_VARIABLE: Final = re.compile(r"\{([^{}/]+)\}")
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_RESERVED_HEADERS: Final = frozenset(
    {"accept", "accept-encoding", "authorization", "connection", "content-length", "content-type", "cookie"}
    | {"expect", "host", "keep-alive", "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade"}
)
"""Headers that the request itself decides about."""


@dataclass(frozen=True, slots=True)
class OperationEntry:
    """An operation as it stands in its document, before anybody has looked at what it takes."""

    method: str
    """In upper case."""
    path: str
    tree: Tree
    item: Tree
    """The path item around it."""

    @property
    def operation_id(self) -> str:
        """Its ``operationId``; empty if it has none."""
        said = self.tree.get("operationId")
        return said if isinstance(said, str) else ""

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags."""
        return tuple(tag for tag in _list(self.tree.get("tags")) if isinstance(tag, str))

    @property
    def deprecated(self) -> bool:
        """Whether it should not be used any more."""
        return self.tree.get("deprecated") is True

    @property
    def label(self) -> str:
        """What errors call it."""
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class OpenApiOperation:
    """An operation with all that it takes."""

    listed: OperationEntry
    parameters: tuple[Parameter, ...]
    """In the order of the document, those that belong to the whole path first."""
    body: RequestBody | None

    @property
    def words(self) -> str:
        """What it does, as the document says."""
        said = (self.listed.tree.get("summary"), self.listed.tree.get("description"))
        parts = dict.fromkeys(part.strip() for part in said if isinstance(part, str) and part.strip())
        return "\n\n".join(parts)


def listed_operations(document: Document) -> Iterator[OperationEntry]:
    """All operations of a document, in its order.

    :raises OpenApiError: if its ``paths`` cannot be read; says where
    """
    paths = document.tree.get("paths", {})
    if not isinstance(paths, Mapping):
        raise OpenApiError("paths: expected an object")
    for path, said in paths.items():
        if not path.startswith("/"):
            if path.startswith("x-"):
                continue
            raise OpenApiError(f"paths.{path}: a path begins with /")
        item = document.opened(said, f"paths.{path}")
        for key, value in item.items():
            if key.upper() in METHODS and key.islower():
                yield OperationEntry(key.upper(), path, document.opened(value, f"paths.{path}.{key}"), item)


def operation_of(document: Document, listed: OperationEntry) -> OpenApiOperation:
    """What an operation takes.

    :raises OpenApiError: if it takes something that cannot be sent
    """
    if "#" in listed.path or "{" in listed.path.partition("?")[2]:
        raise OpenApiError(f"{listed.path!r} holds a '#', or a variable after its '?', which a path cannot")
    found: dict[tuple[str, str], Parameter] = {}
    for said in (*_list(listed.item.get("parameters")), *_list(listed.tree.get("parameters"))):
        parameter = _parameter(document, document.opened(said, "parameters"))
        found[parameter.place, parameter.name] = parameter
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
    match parameter.place:
        case "header":
            return parameter.name.lower() not in _RESERVED_HEADERS
        case "path":
            return parameter.name in variables
        case _:
            return True


def _parameter(document: Document, tree: Tree) -> Parameter:
    name, place = tree.get("name"), location_of(tree.get("in"))
    if not isinstance(name, str) or not name or place is None:
        where = ", ".join(LOCATIONS)
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
        media_type, said = next(iter(content.items()))
        if not media_type.partition(";")[0].strip().endswith(("/json", "+json")):
            raise OpenApiError(
                f"parameter {name!r}: only JSON can be written in a parameter, not {media_type}"
            )
        schema = document.opened(said, media_type).get("schema", True)
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
