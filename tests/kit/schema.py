"""The JSON Schema of the messages of ``python -m toolreel_core``, from the annotations that the codec reads.

It says what a form is made of; what a class checks beyond its annotations (the name of a tool, JSON text that
is canonical) only the reader knows. ``python -m tests.kit.write`` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin

from pyrsistent import PMap

from toolreel_core._conversation import Blob, Form, Message, Transcript
from toolreel_core._jsontext import Json, JsonText, Tree
from toolreel_core._plan import Plan, Request
from toolreel_core._protocol import (
    CODEC_VERSION,
    Effect,
    Event,
    HttpChunk,
    HttpRequest,
    HttpResponse,
    Note,
    Outcome,
    State,
    encode,
    stored_fields,
    type_name,
)
from toolreel_core._replies import Delta

_SCALARS: Mapping[object, str] = {
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
        if type_name(kind) not in defs:
            defs[type_name(kind)] = {}  # classes may refer to each other
            defs[type_name(kind)] = class_schema(kind)
        return {"$ref": f"#/$defs/{type_name(kind)}"}

    def class_schema(kind: Any) -> Tree:  # noqa: ANN401 - a dataclass
        properties: dict[str, Json] = {"type": {"const": type_name(kind)}}
        required = ["type"]
        for item, hint in stored_fields(kind):
            default: Tree = {} if item.default is MISSING else {"default": encode(item.default)}
            properties[item.name] = {**schema(hint), **default}
            required += [item.name] if item.default is MISSING else []
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


def message_schema() -> Tree:
    """The JSON Schema of what a host writes (``line``) and reads (``answer``), and of all values in them."""
    given = Event | HttpResponse | HttpChunk
    kinds: dict[str, object] = {"event": given, "effect": Effect, "note": Note, "outcome": Outcome}
    kinds |= {"delta": Delta, "plan": Plan, "state": State}
    defs = definitions(kinds, {Request: HttpRequest})
    version: Tree = {"const": CODEC_VERSION}
    run: Tree = {"type": "string", "minLength": 1}
    digests: Tree = {"type": "object", "additionalProperties": {"type": "string"}}
    document = {"toolreel": version, "value": _schema_reference("state"), "blobs": digests}
    line: Tree = {
        "toolreel": version,
        "run": run,
        "start": _schema_reference("plan"),
        "state": _schema_reference("stored_state"),
        "event": _schema_reference("event"),
        "close": {"const": True},
        "with": _list_schema({"enum": ["state", "journal"]}),
    }
    text: Tree = {"type": "string"}
    answer: Tree = {
        "toolreel": version,
        "run": run,
        "step": {"type": "integer"},
        "effects": _list_schema(_schema_reference("effect")),
        "notes": _list_schema(_schema_reference("note")),
        "outcome": {"anyOf": [_schema_reference("outcome"), {"type": "null"}]},
        "state": _schema_reference("stored_state"),
        "journal": _list_schema(text),
        "deltas": _list_schema(_schema_reference("delta")),
        "done": {"type": "boolean"},
        "closed": {"const": True},
        "error": schema_of_object({"field": text, "message": text}, ["field", "message"]),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Messages of toolreel_core, version {CODEC_VERSION}",
        "$defs": {
            "line": schema_of_object(line, ["toolreel"]),
            "answer": schema_of_object(answer, ["toolreel"]),
            "stored_state": schema_of_object(document, ["toolreel", "value"]),
            **defs,
        },
    }


def _schema_reference(name: str) -> Tree:
    return {"$ref": f"#/$defs/{name}"}


def _list_schema(item: Tree) -> Tree:
    return {"type": "array", "items": item}


def schema_text() -> str:
    """The schema as it is printed."""
    return json.dumps(message_schema(), indent=1, ensure_ascii=False) + "\n"
