"""Validate tool schemas, and arguments against them.

Every validator of jsonschema is built here, with an empty registry: a schema from outside can never make
the core reach for the network. jsonschema is imported when it is first needed, for a schema or arguments that
the checks of common schemas do not accept, because it takes longer to import than the rest of the core.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import islice
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, JsonText, Tree, canonical, deeper, parse, quote
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._schema.patterns import python_pattern, with_python_patterns

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError


# Accept arguments for common schemas without importing jsonschema, which takes 60 ms.
#
# A schema of common keywords is compiled to closures of a line or two. A check may only accept: jsonschema
# decides every rejection, and words it. A schema with a keyword that is not known here, or with a value that
# its keyword may not have, is not compiled; so one that is compiled is sound without the metaschema.
#
# Not compiled are choices that are arrays or objects, which jsonschema compares in its own way, references
# that lead back to themselves, and keywords that are rare or, like ``oneOf`` and ``not``, need a check that
# rejects reliably.


Check: TypeAlias = Callable[[Json], bool]
"""Whether a value fits the schema that it was compiled from, with no doubt; if ``False``, ask jsonschema."""

MAX_LEVELS: Final = 64
"""Levels of a schema; jsonschema would reach Python's recursion limit at about 100."""

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_CLASSES: Final[Mapping[str, Sequence[type]]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}
_SCALARS: Final = frozenset({bool, float, int, str, type(None)})
_PART: Final = lazy_pattern(r"#/\$defs/([\w.-]+)", re.ASCII)
"""A reference without ``~`` or ``%``, so that there is nothing to decode in it."""


@lru_cache(maxsize=1024)
def compiled(schema: JsonText) -> Check | None:
    """The check of a tool's schema, which is then valid; ``None`` if jsonschema must decide.

    >>> from toolreel_core._jsontext.canonical import canonical
    >>> check = compiled(canonical({"properties": {"n": {"type": "integer"}}, "required": ["n"]}))
    >>> check({"n": 1}), check({"n": "1"}), check({})
    (True, False, False)
    >>> compiled(canonical({"type": "text"}))
    """
    if deeper(schema, MAX_LEVELS):
        return None
    try:
        tree = _expect_object(parse(schema))
        compiler = _Compiler(_expect_object(tree.get("$defs", {})))
        for part in compiler.parts.values():  # also those that nothing refers to, since they have to be sound
            compiler.check(part, 1)
        return compiler.check({keyword: tree[keyword] for keyword in tree if keyword != "$defs"}, 0)
    except _UnknownError:
        return None


class _UnknownError(Exception):
    """The schema has a keyword or value that this module does not know."""


def _require_known(known: bool) -> None:
    if not known:
        raise _UnknownError


def _expect_object(value: Json) -> Tree:
    _require_known(isinstance(value, dict))
    return cast("Tree", value)


def _expect_list(value: Json) -> list[Json]:
    _require_known(isinstance(value, list))
    return cast("list[Json]", value)


def _expect_names(value: Json) -> list[str]:
    names = _expect_list(value)
    _require_known(all(isinstance(name, str) for name in names) and len({*map(str, names)}) == len(names))
    return cast("list[str]", names)


@dataclass(frozen=True, slots=True)
class _Compiler:
    """Compiles one schema and its subschemas to checks."""

    parts: Tree
    """The definitions under ``$defs``, the only targets of references."""
    made: dict[tuple[str, int], Check] = field(default_factory=dict)
    """Compiled definitions by name and level."""

    def check(self, schema: Json, level: int) -> Check:
        """The check of a schema that stands at a level, references counted as if it stood there."""
        if isinstance(schema, bool):
            return _accept_all if schema else _reject_all
        _require_known(level <= MAX_LEVELS)
        said, checks = _expect_object(schema), list[Check]()
        for keyword, value in said.items():
            if keyword in _ANNOTATIONS:
                _require_known(isinstance(value, _ANNOTATIONS[keyword]))
            elif keyword in _ALONE:
                checks.append(_ALONE[keyword](value))
            elif keyword not in _OF_OBJECTS:
                checks.append(self._check_of_keyword(keyword, value, level + 1))
        if not _OF_OBJECTS.isdisjoint(said):
            named = {
                name: self.check(each, level + 1)
                for name, each in _expect_object(said.get("properties", {})).items()
            }
            other = self.check(said.get("additionalProperties", True), level + 1)
            checks.append(_check_members(named, other, _expect_names(said.get("required", []))))
        return _check_all(checks)

    def _check_of_keyword(self, keyword: str, value: Json, level: int) -> Check:
        """The check of a keyword that holds schemas."""
        match keyword:
            case "items":
                item = self.check(value, level)
                return lambda value: not isinstance(value, list) or all(map(item, value))
            case "allOf" | "anyOf":
                _require_known(bool(_expect_list(value)))
                checks = [self.check(each, level) for each in _expect_list(value)]
                return _check_all(checks) if keyword == "allOf" else _check_any(checks)
            case "$ref":
                return self._check_of_reference(value, level)
            case _:
                raise _UnknownError

    def _check_of_reference(self, reference: Json, level: int) -> Check:
        """What a reference leads to; one that leads back to itself ends at the deepest level."""
        found = _PART.fullmatch(reference) if isinstance(reference, str) else None
        if not found or found[1] not in self.parts:
            raise _UnknownError
        at = found[1], level
        if at not in self.made:
            self.made[at] = self.check(self.parts[found[1]], level)
        return self.made[at]


