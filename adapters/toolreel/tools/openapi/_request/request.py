"""Build requests: the schema of an operation's arguments, and the HTTP request for arguments.

Schemas of OpenAPI are converted to self-contained JSON Schema (draft 2020-12). Referenced ones are copied to
``$defs``. OpenAPI 3.0 writes null as ``nullable`` and exclusive bounds as booleans; both are converted.
Properties that only a server sends (``readOnly``) are removed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from toolreel._internal.errors import OpenApiError
from toolreel.http._bounded_decoder import ACCEPT_ENCODING
from toolreel.tools._call_context import ToolError
from toolreel.tools.openapi._document.document import Document
from toolreel.tools.openapi._document.operations import OpenApiOperation
from toolreel.tools.openapi._request.parameters import (
    Parameter,
    expanded_path,
    header_text,
    query_pairs,
)
from toolreel.tools.openapi._request.security import Access
from toolreel_core._jsontext.canonical import Json, Tree
from toolreel_core._schema.drafts import modern
from toolreel_core._schema.walk import changed_within

_PARTS: Final = "#/components/schemas/"
# Characters that cannot be in a name under $defs without escaping.
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_DROPPED_KEYWORDS: Final = frozenset(
    {"$anchor", "$comment", "discriminator", "example", "externalDocs", "xml"}
)
"""Keywords that do not affect validation, or not in JSON Schema."""
_REJECTED_KEYWORDS: Final = ("$id", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor")
"""Keywords that change the meaning of references, which we resolve as JSON pointers only."""


class Schemas:
    """Converts the schemas of one operation, and all that they refer to."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._names: dict[str, str] = {}
        self._pending: list[tuple[str, str]] = []

    def translated(self, schema: Json) -> Json:
        """Convert one schema; its references point to ``$defs``.

        :raises OpenApiError: if it refers out of its document, or uses an unsupported keyword
        """
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, Mapping):
            raise OpenApiError(f"expected a schema, got {schema!r:.80}")
        for keyword in _REJECTED_KEYWORDS:
            if keyword in schema:
                raise OpenApiError(f"a schema with {keyword} is not supported; use $ref with a JSON pointer")
        if "$ref" in schema:
            return self._referring(schema)
        kept = {key: value for key, value in self._sendable(schema).items() if key not in _DROPPED_KEYWORDS}
        kept = {key: value for key, value in kept.items() if not key.startswith("x-")}
        nullable = self._document.older and kept.pop("nullable", False) is True
        within = changed_within(kept, self.translated)
        return _with_null(within) if nullable else within

    def standing_alone(self, schema: Tree) -> Tree:
        """A schema of converted ones, with all that they refer to, in draft 2020-12."""
        parts: dict[str, Json] = {}
        while self._pending:
            reference, name = self._pending.pop(0)
            parts[name] = self.translated(self._document.found(reference))
        whole = modern({**schema, "$defs": parts} if parts else schema)
        return whole if isinstance(whole, Mapping) else schema

    def _referring(self, schema: Tree) -> Json:
        """A reference; OpenAPI 3.0 ignores its siblings, but a description is harmless."""
        reference = {"$ref": f"#/$defs/{self._name(str(schema['$ref']))}"}
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        if self._document.older:
            beside = {key: value for key, value in beside.items() if key == "description"}
        rest = self.translated(beside) if beside else {}
        return {**reference, **rest} if isinstance(rest, Mapping) else reference

    def _name(self, reference: str) -> str:
        if reference not in self._names:
            self._document.found(reference)
            short = _FOREIGN.sub("_", reference.removeprefix(_PARTS).removeprefix("#/")) or "document"
            name, used = short, set(self._names.values())
            while name in used:
                name = f"{short}_{len(used)}"
            self._names[reference] = name
            self._pending.append((reference, name))
        return self._names[reference]

    def _sendable(self, schema: Tree) -> Tree:
        """The schema without ``readOnly`` properties."""
        properties, required = schema.get("properties"), schema.get("required")
        if not isinstance(properties, Mapping):
            return schema
        sent = {name: part for name, part in properties.items() if not self._only_read(part)}
        if len(sent) == len(properties):
            return schema
        without: dict[str, Json] = {**schema, "properties": sent}
        if isinstance(required, Sequence):
            gone = properties.keys() - sent.keys()
            without["required"] = [name for name in required if name not in gone]
        return without

    def _only_read(self, schema: Json) -> bool:
        if not isinstance(schema, Mapping):
            return False
        if "$ref" in schema and (self._document.older or "readOnly" not in schema):
            target = self._document.found(str(schema["$ref"]))
            return isinstance(target, Mapping) and target.get("readOnly") is True
        return schema.get("readOnly") is True


