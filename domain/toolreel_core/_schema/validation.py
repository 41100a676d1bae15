"""Validate tool schemas, and arguments against them.

Every validator of jsonschema is built here, with an empty registry: a schema from outside can never make
the core reach for the network. jsonschema takes 60 ms to import, longer than the rest of the core, so it is
imported for the first schema or arguments that are not seen to be fine without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import islice
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import (
    Json,
    JsonText,
    Tree,
    as_tree,
    canonical,
    is_nested_deeper,
    list_at,
    parse,
    tree_at,
)
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._schema.patterns import with_python_patterns
from toolreel_core._schema.walk import reference_target, subschemas

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

# Common schemas, whose keywords are few: they are seen to be sound, and arguments to fit them, without
# jsonschema. Only acceptance is decided here: jsonschema decides every rejection, and words it.
#
# Not common are references, choices that are arrays or objects, which jsonschema compares in its own way, and
# keywords that are rare or need a check that rejects reliably, as ``not`` does.


MAX_LEVELS = 64
"""Levels of JSON in a schema (a property takes two); jsonschema would reach Python's recursion limit at about
100."""
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_CLASSES: Mapping[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}
_SCALARS = frozenset({bool, float, int, str, type(None)})
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "minimum": ge,
    "maximum": le,
    "exclusiveMinimum": gt,
    "exclusiveMaximum": lt,
    "minLength": ge,
    "maxLength": le,
    "minItems": ge,
    "maxItems": le,
}

_Check: TypeAlias = Callable[[Any], bool]


@lru_cache(maxsize=1024)
def simple_schema_predicate(schema: JsonText) -> _Check | None:
    """The check of values by a schema that is sound and only has common keywords; else jsonschema decides."""
    tree = None if is_nested_deeper(schema, MAX_LEVELS) else parse(schema)
    return _schema_predicate(tree) if isinstance(tree, dict) else None


def _schema_predicate(schema: Json) -> _Check | None:
    if isinstance(schema, bool):
        return lambda _: schema
    if not isinstance(schema, dict):
        return None
    telling = {keyword: rule for keyword, rule in schema.items() if not _is_annotation(keyword, rule)}
    found = (_keyword_predicate(keyword, rule, schema) for keyword, rule in telling.items())
    checks = [check for check in found if check]
    if len(checks) < len(telling):
        return None

    def fits(value: Json) -> bool:
        for check in checks:  # noqa: SIM110 - a generator would cost as many calls again
            if not check(value):
                return False
        return True

    return fits


def _is_annotation(keyword: str, rule: Json) -> bool:
    match keyword:
        case "$comment" | "description" | "format" | "title":
            return isinstance(rule, str)
        case _:
            return keyword == "default" or (keyword == "$schema" and rule == _DRAFT)


def _keyword_predicate(keyword: str, rule: Any, schema: Mapping[str, Json]) -> _Check | None:  # noqa: ANN401 - any JSON
    """The check of a keyword; ``None`` if it is not common, or has a value that it may not have."""
    match keyword, rule:
        case "type", str() | [_, *_]:
            kinds = [rule] if isinstance(rule, str) else rule
            return (
                partial(_has_type, kinds)
                if _are_distinct_strings(kinds) and _CLASSES.keys() >= {*kinds}
                else None
            )
        case "enum", [*_] if _SCALARS.issuperset(map(type, rule)):
            return partial(_equals_one_of, rule)
        case "required", [*_] if _are_distinct_strings(rule):
            return lambda value: not isinstance(value, dict) or value.keys() >= {*rule}
        case (("minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum"), _) if _is_number(rule):
            holds = _COMPARISONS[keyword]
            return lambda value: not _is_number(value) or holds(value, rule)
        case (("minLength" | "maxLength" | "minItems" | "maxItems"), _) if type(rule) is int and rule >= 0:
            holds, kind = _COMPARISONS[keyword], str if keyword.endswith("Length") else list
            return lambda value: not isinstance(value, kind) or holds(len(value), rule)
        case "items", _ if part := _schema_predicate(rule):
            return partial(_items_fit, part)
        case "additionalProperties", _ if part := _schema_predicate(rule):
            named = as_tree(schema.get("properties"))
            return lambda value: (
                not isinstance(value, dict)
                or all(part(each) for name, each in value.items() if name not in named)
            )
        case "properties", dict():
            parts = {name: check for name, each in rule.items() if (check := _schema_predicate(each))}
            return None if len(parts) < len(rule) else partial(_properties_fit, parts)
        case "anyOf", [_, *_]:
            choices = [check for each in rule if (check := _schema_predicate(each))]
            return None if len(choices) < len(rule) else lambda value: any(fit(value) for fit in choices)
        case _:
            return None


def _items_fit(part: _Check, value: Json) -> bool:
    return not isinstance(value, list) or all(map(part, value))


def _properties_fit(parts: Mapping[str, _Check], value: Json) -> bool:
    return not isinstance(value, dict) or all(
        parts[name](each) for name, each in value.items() if name in parts
    )


def _are_distinct_strings(names: Sequence[Json]) -> bool:
    return all(type(name) is str for name in names) and len(set(map(str, names))) == len(names)


def _has_type(kinds: Sequence[str], value: Json) -> bool:
    # 3.0 is an integer to JSON Schema; True, an int to Python, is not.
    whole = "integer" in kinds and type(value) is float and value.is_integer()
    return whole or any(type(value) in _CLASSES[kind] for kind in kinds)


def _equals_one_of(choices: Sequence[Json], value: Json) -> bool:
    boolean = type(value) is bool  # to Python, True is 1
    return any(choice == value and (type(choice) is bool) is boolean for choice in choices)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


AT_MOST = 3
"""Maximum violations reported at once: more would hide the one that matters from the model."""
_SAMPLE = 80
"""Characters of a value that a violation shows."""


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

    :raises ConfigError: if it is not JSON Schema (draft 2020-12), nests too deeply, or refers to another
        document, to a place that does not exist, or to itself without end
    """
    if simple_schema_predicate(schema) is None:
        _validator(schema)


