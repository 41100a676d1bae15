"""Type hints as JSON types: a schema, and a reader of values.

We generate schemas ourselves even if pydantic is installed, and use pydantic and msgspec only for their own
models, structs and validators. So the fingerprint of a tool does not depend on which packages are installed.
``annotated_types`` and pydantic's ``Field`` are recognized by their attributes, so neither is a dependency.

Arguments are validated against the schema before they are read. So readers look at types no closer than
a union needs to choose, and reject what a schema cannot say.
"""

from __future__ import annotations

import builtins
import dataclasses
import inspect
import operator
import re
import sys
import types
from collections import abc
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from importlib import import_module
from itertools import chain
from pathlib import Path, PurePath
from types import NoneType
from typing import (
    Annotated,
    Any,
    Final,
    ForwardRef,
    Generic,
    Literal,
    NotRequired,
    Required,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)
from uuid import UUID

from toolreel.tools._docstrings import parse_docstring
from toolreel.tools._values import plain
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, canonical
from toolreel_core._lazy_pattern import lazy_pattern

_MAX_DISPLAY: Final = 60


class InvalidValue(Exception):
    """A value does not fit its type; it has the path to the value."""

    def __init__(self, reason: str, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path

    @classmethod
    def of(cls, value: Json, expected: str) -> InvalidValue:
        """The error that says what was expected, and the actual value."""
        text = canonical(value)
        shown = text if len(text) <= _MAX_DISPLAY else text[:_MAX_DISPLAY] + "…"
        return cls(f"expected {expected}, got {shown}")

    def __str__(self) -> str:
        """The path and the reason, in the format of the core's schema errors.

        >>> print(InvalidValue("expected a date", ("days", 0)))
        /days/0: expected a date
        """
        place = "".join(f"/{step}" for step in self.path)
        return f"{place}: {self.reason}" if place else self.reason


@dataclass(frozen=True, slots=True)
class JsonType:
    """A Python type as JSON."""

    schema: Mapping[str, Json]
    read: Callable[[Json], object]
    """The Python value for a JSON value; raises :class:`InvalidValue`."""

    def read_at(self, step: str | int, value: Json) -> object:
        """Read a part of a value; an error has the path to the part."""
        try:
            return self.read(value)
        except InvalidValue as error:
            raise InvalidValue(error.reason, (step, *error.path)) from None


def _scalar(schema: Mapping[str, Json], convert: Callable[[Any], object], expected: str) -> JsonType:
    def read(value: Json) -> object:
        try:
            return convert(value)
        except (TypeError, ValueError, AttributeError, ArithmeticError):
            raise InvalidValue.of(value, expected) from None

    return JsonType(schema, read)


def _text(form: str, parse: Callable[[str], object], example: str) -> JsonType:
    return _scalar({"type": "string", "format": form}, parse, example)


def _only(*kinds: type) -> Callable[[Any], Any]:
    """A conversion that accepts these types unchanged; a bool is not a number."""

    def convert(value: object) -> object:
        if type(value) not in kinds:
            raise TypeError
        return value

    return convert


def _integer(value: object) -> int:
    if isinstance(value, float) and value.is_integer():
        return int(value)  # JSON Schema counts 3.0 as an integer
    return cast("int", _only(int)(value))


def _float(value: object) -> float:
    return float(_only(int, float)(value))


def _decimal(value: object) -> Decimal:
    number = Decimal(str(value))
    if not number.is_finite():
        raise ValueError
    return number


_ANYTHING: Final = JsonType({}, lambda value: value)
_NULL: Final = _scalar({"type": "null"}, _only(NoneType), "null")
_PATH: Final = _text("path", Path, 'a path such as "notes/a.txt"')
_SCALARS: Final[Mapping[object, JsonType]] = {
    str: _scalar({"type": "string"}, _only(str), "a text"),
    int: _scalar({"type": "integer"}, _integer, "an integer"),
    float: _scalar({"type": "number"}, _float, "a number below 1.8e308"),
    bool: _scalar({"type": "boolean"}, _only(bool), "true or false"),
    None: _NULL,
    NoneType: _NULL,
    Any: _ANYTHING,
    object: _ANYTHING,
    datetime: _text("date-time", datetime.fromisoformat, 'a date and time such as "2026-11-22T09:30:00Z"'),
    date: _text("date", date.fromisoformat, 'a date such as "2026-11-22"'),
    time: _text("time", time.fromisoformat, 'a time such as "09:30:00"'),
    UUID: _text("uuid", UUID, 'a UUID such as "c7f9d3a2-5b1e-4c6d-8e2f-0a1b2c3d4e5f"'),
    Path: _PATH,
    PurePath: _PATH,
    Decimal: _scalar({"type": ["number", "string"]}, _decimal, 'a decimal number such as "12.50"'),
}
_ARRAYS: Final[Mapping[object, Callable[[list[object]], object]]] = {
    list: list,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    abc.Sequence: list,
    abc.MutableSequence: list,
    abc.Iterable: list,
    abc.Collection: list,
    abc.Set: set,
    abc.MutableSet: set,
}
_OBJECTS: Final = {dict, abc.Mapping, abc.MutableMapping}
_PYDANTIC: Final = ("__get_pydantic_core_schema__", "__pydantic_core_schema__", "__pydantic_validator__")
"""Attributes of types and annotations that only pydantic can interpret."""
_WORD: Final = lazy_pattern(r"\w+")
_KNOWN: Final = "use str, int, float, bool, list, dict or TypedDict"


class Types:
    """The types of one tool, and the schemas that they share.

    :param namespace: the names that annotations may use, such as those of a recursive alias
    """

    def __init__(self, namespace: Mapping[str, Any] | None = None) -> None:
        self.shared: dict[str, Json] = {}
        """Schemas for ``$defs``: recursive types, and nested models of pydantic and structs of msgspec."""
        self._namespace = namespace or {}
        self._open: list[object] = []
        """Types whose parts are being converted: meeting one again means that it is recursive."""
        self._recursive: dict[object, JsonType | None] = {}

    def of(self, hint: Any, place: str) -> JsonType:  # noqa: ANN401 - a type hint can be anything
        """A type as JSON.

        :raises ConfigError: if JSON cannot represent it
        """
        arguments, origin = get_args(hint), get_origin(hint) or hint
        if origin is Annotated:
            return self._annotated_type(hint, arguments[0], arguments[1:], place)
        if origin in {Required, NotRequired}:
            return self.of(arguments[0], place)
        if isinstance(hint, Hashable) and hint in _SCALARS:
            return _SCALARS[hint]
        if origin in {Union, types.UnionType}:
            return _union([self.of(choice, place) for choice in arguments])
        if origin is Literal:
            return _one_of({choice: choice for choice in arguments}, place)
        if origin in _ARRAYS:
            return self._array_type(origin, arguments, place)
        if origin in _OBJECTS:
            return self._object_type(arguments, place)
        if isinstance(hint, type) and issubclass(hint, Enum):
            return _one_of({member: member.value for member in hint}, place)
        return self._named_type(hint, origin, place)

    def _named_type(self, hint: Any, origin: Any, place: str) -> JsonType:  # noqa: ANN401
        if _needs_pydantic(origin):
            return self._pydantic_type(hint, place)
        if isinstance(origin, type) and hasattr(origin, "__struct_config__"):
            return self._msgspec_type(hint, place)
        if is_record(origin):
            return self._define_once(hint, place, lambda: self._record_type(hint, origin, place))
        if isinstance(hint, TypeVar):  # of a generic type without arguments
            known = hint.__constraints__ or (hint.__bound__,)
            kinds = [self.of(Any if each is None else each, place) for each in known]
            return _union(kinds) if len(kinds) > 1 else kinds[0]
        if hasattr(hint, "__supertype__"):  # a NewType
            return self.of(hint.__supertype__, place)
        if hasattr(origin, "__value__"):  # `type X = …`
            aliased = _substituted(origin.__value__, _variables_of(origin, get_args(hint)))
            return self._define_once(hint, place, lambda: self._resolve_type(aliased, place, origin))
        if isinstance(hint, ForwardRef):  # the name of an alias inside itself
            return self._define_once(hint.__forward_arg__, place, lambda: self._resolve_type(hint, place))
        raise ConfigError(f"{place}: {hint!r} cannot be carried by JSON; {_KNOWN}")

    def _resolve_type(self, hint: Any, place: str, alias: Any = None) -> JsonType:  # noqa: ANN401
        """A type that may name itself, or others of its module."""
        module = sys.modules.get(getattr(alias, "__module__", None) or "")
        namespace = {**self._namespace, **vars(module or builtins)}
        if alias is not None:
            namespace[alias.__name__] = alias
        return self.of(_resolved({"it": hint}, place, namespace)["it"], place)

    def _define_once(self, hint: Any, place: str, make: Callable[[], JsonType]) -> JsonType:  # noqa: ANN401
        """A type whose parts may hold it again, which is then a reference."""
        name = _name_of(hint)
        reference: dict[str, Json] = {"$ref": f"#/$defs/{name}"}
        if hint in self._recursive or hint in self._open:
            self._recursive.setdefault(hint, None)
            # Nothing is read before the type is known.
            return JsonType(reference, lambda value: cast("JsonType", self._recursive[hint]).read(value))
        self._open.append(hint)
        kind = make()
        self._open.pop()
        if hint not in self._recursive:
            return kind
        self._recursive[hint] = kind
        self._share({name: kind.schema}, place)
        return JsonType(reference, kind.read)

    def _share(self, schemas: Mapping[str, Json], place: str) -> None:
        for name, schema in schemas.items():
            if self.shared.setdefault(name, schema) != schema:
                raise ConfigError(f"{place}: there are two types {name!r}; rename one of the two")

    def _annotated_type(self, hint: Any, inner: Any, extras: Sequence[object], place: str) -> JsonType:  # noqa: ANN401
        if any(_needs_pydantic(extra) for extra in extras):
            kind = self._pydantic_type(hint, place)
        else:
            kind = _constrained(self.of(inner, place), extras, place)
        for extra in extras:
            name = "description" if _is_field(extra) else "documentation"
            text = extra if isinstance(extra, str) else getattr(extra, name, None)
            if isinstance(text, str) and text:
                return JsonType({**kind.schema, "description": text}, kind.read)
        return kind

    def _pydantic_type(self, hint: Any, place: str) -> JsonType:  # noqa: ANN401
        """A type that pydantic makes a schema of."""
        pydantic = import_module("pydantic")
        try:
            adapter = pydantic.TypeAdapter(hint)
            tree = adapter.json_schema()
        except Exception as error:  # noqa: BLE001 - pydantic raises many classes, all mean that there is no schema
            why, _, _ = str(error).partition("\n")
            raise ConfigError(f"{place}: pydantic makes no schema of {hint!r}: {why}") from None
        # Where an alias is a path, pydantic's schema has the name of the field, which it reads since 2.11.
        knows_names = "by_name" in inspect.signature(adapter.validate_json).parameters
        named = {"by_alias": True, "by_name": True} if knows_names else {}

        def read(value: Json) -> object:
            try:
                return adapter.validate_json(canonical(value), **named)
            except pydantic.ValidationError as error:
                first, *_ = error.errors(include_url=False, include_context=False)
                raise InvalidValue(str(first["msg"]), tuple(first["loc"])) from None

        return self._made_elsewhere(tree, read, place)

    def _msgspec_type(self, hint: Any, place: str) -> JsonType:  # noqa: ANN401
        """A type that msgspec makes a schema of."""
        msgspec = import_module("msgspec")
        try:
            tree = msgspec.json.schema(hint)
        except TypeError as error:
            raise ConfigError(f"{place}: msgspec makes no schema of {hint!r}: {error}") from None

        def read(value: Json) -> object:
            try:
                return msgspec.json.decode(canonical(value).encode(), type=hint)
            except msgspec.ValidationError as error:
                raise InvalidValue(str(error)) from None

        return self._made_elsewhere(tree, read, place)

    def _made_elsewhere(self, tree: Any, read: Callable[[Json], object], place: str) -> JsonType:  # noqa: ANN401
        tree = _without_titles(tree)
        self._share(tree.pop("$defs", {}), place)
        return JsonType(tree, read)

    def _array_type(self, origin: object, arguments: Sequence[Any], place: str) -> JsonType:
        build = _ARRAYS[origin]
        items = [self.of(argument, place) for argument in arguments if argument is not Ellipsis]
        is_fixed = origin is tuple and items and Ellipsis not in arguments
        schema: dict[str, Json] = {"type": "array"}
        if is_fixed:
            schema |= {"prefixItems": [item.schema for item in items]}
            schema |= {"minItems": len(items), "maxItems": len(items)}
        elif items:
            schema["items"] = items[0].schema

        def read(value: Json) -> object:
            if not isinstance(value, list | tuple):
                raise InvalidValue.of(value, "an array")
            kinds = items if is_fixed else [*(items or [_ANYTHING])] * len(value)
            if len(kinds) != len(value):
                raise InvalidValue.of(value, f"an array of {len(kinds)}")
            return build([kinds[at].read_at(at, item) for at, item in enumerate(value)])

        return JsonType(schema, read)

    def _object_type(self, arguments: Sequence[Any], place: str) -> JsonType:
        key, item = _SCALARS[str], _ANYTHING
        schema: dict[str, Json] = {"type": "object"}
        if arguments:
            key, item = self.of(arguments[0], f"{place}, the keys"), self.of(arguments[1], place)
            schema["additionalProperties"] = item.schema
        if arguments[:1] == (int,):  # JSON always writes keys as strings
            key = _scalar({}, int, 'a whole number as the key, such as "7"')

        def read(value: Json) -> object:
            if not isinstance(value, Mapping):
                raise InvalidValue.of(value, "an object")
            return {key.read_at(name, name): item.read_at(name, each) for name, each in value.items()}

        return JsonType(schema, read)

    def _record_type(self, hint: Any, kind: Any, place: str) -> JsonType:  # noqa: ANN401
        """A dataclass, named tuple or ``TypedDict``, as an object with a key for each field."""
        self._namespace = {**self._namespace, **vars(sys.modules.get(kind.__module__, builtins))}
        fields = [*_fields_of(kind, _bound_hints(hint, place))]
        descriptions = parse_docstring(inspect.getdoc(kind) or "", {name for name, *_ in fields}).parameters
        parts, properties = dict[str, JsonType](), dict[str, Json]()
        for name, part, _, default in fields:
            at = f"{place}, key {name!r}"
            parts[name] = self.of(part, at)
            described = {"description": descriptions[name]} if name in descriptions else {}
            properties[name] = {**described, **parts[name].schema, **default_keyword(default, at)}
        required: list[Json] = [name for name, _, is_required, _ in fields if is_required]
        build = cast("Callable[..., object]", dict if _is_typed_dict(kind) else kind)

        def read(value: Json) -> object:
            if not isinstance(value, Mapping):
                raise InvalidValue.of(value, "an object")
            for name in required:
                if name not in value:
                    raise InvalidValue.of(value, f"an object with {name!r}")
            if over := [name for name in value if name not in parts]:
                raise InvalidValue.of(value, f"an object without {over[0]!r}")
            try:
                return build(**{name: parts[name].read_at(name, item) for name, item in value.items()})
            except (TypeError, ValueError) as error:
                raise InvalidValue(str(error)) from None

        schema: dict[str, Json] = {"type": "object", "properties": properties, "required": required}
        return JsonType({**schema, "additionalProperties": False}, read)


def _needs_pydantic(hint: object) -> bool:
    return any(hasattr(hint, mark) for mark in _PYDANTIC)


def _without_titles(tree: Any, *, names: bool = False) -> Any:  # noqa: ANN401 - a tree of JSON
    """The schema without the titles that pydantic generates from names: they cost tokens and add nothing.

    Choices get their types, as those of our own schemas have.

    :param names: whether the keys of this object are names, so that "title" is an ordinary name
    """
    if isinstance(tree, list):
        return [_without_titles(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    changed = {
        key: _without_titles(value, names=not names and key in {"properties", "$defs"})
        if key not in {"default", "const", "enum", "examples"} or names
        else value
        for key, value in tree.items()
        if names or key != "title" or not isinstance(value, str)
    }
    return changed if names else _with_type(changed)


_NAMES_OF_TYPES: Final[Mapping[type, str]] = {
    bool: "boolean", int: "integer", float: "number", str: "string", NoneType: "null", dict: "object",
    list: "array",
}  # fmt: skip


def _with_type(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    """The schema with the types of its choices, which some providers demand.

    >>> _with_type({"enum": ["a", 1, 1.5]})
    {'type': ['string', 'number'], 'enum': ['a', 1, 1.5]}
    """
    choices = schema.get("enum")
    if "type" in schema or not isinstance(choices, list) or not choices:
        return schema
    found = dict.fromkeys(_NAMES_OF_TYPES[type(choice)] for choice in choices)
    kinds = [kind for kind in found if kind != "integer" or "number" not in found]
    return {"type": kinds if len(kinds) > 1 else kinds[0], **schema}


def _one_of(choices: Mapping[object, object], place: str) -> JsonType:
    """A type with fixed choices, each a Python value with what stands for it."""
    written = [default_of(value, f"{place}: the choice") for value in choices.values()]

    def read(value: Json) -> object:
        for choice, each in zip(choices, written, strict=True):
            if each == value and isinstance(each, bool) == isinstance(value, bool):  # 1 is not true in JSON
                return choice
        raise InvalidValue.of(value, f"one of {', '.join(map(canonical, written))}")

    return JsonType(_with_type({"enum": written}), read)


def _union(choices: Sequence[JsonType]) -> JsonType:
    def read(value: Json) -> object:
        found, complaints = list[object](), list[InvalidValue]()
        for choice in choices:
            try:
                found.append(choice.read(value))
            except InvalidValue as error:
                complaints.append(error)
        if not found:
            raise max(complaints, key=lambda error: len(error.path))
        # A value that needs no conversion wins, so that "7" for `int | str` stays text.
        return next((result for result in found if type(result) is type(value)), found[0])

    schemas = [choice.schema for choice in choices]
    if all(set(schema) == {"type"} and isinstance(schema["type"], str) for schema in schemas):
        return JsonType({"type": [schema["type"] for schema in schemas]}, read)
    return JsonType({"anyOf": schemas}, read)


_SIZES: Final = {"string": "Length", "array": "Items", "object": "Properties"}
_CONSTRAINTS: Final[Mapping[str, tuple[str, str, Callable[[Any, Any], object]]]] = {
    "gt": ("exclusiveMinimum", "more than {}", operator.gt),
    "ge": ("minimum", "at least {}", operator.ge),
    "lt": ("exclusiveMaximum", "less than {}", operator.lt),
    "le": ("maximum", "at most {}", operator.le),
    "multiple_of": ("multipleOf", "a multiple of {}", lambda value, step: value % step == 0),
    "min_length": ("min", "at least {} of them", lambda value, least: len(value) >= least),
    "max_length": ("max", "at most {} of them", lambda value, most: len(value) <= most),
    "pattern": ("pattern", "a match of {}", lambda value, pattern: re.search(pattern, value)),
}
"""By the attribute of a constraint: its keyword (of a size, its begin), words for an error, and the check."""


def _constrained(kind: JsonType, extras: Sequence[object], place: str) -> JsonType:
    """The type with the constraints of ``Annotated``; unknown metadata is ignored.

    :raises ConfigError: if a constraint is invalid
    """
    schema, kinds = dict(kind.schema), _json_types(kind.schema)
    checks = list[tuple[Callable[[Any, Any], object], Any, str]]()
    # A Field of pydantic has several constraints.
    for extra in chain.from_iterable(
        cast("Any", each).metadata if _is_field(each) else [each] for each in extras
    ):
        for name, (keyword, words, holds) in _CONSTRAINTS.items():
            bound = getattr(extra, name, None)
            if bound is None or callable(bound) or (name == "min_length" and not bound):
                continue
            if name == "pattern":
                try:
                    re.compile(bound)
                except (re.error, TypeError) as error:
                    raise ConfigError(f"{place}: the pattern {bound!r} cannot be used: {error}") from None
            if name in {"min_length", "max_length"}:
                schema |= {keyword + size: bound for each, size in _SIZES.items() if each in kinds}
            elif (
                isinstance(bound, int | float | str)
                and ("string" if name == "pattern" else "number") in kinds
            ):
                schema[keyword] = bound  # a bound on a date or a decimal is only checked
            checks.append((holds, bound, words.format(bound)))
        if callable(accepts := getattr(extra, "func", None)) and type(extra).__name__ == "Predicate":
            checks.append((lambda value, accepted: accepted(value), accepts, f"what {accepts!r} accepts"))

    def read(value: Json) -> object:
        result = kind.read(value)
        for holds, bound, words in checks if result is not None else ():
            if not holds(result, bound):
                raise InvalidValue.of(value, words)
        return result

    return JsonType(schema, read)


def _is_field(value: Any) -> bool:  # noqa: ANN401
    """Whether an annotation is a pydantic ``Field``."""
    return isinstance(getattr(value, "metadata", None), list) and hasattr(value, "is_required")


def _json_types(schema: Mapping[str, Json]) -> set[str]:
    """The JSON types in a schema's ``type`` and ``anyOf``; an integer counts as a number."""
    types = schema.get("type", [])
    kinds = {types} if isinstance(types, str) else {str(kind) for kind in cast("list[Json]", types)}
    for choice in cast("Sequence[Mapping[str, Json]]", schema.get("anyOf", ())):
        kinds |= _json_types(choice)
    return kinds | {"number" for kind in kinds if kind == "integer"}


def hints_of(annotated: Any, place: str) -> Mapping[str, Any]:  # noqa: ANN401
    """The resolved annotations of a class, or of the parameters of a function.

    :raises ConfigError: if they cannot be resolved
    """
    if isinstance(annotated, type):
        return _resolved(annotated, place)
    # Without "return": a return type that is imported under TYPE_CHECKING need not resolve.
    parameters = {
        name: hint for name, hint in getattr(annotated, "__annotations__", {}).items() if name != "return"
    }
    return _resolved(parameters, place, getattr(inspect.unwrap(annotated), "__globals__", {}))


def _resolved(
    annotated: type | Mapping[str, Any], place: str, namespace: Mapping[str, Any] | None = None
) -> Mapping[str, Any]:
    if isinstance(annotated, Mapping):
        annotated = cast("type", types.SimpleNamespace(__annotations__=annotated))
    try:
        return get_type_hints(annotated, cast("dict[str, Any]", namespace), include_extras=True)
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise ConfigError(f"{place}: its annotations cannot be read: {error}") from None


def _bound_hints(hint: Any, place: str) -> Mapping[str, Any]:  # noqa: ANN401
    """The resolved annotations of a class, with the arguments of a generic one in place of its variables.

    Each class of the hierarchy binds its own variables: the same one may mean something else in a base.
    """
    kind = get_origin(hint) or hint
    bound = {kind: _variables_of(kind, get_args(hint))}
    classes = [kind]
    for at in classes:
        for base in getattr(at, "__orig_bases__", ()):
            if (origin := get_origin(base)) is not None and origin is not Generic and origin not in bound:
                arguments = [_substituted(each, bound[at]) for each in get_args(base)]
                bound[origin] = _variables_of(origin, arguments)
                classes.append(origin)
    # The bases of a TypedDict are not in its hierarchy, so that all its variables are taken together.
    merged = {variable: found for each in reversed(bound.values()) for variable, found in each.items()}
    hints = {}
    for name, found in hints_of(kind, place).items():
        owner = next((each for each in kind.__mro__ if name in vars(each).get("__annotations__", {})), kind)
        hints[name] = _substituted(found, merged if _is_typed_dict(kind) else bound.get(owner, {}))
    return hints


def _variables_of(kind: Any, arguments: Sequence[Any]) -> Mapping[Any, Any]:  # noqa: ANN401
    """The variables of a generic type, with the arguments for them."""
    names = getattr(kind, "__type_params__", ()) or getattr(kind, "__parameters__", ())
    return dict(zip(names, arguments, strict=False))


def _substituted(hint: Any, variables: Mapping[Any, Any]) -> Any:  # noqa: ANN401
    """A type hint with types in place of its variables."""
    if isinstance(hint, TypeVar):
        return variables.get(hint, hint)
    parameters = getattr(hint, "__parameters__", ())
    if get_origin(hint) is None or not parameters:
        return hint
    return hint[tuple(variables.get(each, each) for each in parameters)]


def _name_of(hint: Any) -> str:  # noqa: ANN401
    """The name of a type under ``$defs``.

    >>> _name_of(list[dict[str, int]])
    'list_dict_str_int'
    """
    if isinstance(hint, str):
        return "_".join(_WORD.findall(hint))
    origin, arguments = get_origin(hint) or hint, get_args(hint)
    return "_".join([origin.__name__, *_WORD.findall(", ".join(map(inspect.formatannotation, arguments)))])


def default_of(value: object, place: str) -> Json:
    """A default or a choice as JSON.

    :raises ConfigError: if JSON cannot represent it
    """
    try:
        return plain(value)
    except (TypeError, ValueError):
        raise ConfigError(f"{place} {value!r} is not JSON; use None and decide inside") from None


_NOTHING: Final = inspect.Parameter.empty


def default_keyword(value: object, place: str) -> dict[str, Json]:
    """The keyword for a default; none without one, and for ``None``."""
    if value is _NOTHING or value is None:
        return {}
    return {"default": default_of(value, f"{place}: its default")}


def is_record(hint: Any) -> bool:  # noqa: ANN401 - a type hint can be anything
    """Whether a type has named fields."""
    if not isinstance(hint, type):
        return False
    is_named_tuple = issubclass(hint, tuple) and hasattr(hint, "_fields")
    return _is_typed_dict(hint) or dataclasses.is_dataclass(hint) or is_named_tuple


def _is_typed_dict(kind: type) -> bool:
    """Whether it is a ``TypedDict``, of ``typing`` or of ``typing_extensions``, which can differ."""
    return issubclass(kind, dict) and hasattr(kind, "__required_keys__")


def _fields_of(kind: Any, hints: Mapping[str, Any]) -> Iterator[tuple[str, Any, bool, object]]:  # noqa: ANN401
    """The fields of a record in order: name, hint, whether it is required, and its default.

    A default that a factory makes is not known.
    """
    if _is_typed_dict(kind):
        for name, hint in hints.items():
            # With postponed annotations, __required_keys__ misses Required and NotRequired.
            outer = get_origin(get_args(hint)[0] if get_origin(hint) is Annotated else hint)
            is_marked = outer in {Required, NotRequired}
            yield name, hint, outer is Required if is_marked else name in kind.__required_keys__, _NOTHING
    elif dataclasses.is_dataclass(kind):
        for field in dataclasses.fields(kind):
            if field.init:
                default = _NOTHING if field.default is dataclasses.MISSING else field.default
                is_required = default is _NOTHING and field.default_factory is dataclasses.MISSING
                yield field.name, hints[field.name], is_required, default
    else:
        for name in kind._fields:
            default = kind._field_defaults.get(name, _NOTHING)
            yield name, hints.get(name, Any), default is _NOTHING, default
