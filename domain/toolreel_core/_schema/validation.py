"""Validate tool schemas, and arguments against them.

Every validator of jsonschema is built here, with an empty registry: a schema from outside can never make
the core reach for the network. jsonschema is imported when it is first needed, for a schema or arguments that
``common_keywords`` does not accept, because it takes longer to import than the rest of the core.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, JsonText, Tree, canonical, deeper, parse, quote
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._schema.common_keywords import MAX_LEVELS, compiled
from toolreel_core._schema.patterns import in_python

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

AT_MOST: Final = 3
"""Maximum violations reported at once: more would hide the one that matters from the model."""

_SAMPLE: Final = 80
"""Characters of an offending value that are quoted back."""

_REFERENCES: Final = ("$ref", "$dynamicRef")

_Resolver: TypeAlias = Any
"""The resolver of the ``referencing`` package, a class that it does not export."""

_Located: TypeAlias = "tuple[Json, _Resolver]"
"""A schema, and the resolver for the references in it."""


class Violation(NamedTuple):
    """One schema violation of arguments, worded so that the model can correct it."""

    pointer: str
    """JSON pointer to the offending place; empty for the arguments as a whole."""
    expected: str
    got: str

    def __str__(self) -> str:
        return f"{self.pointer or 'arguments'}: expected {self.expected}, got {self.got}"


def check_schema(schema: JsonText) -> None:
    """Check that a schema is usable, before a run instead of in the middle of it.

    :raises ConfigError: if it is not JSON Schema (draft 2020-12), nests too deeply, refers to
        another document, to a place that does not exist, or to itself without end
    """
    if compiled(schema) is None:
        _validator(schema)


def violations(schema: JsonText, arguments: JsonText) -> tuple[Violation, ...]:
    """The violations of a schema by arguments, in document order, at most three.

    >>> schema = canonical({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
    >>> [str(violation) for violation in violations(schema, canonical({"n": "3"}))]
    ['/n: expected integer, got "3"']
    """
    tree = parse(arguments)
    if _passes_common_check(schema, tree):
        return ()
    try:
        errors = sorted(
            _validator(schema).iter_errors(tree), key=lambda error: _document_position(error, tree)
        )
    except OverflowError:
        # jsonschema divides by a fractional multipleOf in floating point.
        return (Violation("", "numbers of ordinary size", _short_text(tree)),)
    except RecursionError:
        return (Violation("", "less nesting than its schema takes", _short_text(tree)),)
    # jsonschema counts every missing property; one violation names them all.
    return tuple(islice(dict.fromkeys(map(_violation_of, errors)), AT_MOST))


_NAMES: Final = 20
"""Maximum parameters named in a violation."""
_NO_NAME: Final = lazy_pattern(r"""[\s<>="'{}]|:\Z|\A\Z""")
"""What the name of a parameter does not have: markup or a sign of the call around it."""
_OPENS: Final = frozenset({
    "additionalProperties", "patternProperties", "unevaluatedProperties", "propertyNames",
    "anyOf", "oneOf", "allOf", "if", "$ref", "$dynamicRef", "dependentSchemas",
})  # fmt: skip
"""Keywords that may allow more keys than a schema's properties."""


def unknown_keys(schema: JsonText, arguments: JsonText) -> tuple[Violation, ...]:
    """The violation of valid arguments none of which the schema declares, or with a key that is no name.

    Where nothing is required, a schema allows arguments that were all misnamed.

    >>> schema = canonical({"type": "object", "properties": {"query": {"type": "string"}}})
    >>> [str(found) for found in unknown_keys(schema, canonical({"q": "cats"}))]
    ['arguments: expected no parameters but query, got "q"']
    """
    declared = _declared_parameters(schema)
    given = cast("Mapping[str, Json]", parse(arguments)) if declared else {}
    unknown = [key for key in given if key not in declared]
    if not unknown or (len(unknown) < len(given) and not any(map(_NO_NAME.search, unknown))):
        return ()
    names = ", ".join(sorted(declared)[:_NAMES])
    return (Violation("", f"no parameters but {names}", ", ".join(map(_short_text, unknown[:AT_MOST]))),)


@lru_cache(maxsize=256)
def _declared_parameters(schema: JsonText) -> frozenset[str]:
    """The parameters of a schema that says nothing of others; empty if it may mean more."""
    tree = cast("Mapping[str, Json]", parse(schema))
    properties = tree.get("properties")
    return (
        frozenset(properties) if isinstance(properties, Mapping) and _OPENS.isdisjoint(tree) else frozenset()
    )


def broken_places(schema: JsonText, arguments: Json) -> tuple[tuple[str | int, ...], ...]:
    """The paths of all values that violate a schema.

    >>> broken_places(canonical({"properties": {"n": {"type": "integer"}}}), {"n": "3"})
    (('n',),)
    """
    if _passes_common_check(schema, arguments):
        return ()
    try:
        return tuple(tuple(error.absolute_path) for error in _validator(schema).iter_errors(arguments))
    except (OverflowError, RecursionError):  # see violations, which will say so
        return ((),)


def refused_nulls(schema: JsonText, arguments: JsonText) -> tuple[str, ...]:
    """The names of optional arguments that are null where the schema rejects null.

    >>> schema = canonical({"properties": {"a": {"type": "string"}, "b": {"type": ["string", "null"]}}})
    >>> refused_nulls(schema, canonical({"a": None, "b": None}))
    ('a',)
    """
    if "null" not in arguments:
        return ()
    tree: Any = parse(arguments)
    nulls = [name for name, value in tree.items() if value is None]
    if not nulls or _passes_common_check(schema, tree):
        return ()
    needed = cast("Mapping[str, Any]", parse(schema)).get("required", ())
    try:
        errors = list(_validator(schema).iter_errors(tree))
    except (OverflowError, RecursionError):  # see violations, which will say so
        return ()
    refused = {error.absolute_path[0] for error in errors if len(error.absolute_path) == 1}
    return tuple(name for name in nulls if name in refused and name not in needed)


def _passes_common_check(schema: JsonText, value: Json) -> bool:
    """Whether the check of common keywords accepts a value; if not, jsonschema decides."""
    check = compiled(schema)
    return check is not None and check(value)


@lru_cache(maxsize=1024)
def _validator(schema: JsonText) -> Draft202012Validator:
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415 - see the module's docstring
    from referencing import Registry  # noqa: PLC0415

    if deeper(schema, MAX_LEVELS):
        raise ConfigError(f"a schema may not nest deeper than {MAX_LEVELS} levels")
    tree = parse(schema)
    if not isinstance(tree, Mapping):
        raise ConfigError(f"a tool's parameters must be a JSON Schema object, not {_short_text(tree)}")
    tree = cast("Tree", in_python(tree))
    if compiled(schema) is None:
        try:
            Draft202012Validator.check_schema(tree)
        except SchemaError as error:
            raise ConfigError(f"not a JSON Schema at {error.json_path}: {error.message}") from None
        if any(quote(keyword) in schema for keyword in _REFERENCES):
            check_references(tree)
    return Draft202012Validator(tree, registry=Registry())


class BadReference(ConfigError):
    """A reference that leads nowhere, or back to itself."""

    def __init__(self, why: str, schema: Mapping[str, Json], keyword: str) -> None:
        super().__init__(why)
        self.place = schema, keyword
        """The schema that holds it, and under which keyword."""


def check_references(tree: Mapping[str, Json]) -> None:
    """Resolve every reference, because validating a value resolves only the ones it reaches.

    :raises BadReference: if one leads nowhere, or back to itself
    """
    from referencing import Registry  # noqa: PLC0415
    from referencing.jsonschema import DRAFT202012  # noqa: PLC0415

    checked: set[int] = set()
    pending: list[_Located] = [(tree, Registry().resolver_with_root(DRAFT202012.create_resource(tree)))]
    while pending:
        for schema, resolver in _applied_schemas(*pending.pop(), (), checked):
            pending += _locate_schemas(
                DRAFT202012.subresources_of(cast("Mapping[str, Any]", schema)), resolver
            )


def _applied_schemas(
    schema: Json, resolver: _Resolver, above: tuple[Mapping[str, Json], ...], checked: set[int]
) -> Iterator[_Located]:
    """A schema and all schemas that it applies to the same value; a cycle would never end."""
    if not isinstance(schema, Mapping) or id(schema) in checked:
        return
    if any(schema is each for each in above):
        # Only a reference leads back to a schema that is being visited.
        last, keyword = next((one, key) for one in reversed(above) for key in _REFERENCES if key in one)
        raise BadReference("the schema refers to itself without end", last, keyword)
    for other, its_resolver in _subschemas_of_same_value(schema, resolver):
        yield from _applied_schemas(other, its_resolver, (*above, schema), checked)
    checked.add(id(schema))
    yield schema, resolver


def _subschemas_of_same_value(schema: Mapping[str, Any], resolver: _Resolver) -> Iterator[_Located]:
    for key in _REFERENCES:
        if key in schema:
            yield _reference_target(schema, key, resolver)
    parts = [schema[key] for key in ("not", "if", "then", "else") if key in schema]
    parts += (part for key in ("allOf", "anyOf", "oneOf") for part in schema.get(key, ()))
    parts += schema.get("dependentSchemas", {}).values()
    yield from _locate_schemas(parts, resolver)


def _locate_schemas(schemas: Iterable[Any], resolver: _Resolver) -> Iterator[_Located]:
    from referencing.jsonschema import DRAFT202012  # noqa: PLC0415

    for part in map(DRAFT202012.create_resource, schemas):
        yield part.contents, resolver.in_subresource(part)


def _reference_target(schema: Mapping[str, Any], keyword: str, resolver: _Resolver) -> _Located:
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415
    from referencing.exceptions import Unresolvable  # noqa: PLC0415

    reference: str = schema[keyword]
    try:
        found = resolver.lookup(reference)
        Draft202012Validator.check_schema(found.contents)
    except SchemaError:
        why = f"$ref {reference!r} points to something that is no JSON Schema"
        raise BadReference(why, schema, keyword) from None
    except (Unresolvable, TypeError, ValueError):
        # A pointer that goes on through a number or a text is a TypeError or a ValueError.
        where = "to nothing in its schema" if reference.startswith("#") else "outside its schema"
        why = f"$ref {reference!r} points {where}; put what it means under $defs"
        raise BadReference(why, schema, keyword) from None
    return found.contents, found.resolver


def _document_position(error: ValidationError, tree: Json) -> tuple[int, ...]:
    """Position of the invalid value in the document, as a sort key: the index of each step."""
    place: list[int] = []
    at: Any = tree
    for step in error.absolute_path:
        place.append(step if isinstance(step, int) else list(at).index(step))
        at = at[step]
    return tuple(place)


def _violation_of(error: ValidationError) -> Violation:
    pointer = "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in error.absolute_path)
    instance: Any = error.instance
    return Violation(pointer, _expectation_text(error), _short_text(instance))


def _expectation_text(error: ValidationError) -> str:
    keyword: Any = error.validator
    rule: Any = error.validator_value
    schema: Any = error.schema
    instance: Any = error.instance
    match keyword:
        case "type":
            return rule if isinstance(rule, str) else " or ".join(rule)
        case "enum":
            return "one of " + ", ".join(_short_text(choice) for choice in rule)
        case "const":
            return _short_text(rule)
        case "required":
            return "the required " + ", ".join(repr(name) for name in rule if name not in instance)
        case "additionalProperties":
            named = [repr(name) for name in schema.get("properties", {})]
            matching = [f"names that match {pattern!r}" for pattern in schema.get("patternProperties", {})]
            return f"only {', '.join(named + matching)}" if named or matching else "no properties at all"
        case None:  # the schema is `false`, and jsonschema does not say for which property
            return "no such value"
        case _:
            return f"what {keyword} {_short_text(rule)} allows"


def _short_text(value: Json) -> str:
    text = canonical(value)
    return text if len(text) <= _SAMPLE else text[:_SAMPLE] + "…"