def violations(schema: JsonText, arguments: JsonText) -> tuple[Violation, ...]:
    """The violations of a schema by arguments, in document order, at most three."""
    tree = parse(arguments)
    errors = _validation_errors(schema, tree)
    if errors is None:
        return (Violation("", "smaller numbers or less nesting", _short_text(tree)),)
    errors.sort(key=lambda error: _document_position(error, tree))
    # jsonschema counts every missing property; one violation names them all.
    return tuple(islice(dict.fromkeys(map(_violation_of, errors)), AT_MOST))


def violating_paths(schema: JsonText, arguments: Json) -> tuple[tuple[str | int, ...], ...]:
    errors = _validation_errors(schema, arguments)
    return ((),) if errors is None else tuple(tuple(error.absolute_path) for error in errors)


def refused_nulls(schema: JsonText, arguments: JsonText) -> tuple[str, ...]:
    if "null" not in arguments:
        return ()
    tree = as_tree(parse(arguments))
    broken = violating_paths(schema, tree)
    needed = list_at(as_tree(parse(schema)), "required")
    return tuple(name for name in tree if tree[name] is None and (name,) in broken and name not in needed)


_NAMES = 20
"""Maximum number of parameters that a violation names."""
_NO_NAME = lazy_pattern(r"""[\s<>="'{}]|:\Z|\A\Z""")
"""What no name of a parameter has: markup, or a sign of the call as in ``query:`` and ``name="limit"``."""
_OPENS = frozenset({
    "additionalProperties", "patternProperties", "unevaluatedProperties", "propertyNames",
    "anyOf", "oneOf", "allOf", "if", "$ref", "$dynamicRef", "dependentSchemas",
})  # fmt: skip
"""Keywords that may allow more keys than a schema's properties."""


def unknown_key_violations(schema: JsonText, arguments: JsonText) -> tuple[Violation, ...]:
    """The violation of valid arguments none of which is declared, or with a key that is not a name."""
    # Where nothing is required, a schema allows arguments that were all misnamed.
    declared = _declared_parameters(schema)
    given = as_tree(parse(arguments)) if declared else {}
    unknown = [key for key in given if key not in declared]
    if not unknown or (len(unknown) < len(given) and not any(map(_NO_NAME.search, unknown))):
        return ()
    names = ", ".join(sorted(declared)[:_NAMES])
    return (Violation("", f"no parameters but {names}", ", ".join(map(_short_text, unknown[:AT_MOST]))),)


@lru_cache(maxsize=256)
def _declared_parameters(schema: JsonText) -> frozenset[str]:
    """The parameters of a schema that says nothing of others; empty if it may mean more."""
    tree = as_tree(parse(schema))
    return frozenset(tree_at(tree, "properties")) if _OPENS.isdisjoint(tree) else frozenset()