def _accept_all(_: Json) -> bool:
    return True


def _reject_all(_: Json) -> bool:
    return False


def _check_all(checks: Sequence[Check]) -> Check:
    return lambda value: all(check(value) for check in checks)


def _check_any(checks: Sequence[Check]) -> Check:
    return lambda value: any(check(value) for check in checks)


def _check_members(named: Mapping[str, Check], other: Check, required: Sequence[str]) -> Check:
    needed = frozenset(required)

    def members(value: Json) -> bool:
        if not isinstance(value, dict):
            return True
        for name, member in value.items():
            if not named.get(name, other)(member):
                return False
        return needed <= value.keys()

    return members


def _check_type(kinds: Json) -> Check:
    named = [kinds] if isinstance(kinds, str) else _expect_names(kinds)
    _require_known(bool(named) and _CLASSES.keys() >= {*named})
    classes = frozenset(each for kind in named for each in _CLASSES[kind])
    if "integer" not in named:
        return lambda value: type(value) in classes
    # 3.0 is an integer to JSON Schema; True, an int to Python, is none.
    return lambda value: type(value) in classes or (isinstance(value, float) and value.is_integer())


def _check_enum(choices: Json) -> Check:
    _require_known(_SCALARS.issuperset(map(type, _expect_list(choices))))
    known = frozenset(
        (type(choice) is bool, choice) for choice in _expect_list(choices)
    )  # to Python, True is 1
    return lambda value: type(value) in _SCALARS and (type(value) is bool, value) in known


def _check_pattern(pattern: Json) -> Check:
    _require_known(isinstance(pattern, str))
    try:
        search = python_pattern(cast("str", pattern)).search
    except ConfigError:
        raise _UnknownError from None
    return lambda value: not isinstance(value, str) or search(value) is not None


def _check_size(kind: type[Sized], holds: Callable[[int, int], bool], bound: Json) -> Check:
    if type(bound) is not int or bound < 0:
        raise _UnknownError
    return lambda value: not isinstance(value, kind) or holds(len(value), bound)


def _check_number(holds: Callable[[float, float], bool], bound: Json) -> Check:
    if isinstance(bound, bool) or not isinstance(bound, int | float):
        raise _UnknownError
    return lambda value: isinstance(value, bool) or not isinstance(value, int | float) or holds(value, bound)


def _check_draft(draft: Json) -> Check:
    _require_known(draft == _DRAFT)
    return _accept_all


_ALONE: Final[Mapping[str, Callable[[Any], Check]]] = {
    "$schema": _check_draft,
    "type": _check_type,
    "enum": _check_enum,
    "const": lambda only: _check_enum([only]),
    "pattern": _check_pattern,
    "minLength": partial(_check_size, str, ge),
    "maxLength": partial(_check_size, str, le),
    "minItems": partial(_check_size, list, ge),
    "maxItems": partial(_check_size, list, le),
    "minProperties": partial(_check_size, dict, ge),
    "maxProperties": partial(_check_size, dict, le),
    "minimum": partial(_check_number, ge),
    "maximum": partial(_check_number, le),
    "exclusiveMinimum": partial(_check_number, gt),
    "exclusiveMaximum": partial(_check_number, lt),
}
"""Keywords that hold no schema and look at no other keyword."""
_OF_OBJECTS: Final = frozenset({"additionalProperties", "properties", "required"})
"""Keywords that are checked together, in one pass over the members."""
_ANNOTATIONS: Final[Mapping[str, type]] = {
    **dict.fromkeys(
        ("$comment", "contentEncoding", "contentMediaType", "description", "format", "title"), str
    ),
    **dict.fromkeys(("deprecated", "readOnly", "writeOnly"), bool),
    "default": object,
    "examples": list,
}
"""Keywords that accept any value, and what they have to be themselves."""


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
    tree = cast("Tree", with_python_patterns(tree))
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