def _with_null(schema: Tree) -> Json:
    """The schema, with null allowed."""
    kind, choices = schema.get("type"), schema.get("enum")
    if not isinstance(kind, str):
        return {"anyOf": [schema, {"type": "null"}]}
    wider: dict[str, Json] = {**schema, "type": [kind, "null"]}
    if isinstance(choices, Sequence) and None not in [*choices]:
        wider["enum"] = [*choices, None]
    return wider


_BODY: Final = "body"
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_.-]")
_MAX_ARGUMENT_NAME: Final = 64
"""Maximum length of an argument name that every provider accepts."""


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A complete HTTP request; its ``repr`` shows only the method, because it may contain credentials."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    content: bytes | None = field(repr=False)


class RequestBuilder:
    """Builds the requests of one operation.

    Arguments are the parameters by name, and ``body``. Duplicate names get their location as a prefix, such
    as ``query_id``; characters that providers reject in names are replaced by ``_``.
    """

    def __init__(self, document: Document, operation: OpenApiOperation, base: str, access: Access) -> None:
        self._operation = operation
        self._base = base
        self._access = access
        free = [each for each in operation.parameters if not access.takes(each.location, each.name)]
        self._arguments = _named(free, has_body=operation.body is not None)
        self.schema: Tree = self._schema(Schemas(document))
        """Schema of the arguments, in draft 2020-12."""

    def prepare(self, arguments: Mapping[str, Json]) -> PreparedRequest:
        """The request for arguments that match the schema.

        :raises ToolError: if an argument cannot be sent in its location
        """
        present = [(each, arguments[name]) for name, each in self._arguments.items() if name in arguments]
        # Some documents have a fixed query in the path.
        template, _, fixed = self._operation.listed.path.partition("?")
        path = expanded_path(template, {each.name: (each, value) for each, value in self._in_path(arguments)})
        query = [fixed] if fixed else []
        query += [*_pairs(present, "query"), *self._access.pairs("query")]
        cookies = [*_pairs(present, "cookie"), *self._access.pairs("cookie")]
        headers = {
            each.name.lower(): header_text(each, value)
            for each, value in present
            if each.location == "header" and value is not None
        }
        content = None
        if self._operation.body is not None and arguments.get(_BODY) is not None:
            content, headers["content-type"] = self._operation.body.encode(arguments[_BODY])
        headers |= {"accept": "application/json, text/*;q=0.9, */*;q=0.5", "accept-encoding": ACCEPT_ENCODING}
        headers |= {"cookie": "; ".join(cookies)} if cookies else {}
        url = f"{self._base}{path}{'?' * bool(query)}{'&'.join(query)}"
        return PreparedRequest(self._operation.listed.method, url, headers | self._access.headers, content)

    def _in_path(self, arguments: Mapping[str, Json]) -> list[tuple[Parameter, Json]]:
        in_path = [(name, each) for name, each in self._arguments.items() if each.location == "path"]
        for name, _ in in_path:
            if name not in arguments:
                raise ToolError(f"{name} is missing; it is a part of the path.")
        return [(each, arguments[name]) for name, each in in_path]

    def _schema(self, schemas: Schemas) -> Tree:
        properties: dict[str, Json] = {}
        required: list[Json] = []
        for name, each in self._arguments.items():
            properties[name] = _described(schemas.translated(each.schema), each.description)
            required += [name] if each.required else []
        body = self._operation.body
        if body is not None:
            properties[_BODY] = _described(schemas.translated(body.schema), body.description)
            required += [_BODY] if body.required else []
        whole: dict[str, Json] = {"type": "object", "properties": properties, "additionalProperties": False}
        return schemas.standing_alone({**whole, "required": required} if required else whole)


def _pairs(present: list[tuple[Parameter, Json]], location: str) -> list[str]:
    return [pair for each, value in present if each.location == location for pair in query_pairs(each, value)]


def _named(parameters: list[Parameter], *, has_body: bool) -> dict[str, Parameter]:
    named: dict[str, Parameter] = {}
    for parameter in parameters:
        plain = _UNFIT.sub("_", parameter.name)[:_MAX_ARGUMENT_NAME]
        placed = f"{parameter.location}_{plain}"[:_MAX_ARGUMENT_NAME]
        candidates = [plain, placed, *(f"{placed[: _MAX_ARGUMENT_NAME - 4]}_{n}" for n in range(2, 999))]
        free = (name for name in candidates if name not in named and not (has_body and name == _BODY))
        named[next(free)] = parameter
    return named


def _described(schema: Json, description: str) -> Json:
    if not description.strip():
        return schema
    known: Tree = schema if isinstance(schema, Mapping) else ({} if schema else {"not": {}})
    return {**known, "description": description.strip()}