def _validation_errors(schema: JsonText, value: Json) -> list[ValidationError] | None:
    fits = simple_schema_predicate(schema)
    if fits and fits(value):
        return []
    try:
        return list(_validator(schema).iter_errors(value))
    except (OverflowError, RecursionError):  # jsonschema divides by a fractional multipleOf in floats
        return None


@lru_cache(maxsize=1024)
def _validator(schema: JsonText) -> Draft202012Validator:
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415 - see the module's docstring
    from referencing import Registry  # noqa: PLC0415

    check_depth(schema)
    tree = parse(schema)
    if not isinstance(tree, Mapping):
        raise ConfigError(f"a tool's parameters must be a JSON Schema object, not {_short_text(tree)}")
    tree = cast("Tree", with_python_patterns(tree))
    if simple_schema_predicate(schema) is None:
        try:
            Draft202012Validator.check_schema(tree)
        except SchemaError as error:
            raise ConfigError(f"not a JSON Schema at {error.json_path}: {error.message}") from None
        check_references(tree)
    return Draft202012Validator(tree, registry=Registry())


def check_depth(schema: JsonText) -> None:
    if is_nested_deeper(schema, MAX_LEVELS):
        raise ConfigError(f"a schema may not nest deeper than {MAX_LEVELS} levels")


class BadReference(ConfigError):
    def __init__(self, why: str, schema: Tree, keyword: str) -> None:
        super().__init__(why)
        self.place = schema, keyword
        """The schema that holds it, and under which keyword."""


_REFERENCES = ("$ref", "$dynamicRef")
_SAME_VALUE = ("not", "if", "then", "else", "allOf", "anyOf", "oneOf", "dependentSchemas")
"""Keywords whose schemas apply to the same value as the schema that holds them."""


def check_references(root: Tree) -> None:
    """Follow every reference, because validating a value follows only the ones it reaches."""
    from graphlib import CycleError, TopologicalSorter  # noqa: PLC0415 - few schemas have references

    schemas, applied = dict[int, Tree](), dict[int, list[int]]()  # by the id of the object
    pending: list[Json] = [root]
    while pending:
        schema = pending.pop()
        if not isinstance(schema, Mapping) or id(schema) in schemas:
            continue
        if "$id" in schema and schema is not root:
            raise BadReference("an $id below the root changes what references mean", schema, "$id")
        targets = [
            _checked_reference_target(schema, keyword, root) for keyword in _REFERENCES if keyword in schema
        ]
        same_value = subschemas({keyword: schema[keyword] for keyword in _SAME_VALUE if keyword in schema})
        schemas[id(schema)] = schema
        applied[id(schema)] = [id(other) for other in (*targets, *same_value)]
        pending += [*targets, *subschemas(schema)]
    try:
        TopologicalSorter(applied).prepare()
    except CycleError as error:  # only a reference leads back
        circle = (schemas[each] for each in error.args[1])
        holder, keyword = next((one, key) for one in circle for key in _REFERENCES if key in one)
        raise BadReference("the schema refers to itself without end", holder, keyword) from None


def _checked_reference_target(schema: Tree, keyword: str, root: Tree) -> Json:
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415

    reference = cast("str", schema[keyword])
    target = reference_target(reference, root)
    if target is None:
        where = "to nothing in its schema" if reference.startswith("#") else "outside its schema"
        why = f"$ref {reference!r} points {where}; put what it means under $defs"
        raise BadReference(why, schema, keyword)
    try:
        Draft202012Validator.check_schema(cast("Tree", target))
    except SchemaError:
        why = f"$ref {reference!r} points to something that is not a JSON Schema"
        raise BadReference(why, schema, keyword) from None
    return target


def _document_position(error: ValidationError, tree: Json) -> tuple[int, ...]:
    place: list[int] = []
    at: Any = tree
    for step in error.absolute_path:
        place.append(step if isinstance(step, int) else list(at).index(step))
        at = at[step]
    return tuple(place)


def _violation_of(error: ValidationError) -> Violation:
    pointer = "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in error.absolute_path)
    return Violation(pointer, _expectation_text(error), _short_text(cast("Json", error.instance)))


def _expectation_text(error: ValidationError) -> str:
    rule: Any = error.validator_value
    schema: Any = error.schema
    instance: Any = error.instance
    match cast("str | None", error.validator):
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
        case keyword:
            return f"what {keyword} {_short_text(rule)} allows"


def _short_text(value: Json) -> str:
    text = canonical(value)
    return text if len(text) <= _SAMPLE else text[:_SAMPLE] + "…"
