"""``OutputSpec``: the JSON Schema that a run's final answer has to fit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, JsonText, Tree, canonical, json_text, parse, partial_value, sound
from toolreel_core._schema import changed_within, check_schema
from toolreel_core._tools import SchemaLike, opened, schema_tree

VALUE: Final = "value"
"""The property that holds the value where its schema is not that of an object."""

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""The name of a schema, as OpenAI limits that of ``json_schema``."""
_COMBINING: Final = frozenset({"$ref", "anyOf", "oneOf", "allOf", "not", "enum", "const", "if"})
"""Keywords that OpenAI rejects at the root of a schema, in tools and in ``response_format``."""
_AT_ROOT: Final = ("$schema", "$defs", "definitions")
"""Keywords that stay at the root when a schema becomes that of a property."""
_SHARED: Final = ("#/$defs/", "#/definitions/")


@dataclass(frozen=True, slots=True)
class OutputSpec:
    """What a run's final answer has to be.

    Models and providers want an object. For any other schema, the model is asked for ``{"value": …}``; the
    value of the answer is what the schema describes.

    :raises ConfigError: if the schema or the name is invalid
    """

    schema: JsonText
    """JSON Schema (draft 2020-12) of the value."""
    name: str = "final_answer"
    """Name of the final tool, or of the schema in ``response_format``: letters, digits, ``_`` and ``-``."""
    description: str = ""
    """What the answer is, for the model."""
    sent: JsonText = field(init=False, repr=False, compare=False)
    """The schema that the model is asked to fit: always that of an object."""
    wrapped: bool = field(init=False, repr=False, compare=False)
    """Whether the value is a property of that object."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ConfigError(f"output: the name {self.name!r} does not fit {_NAME.pattern}")
        for part, text in (("description", self.description), ("schema", self.schema)):
            if sound(text) != text:
                raise ConfigError(f"output: {part}: holds a lone surrogate, which cannot be sent")
        tree = parse(self.schema)
        if not isinstance(tree, Mapping):
            raise ConfigError(f"output: expected a JSON Schema object, got {self.schema}")
        whole = opened(tree)
        wrapped = whole.get("type") != "object" or not _COMBINING.isdisjoint(whole)
        object.__setattr__(self, "wrapped", wrapped)
        object.__setattr__(self, "sent", canonical(_wrapped(tree) if wrapped else whole))
        try:
            check_schema(self.schema)
            check_schema(self.sent)
        except ConfigError as error:
            raise ConfigError(f"output: {error}") from None

    @classmethod
    def of(
        cls, schema: SchemaLike | OutputSpec, *, name: str = "final_answer", description: str = ""
    ) -> OutputSpec:
        """A spec from a JSON Schema as a mapping, or from anything that has one.

        >>> OutputSpec.of({"type": "array", "items": {"type": "integer"}}).sent
        '{"type":"object","properties":{"value":{"type":"array","items":{"type":"integer"}}},\
"required":["value"],"additionalProperties":false}'

        :param schema: a mapping, or an object with ``json_schema()`` or ``model_json_schema()``
        """
        if isinstance(schema, OutputSpec):
            return schema
        try:
            return cls(json_text(dict(schema_tree(schema)), "schema"), name, description)
        except ConfigError as error:
            place = "" if str(error).startswith("output: ") else "output: "
            raise ConfigError(f"{place}{error}") from None

    def value_of(self, answer: JsonText) -> JsonText:
        """The value in an answer that fits :attr:`sent`."""
        return canonical(cast("Tree", parse(answer))[VALUE]) if self.wrapped else answer

    def partial(self, text: str) -> Json:
        """The value in an answer that is still being written, for showing; ``None`` if there is none yet.

        >>> OutputSpec.of({"type": "array"}).partial('{"value": [1, 2')
        [1]

        :param text: what the model has written so far, as text or as arguments of the final tool
        """
        return self.value_so_far(partial_value(text))

    def value_so_far(self, answer: Json) -> Json:
        """The value in the beginning of an answer; ``None`` if there is none yet."""
        is_wrapper = self.wrapped and isinstance(answer, Mapping) and answer.keys() <= {VALUE}
        return cast("Tree", answer).get(VALUE) if is_wrapper else answer

    @property
    def keys(self) -> frozenset[str]:
        """The properties that the schema of the answer declares."""
        properties = cast("Tree", parse(self.sent)).get("properties")
        return frozenset(properties) if isinstance(properties, Mapping) else frozenset()


def _wrapped(tree: Tree) -> Tree:
    shared = {key: tree[key] for key in _AT_ROOT if key in tree}
    inner = _moved({key: value for key, value in tree.items() if key not in _AT_ROOT})
    shared = {key: _moved_each(value) for key, value in shared.items()}
    properties: Json = {VALUE: inner}
    return {
        "type": "object",
        "properties": properties,
        "required": [VALUE],
        "additionalProperties": False,
        **shared,
    }


def _moved_each(schemas: Json) -> Json:
    return {name: _moved(part) for name, part in schemas.items()} if isinstance(schemas, Mapping) else schemas


def _moved(schema: Json) -> Json:
    """A schema whose references to the old root point to where it is now."""
    if not isinstance(schema, Mapping):
        return schema
    moved = changed_within(schema, _moved)
    reference = moved.get("$ref")
    if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
        kept = reference.startswith(_SHARED)
        moved["$ref"] = reference if kept else f"#/properties/{VALUE}{reference[1:]}"
    return moved
