"""JSON Schema of stored forms, generated from the annotations by which the codec reads them.

It says what a form is made of; what a class checks beyond its annotations (the name of a tool, JSON text that
is canonical) only the reader knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, cast, get_args, get_origin, get_type_hints

from pyrsistent import PMap

from toolreel_core._conversation import Blob, Form, Message, Transcript
from toolreel_core._jsontext import Json, JsonText, Tree
from toolreel_core._protocol.codec import encode, tag

_SCALARS: Final[Mapping[object, str]] = {
    NoneType: "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
}


def definitions(kinds: Mapping[str, object], instead: Mapping[object, object]) -> dict[str, Json]:
    """The ``$defs`` of these annotations by name, and of every class that they need by its tag.

    :param instead: annotations by those that they stand for
    """
    defs: dict[str, Json] = {}

    def schema(hint: object) -> Tree:
        hint = instead.get(hint, hint)
        if hint is JsonText:
            return {"type": "string", "contentMediaType": "application/json"}
        if hint is Transcript:
            messages = schema(tuple[Message, ...])
            parts: Tree = {
                "messages": messages,
                "form": schema(Form),
                "kept": {"anyOf": [messages, {"type": "null"}]},
            }
            return {"anyOf": [messages, schema_of_object(parts, [*parts])]}
        origin, arguments = get_origin(hint), get_args(hint)
        if origin in {Union, UnionType}:
            return {"anyOf": [schema(kind) for kind in arguments]}
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin is tuple:
            return {"type": "array", "items": schema(arguments[0])}
        if origin is PMap:
            return {"type": "object", "additionalProperties": schema(arguments[1])}
        if not is_dataclass(hint):
            return {"type": _SCALARS[hint]}
        kind = cast("type[Any]", hint)
        if tag(kind) not in defs:
            defs[tag(kind)] = {}  # classes may refer to each other
            defs[tag(kind)] = class_schema(kind)
        return {"$ref": f"#/$defs/{tag(kind)}"}

    def class_schema(kind: type[Any]) -> Tree:
        hints, stored = get_type_hints(kind), [item for item in fields(kind) if item.init]
        properties: dict[str, Json] = {"type": {"const": tag(kind)}}
        for item in stored:
            default: Tree = {} if item.default is MISSING else {"default": encode(item.default)}
            properties[item.name] = {**schema(hints[item.name]), **default}
        required = ["type", *(item.name for item in stored if item.default is MISSING)]
        if kind is Blob:  # a document has its bytes once, by their digest
            properties["digest"] = {"type": "string"}
            both: list[Json] = [{"required": ["base64"]}, {"required": ["digest"]}]
            return {**schema_of_object(properties, ["type", "media_type"]), "oneOf": both}
        return {"description": str(kind.__doc__).partition("\n")[0], **schema_of_object(properties, required)}

    named = {name: schema(hint) for name, hint in kinds.items()}
    return {**named, **dict(sorted(defs.items()))}


def schema_of_object(properties: Tree, required: list[str]) -> Tree:
    """The schema of an object that has no other properties."""
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
