"""JSON Schema: checking tool schemas, and arguments against them.

Every validator is built here, with an empty registry: a schema from outside can never make
the core reach for the network. jsonschema is imported when a schema is first needed,
because it takes longer to import than all the rest of the core.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from toolreel.errors import ConfigError
from toolreel.jsontext import Json, JsonText, canonical, parse

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

__all__ = ["Violation", "check_schema", "violations"]

AT_MOST: Final = 3
"""Violations that are told at once: more would drown the one that matters."""

_SAMPLE: Final = 80
"""Characters of an offending value that are quoted back."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One disagreement of arguments with their schema, in words that help to mend it."""

    pointer: str
    """JSON pointer to the offending place; empty for the arguments as a whole."""
    expected: str
    got: str

    def __str__(self) -> str:
        return f"{self.pointer or 'arguments'}: expected {self.expected}, got {self.got}"


def check_schema(schema: JsonText) -> None:
    """Make sure that a schema can be used, now rather than in the middle of a run.

    :raises ConfigError: if it is not JSON Schema (draft 2020-12), refers to another document,
        to a place that does not exist, or to itself without end
    """
    _validator(schema)


def violations(schema: JsonText, arguments: JsonText) -> tuple[Violation, ...]:
    """What is wrong with arguments, in document order, at most three.

    >>> schema = canonical({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
    >>> [str(violation) for violation in violations(schema, canonical({"n": "3"}))]
    ['/n: expected integer, got "3"']
    """
    errors = sorted(_validator(schema).iter_errors(parse(arguments)), key=_place)
    return tuple(islice((_violation(error) for error in errors), AT_MOST))


@lru_cache(maxsize=1024)
def _validator(schema: JsonText) -> Draft202012Validator:
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415 - see the module's docstring
    from referencing import Registry  # noqa: PLC0415
    from referencing.exceptions import Unresolvable  # noqa: PLC0415

    tree = parse(schema)
    if not isinstance(tree, Mapping):
        raise ConfigError(f"a tool's parameters must be a JSON Schema object, not {_short(tree)}")
    try:
        Draft202012Validator.check_schema(tree)
    except SchemaError as error:
        raise ConfigError(f"not a JSON Schema at {error.json_path}: {error.message}") from None
    validator = Draft202012Validator(tree, registry=Registry())
    try:
        validator.is_valid({})
        for reference in sorted(set(_references(tree)) - {"#"}):
            if not reference.startswith("#"):
                raise ConfigError(f"$ref {reference!r} points outside its schema; put that under $defs")
            Draft202012Validator({**tree, "$ref": reference}, registry=Registry()).is_valid({})
    except Unresolvable as error:
        raise ConfigError(f"$ref {error.ref!r} points to nothing in its schema") from None
    except RecursionError:
        raise ConfigError("the schema refers to itself without end") from None
    return validator


def _references(tree: Json) -> Iterator[str]:
    match tree:
        case Mapping():
            for key, value in tree.items():
                if key == "$ref" and isinstance(value, str):
                    yield value
                else:
                    yield from _references(value)
        case str():
            return
        case Sequence():
            for value in tree:
                yield from _references(value)
        case _:
            return


def _place(error: ValidationError) -> tuple[str, ...]:
    return tuple(str(step) for step in error.absolute_path)


def _violation(error: ValidationError) -> Violation:
    pointer = "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in error.absolute_path)
    instance: Any = error.instance
    return Violation(pointer, _expected(error), _short(instance))


def _expected(error: ValidationError) -> str:
    rule: Any = error.validator_value
    schema: Any = error.schema
    instance: Any = error.instance
    match error.validator:
        case "type":
            return rule if isinstance(rule, str) else " or ".join(rule)
        case "enum":
            return "one of " + ", ".join(_short(choice) for choice in rule)
        case "const":
            return _short(rule)
        case "required":
            return "the required " + ", ".join(repr(name) for name in rule if name not in instance)
        case "additionalProperties":
            allowed = ", ".join(repr(name) for name in schema.get("properties", {}))
            return f"only {allowed}" if allowed else "no properties at all"
        case _:
            return f"what {error.validator} {_short(rule)} allows"


def _short(value: Json) -> str:
    text = canonical(value)
    return text if len(text) <= _SAMPLE else text[:_SAMPLE] + "…"
