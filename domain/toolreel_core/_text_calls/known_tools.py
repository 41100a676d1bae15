"""Names and parameters of the tools that exist, for the decoders of text calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from toolreel_core._jsontext.canonical import Json

_NAMESPACES: Final = ("functions.", "default_api.", "default_api:")
"""Prefixes that OpenAI's and Google's models put before tool names."""
_ALTERNATIVES: Final = ("anyOf", "oneOf", "allOf")


@dataclass(frozen=True, slots=True)
class Offered:
    """Names and argument schemas of the tools that a model may call."""

    names: frozenset[str]
    schemas: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The JSON Schema of each tool's arguments; a tool may be without one."""

    def named(self, raw: str) -> str:
        """The tool that a name means; a namespace is removed if the rest exists, nothing else is changed.

        >>> offered = Offered(frozenset({"ping"}))
        >>> offered.named(' "functions.ping" '), offered.named("functions.pong"), offered.named("Ping")
        ('ping', 'functions.pong', 'Ping')
        """
        name = raw.strip().strip("\"'`").strip()
        if name in self.names:
            return name
        for namespace in _NAMESPACES:
            rest = name.removeprefix(namespace)
            if rest != name and rest in self.names:
                return rest
        return name

    def beginning(self, text: str) -> str:
        """The longest known name that a text begins with; empty if there is none."""
        return max((name for name in self.names if text.startswith(name)), key=len, default="")

    def parameters(self, name: str) -> Mapping[str, Json]:
        """The schema of each parameter of a tool."""
        schema = self.schemas.get(name)
        properties = schema.get("properties") if isinstance(schema, Mapping) else None
        return properties if isinstance(properties, Mapping) else {}

    def parameter(self, name: str, key: str) -> Json:
        """The schema of one parameter, whose references are followed; null if there is none.

        >>> unit = {"properties": {"unit": {"$ref": "#/$defs/Unit"}}, "$defs": {"Unit": {"type": "string"}}}
        >>> Offered(frozenset({"ping"}), {"ping": unit}).parameter("ping", "unit")
        {'type': 'string'}
        """
        return self.meant(name, self.parameters(name).get(key))

    def meant(self, name: str, schema: Json) -> Json:
        """A schema inside a tool's schema, with its references resolved.

        The references of its alternatives are resolved too, but not deeper; each reference once, since they
        may be recursive.
        """
        return _meant(schema, self.schemas.get(name), set())

    def satisfied(self, name: str, given: Mapping[str, Json]) -> bool:
        """Whether all required parameters of a tool are given."""
        schema = self.schemas.get(name)
        required = schema.get("required") if isinstance(schema, Mapping) else None
        return not isinstance(required, Sequence) or all(key in given for key in required)

    def taking(self, given: Mapping[str, Json]) -> str:
        """The only tool that accepts these arguments; empty if there is none or more than one."""
        fitting = [
            name
            for name in sorted(self.names & self.schemas.keys())
            if given.keys() <= self.parameters(name).keys() and self.satisfied(name, given)
        ]
        return fitting[0] if len(fitting) == 1 else ""


def _meant(schema: Json, root: Json, seen: set[str]) -> Json:
    if not isinstance(schema, Mapping):
        return schema
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference not in seen:
        seen.add(reference)
        target = _meant(_at(root, reference), root, seen)
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**target, **beside} if isinstance(target, Mapping) else beside
    followed = {
        key: [_meant(option, root, seen) for option in options]
        for key in _ALTERNATIVES
        if isinstance(options := schema.get(key), Sequence) and not isinstance(options, str)
    }
    return {**schema, **followed} if followed else schema


def _at(root: Json, pointer: str) -> Json:
    """The target of a JSON pointer such as ``#/$defs/Unit``."""
    place = root
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        place = place.get(name) if isinstance(place, Mapping) else None
    return place
