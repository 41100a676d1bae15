"""Build requests: the arguments of an operation, and the HTTP request for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from toolreel.http._bounded_decoder import ACCEPT_ENCODING
from toolreel.tools._call_context import ToolError
from toolreel.tools.openapi._document.document import Document
from toolreel.tools.openapi._document.operations import OpenApiOperation
from toolreel.tools.openapi._request.json_schema_conversion import Schemas
from toolreel.tools.openapi._request.parameters import (
    Parameter,
    expanded_path,
    header_text,
    query_pairs,
)
from toolreel.tools.openapi._request.security import Access
from toolreel_core._jsontext.canonical import Json, Tree

_BODY: Final = "body"
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_.-]")
"""Characters that are replaced in the name of an argument."""
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
