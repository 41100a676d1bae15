"""Request bodies of operations: their schemas, and values encoded as their media types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias, assert_never
from urllib.parse import quote

from toolreel._internal.errors import OpenApiError
from toolreel.tools._call_context import ToolError
from toolreel.tools.openapi._document.document import Document
from toolreel.tools.openapi._request.parameters import (
    Parameter,
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
