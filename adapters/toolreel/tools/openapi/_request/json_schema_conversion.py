"""Schemas of OpenAPI as self-contained JSON Schema (draft 2020-12), for the arguments of an operation.

Referenced ones are copied to ``$defs``. OpenAPI 3.0 writes null as ``nullable`` and exclusive bounds as
booleans; both are converted. Properties that only a server sends (``readOnly``) are removed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from toolreel._internal.errors import OpenApiError
from toolreel.tools.openapi._document.document import Document
from toolreel_core._jsontext.canonical import Json, Tree
from toolreel_core._schema.draft_upgrade import modern
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
