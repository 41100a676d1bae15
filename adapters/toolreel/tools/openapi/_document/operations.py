"""The operations of a document, with their parameters and bodies; values encoded as a body."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias, assert_never
from urllib.parse import quote

from toolreel._internal.errors import OpenApiError
from toolreel.tools._call_context import ToolError
from toolreel.tools.openapi._document.document import Document
from toolreel.tools.openapi._request.parameters import (
    STYLES,
    Parameter,
    ParameterLocation,
    ParameterStyle,
    query_pairs,
    style_of,
)
from toolreel_core._jsontext.canonical import Json, Tree, canonical
from toolreel_core._jsontext.digest import digest

_Encoding: TypeAlias = Literal["json", "form", "multipart", "text"]
_PREFERRED: Final[tuple[_Encoding, ...]] = ("json", "form", "multipart", "text")
_ENCODINGS: Final[Mapping[str, _Encoding]] = {
    "application/json": "json",
    "application/x-www-form-urlencoded": "form",
    "multipart/form-data": "multipart",
    "text/plain": "text",
    "application/*": "json",
    "*/*": "json",
}


class EncodedBody(NamedTuple):
    """An encoded body."""

    content: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class RequestBody:
    """The request body of an operation."""

    kind: _Encoding
    media_type: str
    schema: Json
    """As in the document, not converted."""
    required: bool = False
    description: str = ""
    files: frozenset[str] = frozenset()
    """Names of the multipart fields that are sent as files."""
    parts: Mapping[str, Parameter] = field(default_factory=dict)
    """Encoding of form fields, if the document specifies it."""

    def encode(self, value: Json) -> EncodedBody:
        """Encode a value as a body.

        :raises ToolError: if this media type cannot represent the value
        """
        match self.kind:
            case "json":
                return EncodedBody(canonical(value).encode(), self.media_type)
            case "text":
                text = value if isinstance(value, str) else canonical(value)
                return EncodedBody(text.encode(), f"{self.media_type}; charset=utf-8")
            case "form":
                fields = [pair for name, item in self._fields(value) for pair in self._pairs(name, item)]
                return EncodedBody("&".join(fields).encode(), self.media_type)
            case "multipart":
                return _multipart(self._fields(value), self.files)
            case _:
                assert_never(self.kind)

    def _fields(self, value: Json) -> list[tuple[str, Json]]:
        if not isinstance(value, Mapping):
            raise ToolError(f"body: expected an object, since it is sent as {self.media_type}.")
        return [(name, item) for name, item in value.items() if item is not None]

    def _pairs(self, name: str, item: Json) -> list[str]:
        plain = Parameter(name, "query", "form", True, as_json=isinstance(item, Mapping))
        return query_pairs(self.parts.get(name, plain), item)


def body_of(document: Document, tree: Tree) -> RequestBody:
    """Parse a ``requestBody`` object; JSON is preferred to forms, and forms to text.

    :raises OpenApiError: if none of its media types is supported
    """
    content = tree.get("content")
    if not isinstance(content, Mapping) or not content:
        raise OpenApiError("requestBody.content: expected an object with a media type")
    for preferred in _PREFERRED:
        for media_type, value in content.items():
            if _encoding_of(media_type) == preferred:
                return _body(document, tree, preferred, media_type, document.opened(value, media_type))
    known = "JSON, form fields, multipart/form-data and text/plain"
    raise OpenApiError(f"it takes a body of {', '.join(content)}; only {known} can be written")


def _body(document: Document, tree: Tree, kind: _Encoding, media_type: str, media: Tree) -> RequestBody:
    schema, encodings = media.get("schema", True), media.get("encoding", {})
    properties = _properties(document, schema)
    files = (name for name, part in properties.items() if _holds_files(document, part))
    parts = {
        name: _part(name, document.opened(encoding, f"encoding.{name}"))
        for name, encoding in (encodings.items() if isinstance(encodings, Mapping) else ())
    }
    return RequestBody(
        kind,
        "application/json" if "*" in media_type else media_type,
        schema,
        tree.get("required") is True,
        str(tree.get("description", "")),
        frozenset(files),
        parts,
    )


def _part(name: str, encoding: Tree) -> Parameter:
    kind = str(encoding.get("contentType", ""))
    if "style" not in encoding and "explode" not in encoding:
        return Parameter(name, "query", "form", True, as_json=_encoding_of(kind) == "json" and bool(kind))
    style: ParameterStyle = style_of("query", encoding.get("style")) or "form"
    return Parameter(name, "query", style, encoding.get("explode", style == "form") is True)


def _encoding_of(media_type: str) -> _Encoding | None:
    bare = media_type.partition(";")[0].strip().lower()
    return "json" if bare.endswith("+json") else _ENCODINGS.get(bare)


def _properties(document: Document, schema: Json) -> Mapping[str, Json]:
    if not isinstance(schema, Mapping):
        return {}
    properties = document.opened(schema, "schema").get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _holds_files(document: Document, schema: Json) -> bool:
    """Whether a part is a file, or a list of files."""
    if not isinstance(schema, Mapping):
        return False
    resolved = document.opened(schema, "schema")
    items = resolved.get("items")
    inner = document.opened(items, "items") if isinstance(items, Mapping) else {}
    return _is_file(resolved) or _is_file(inner)


def _is_file(schema: Tree) -> bool:
    """Whether it is a file: by its format in OpenAPI 3.0, by its media type without encoding in 3.1."""
    octets = schema.get("contentMediaType") == "application/octet-stream"
    return schema.get("format") == "binary" or (octets and "contentEncoding" not in schema)


def _multipart(fields: list[tuple[str, Json]], files: frozenset[str]) -> EncodedBody:
    """A multipart body; the boundary is a digest of the content, so that recordings match."""
    parts = [
        (name, item, name in files)
        for name, value in fields
        for item in (value if isinstance(value, Sequence) and not isinstance(value, str) else [value])
    ]
    boundary = f"part-{digest(canonical([[name, item] for name, item, _ in parts]))[:32]}"
    body = b"".join(b"--%b\r\n%b\r\n" % (boundary.encode(), _one_part(*part)) for part in parts)
    content = body + b"--%b--\r\n" % boundary.encode()
    return EncodedBody(content, f"multipart/form-data; boundary={boundary}")


def _one_part(name: str, value: Json, is_file: bool) -> bytes:
    quoted = quote(name, safe=" !#$&'()*+,-./:;<=>?@[]^_`{|}~")
    head = f'content-disposition: form-data; name="{quoted}"'
    text = value if isinstance(value, str) else canonical(value)
    if is_file:
        head += f'; filename="{quoted}"\r\ncontent-type: application/octet-stream'
    elif isinstance(value, Mapping | Sequence) and not isinstance(value, str):
        head += "\r\ncontent-type: application/json"
    return f"{head}\r\n\r\n{text}".encode()


METHODS: Final = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
"""Methods whose operations can be tools."""

_VARIABLE: Final = re.compile(r"\{([^{}/]+)\}")
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
