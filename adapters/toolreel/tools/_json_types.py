"""Type hints as JSON types: a schema, and a reader of values.

We generate schemas ourselves even if pydantic is installed, and use pydantic and msgspec only for their own
models, structs and validators. So the fingerprint of a tool does not depend on which packages are installed.
``annotated_types`` and pydantic's ``Field`` are recognized by their attributes, so neither is a dependency.

Values are validated against the schema before they are read. So readers only convert, and reject what a
schema cannot say.
"""

from __future__ import annotations

import builtins
import dataclasses
import inspect
import sys
import types
from collections import abc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum, Flag
from importlib import import_module
from itertools import product
from pathlib import Path, PurePath
from types import NoneType
from typing import (
    Annotated,
    Any,
    ForwardRef,
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
from toolreel.tools._values import value_as_json
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, as_tree, canonical, json_type, list_at, schema_types
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._schema import map_subschemas, violating_paths

_MAX_DISPLAY = 60
"""Characters of a value in an error, which the model reads."""


class InvalidValue(Exception):
    def __init__(self, reason: str, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path

    def __str__(self) -> str:
        place = "".join(f"/{step}" for step in self.path)
        return f"{place}: {self.reason}" if place else self.reason


def _unexpected_value_error(value: Json, expected: str) -> InvalidValue:
    text = canonical(value)
    shown = text if len(text) <= _MAX_DISPLAY else text[:_MAX_DISPLAY] + "…"
    return InvalidValue(f"expected {expected}, got {shown}")


@dataclass(frozen=True, slots=True)
class JsonType:
    schema: Mapping[str, Json]
    read: Callable[[Json], object]
    """The Python value for a JSON value; raises :class:`InvalidValue`."""

    def with_keywords(self, **keywords: Json) -> JsonType:
        return JsonType({**self.schema, **keywords}, self.read)

    def read_with_error_path(self, step: str | int, value: Json) -> object:
        try:
            return self.read(value)
        except InvalidValue as error:
            raise InvalidValue(error.reason, (step, *error.path)) from None


def _converted_type(convert: Callable[[Any], object], expected: str, *kinds: str, **schema: Json) -> JsonType:
    def read_value(value: Json) -> object:
        try:
            return convert(value)
        except (ValueError, ArithmeticError):
            raise _unexpected_value_error(value, expected) from None

    return JsonType({"type": kinds[0] if len(kinds) == 1 else [*kinds], **schema}, read_value)


def _finite_decimal(value: object) -> Decimal:
    # From the text: Decimal(0.1) is 0.1000000000000000055511…
    number = Decimal(str(value))
    if not number.is_finite():
        raise ValueError
    return number


def _identity(value: Json) -> Json:
    return value


_ANYTHING = JsonType({}, _identity)
_NULL = JsonType({"type": "null"}, _identity)
_PATH = _converted_type(Path, "a path", "string", format="path")
_SCALARS: Mapping[object, JsonType] = {
    str: JsonType({"type": "string"}, _identity),
    # JSON Schema takes 3.0 as an integer, and the keys of an object are texts.
    int: _converted_type(int, "an integer", "integer"),
    float: _converted_type(float, "a number below 1.8e308", "number"),
    bool: JsonType({"type": "boolean"}, _identity),
    None: _NULL,
    NoneType: _NULL,
    Any: _ANYTHING,
    object: _ANYTHING,
    datetime: _converted_type(
        datetime.fromisoformat, 'a date and time such as "2026-11-22T09:30:00Z"', "string", format="date-time"
    ),
    date: _converted_type(date.fromisoformat, 'a date such as "2026-11-22"', "string", format="date"),
    time: _converted_type(time.fromisoformat, 'a time such as "09:30:00"', "string", format="time"),
    UUID: _converted_type(
        UUID, 'a UUID such as "c7f9d3a2-5b1e-4c6d-8e2f-0a1b2c3d4e5f"', "string", format="uuid"
    ),
    Path: _PATH,
    PurePath: _PATH,
    Decimal: _converted_type(_finite_decimal, 'a decimal number such as "12.50"', "number", "string"),
}
_ARRAYS: Mapping[object, Callable[[list[object]], object]] = {
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
_OBJECTS = {dict, abc.Mapping, abc.MutableMapping}
_PYDANTIC = ("__get_pydantic_core_schema__", "__pydantic_core_schema__", "__pydantic_validator__")
"""Attributes of types and annotations that only pydantic can interpret."""
_WORD = lazy_pattern(r"\w+")
_KNOWN = "use str, int, float, bool, list, dict or TypedDict"


class Types:
    """The types of one tool, and the schemas that they share; annotations use the names of a namespace."""

    def __init__(self, namespace: Mapping[str, Any] | None = None) -> None:
        self.shared: dict[str, Json] = {}
        """Schemas for ``$defs``: recursive types, and nested models of pydantic and structs of msgspec."""
        self._namespace = namespace or {}
        self._kinds: dict[object, JsonType] = {}
        """Types whose parts are being converted, and recursive ones: what they hold refers to them."""
        self._recursive: set[object] = set()

    @property
    def definitions(self) -> dict[str, Json]:
        return {"$defs": self.shared} if self.shared else {}

    def json_type(self, hint: Any) -> JsonType:  # noqa: ANN401 - a type hint can be anything
        """A type as JSON; a :class:`ConfigError` if JSON cannot represent it."""
        arguments, origin = get_args(hint), get_origin(hint) or _hashable(hint)
        if origin is Annotated:
            return self._annotated_type(hint, arguments[0], arguments[1:])
        if origin in {Required, NotRequired}:
            return self.json_type(arguments[0])
        if hasattr(hint, "__supertype__"):  # a NewType
            return self.json_type(hint.__supertype__)
        if origin in _SCALARS:
            return _SCALARS[origin]
        if origin in {Union, types.UnionType}:
            return self._union_type([self.json_type(choice) for choice in arguments])
        if origin is Literal:
            return _choice_type(arguments)
        if origin in _ARRAYS:
            return self._array_type(origin, arguments)
        if origin in _OBJECTS:
            return self._object_type(arguments)
        if isinstance(hint, type) and issubclass(hint, Flag):
            bits = [flag.value for flag in hint]
            words = f"a sum of {', '.join(map(str, bits))}"
            return _converted_type(
                lambda bits: hint(int(bits)), words, "integer", minimum=0, maximum=sum(bits)
            )
        if isinstance(hint, type) and issubclass(hint, Enum):
            return _choice_type([*hint])
        if isinstance(hint, TypeVar):  # of a generic type without arguments
            known = hint.__constraints__
            return self.json_type(Union[known] if known else hint.__bound__ or Any)  # noqa: UP007 - of any number
        return self._named_type(hint, origin)

    def part(self, place: str, hint: Any, default: object) -> tuple[JsonType, Mapping[str, Json]]:  # noqa: ANN401
        try:
            kind = self.json_type(hint)
            if default is _NOTHING or default is None:
                return kind, {}
            return kind, {"default": _json_default(default, "its default")}
        # ``typing`` raises a TypeError for a union with unhashable metadata before Python 3.13.
        except (ConfigError, TypeError) as error:
            raise ConfigError(f"{place}: {error}") from None

    def _named_type(self, hint: Any, origin: Any) -> JsonType:  # noqa: ANN401
        if _needs_pydantic(origin) or hasattr(origin, "__struct_config__"):
            return self._pydantic_or_msgspec_type(hint)
        if _is_record_class(origin):
            return self._define_once(hint, lambda: self._json_type_of_record(hint, origin))
        if isinstance(hint, ForwardRef):  # the name of an alias inside itself
            return self._define_once(hint.__forward_arg__, lambda: self._resolve_type(hint))
        if hasattr(origin, "__value__"):  # `type X = …`
            aliased = _substitute_type_variables(
                origin.__value__, _type_arguments_by_variable(origin, get_args(hint))
            )
            return self._define_once(hint, lambda: self._resolve_type(aliased, origin))
        raise ConfigError(f"{hint!r} cannot be carried by JSON; {_KNOWN}")

    def _resolve_type(self, hint: Any, alias: Any = None) -> JsonType:  # noqa: ANN401
        """A type that may name itself, or others of its module."""
        module = sys.modules.get(getattr(alias, "__module__", None) or "", builtins)
        itself = {} if alias is None else {alias.__name__: alias}
        namespace = {**self._namespace, **vars(module), **itself}
        # ``get_type_hints`` takes annotations, not a single hint.
        return self.json_type(type_hints_of({"it": hint}, namespace)["it"])

    def _define_once(self, hint: Any, make: Callable[[], JsonType]) -> JsonType:  # noqa: ANN401
        name, key = _definition_name(hint), _hashable(hint)

        def read_value(value: Json) -> object:  # nothing is read before the type is known
            return self._kinds[key].read(value)

        reference = JsonType({"$ref": f"#/$defs/{name}"}, read_value)
        # A type that comes up again while its parts are converted is recursive, and has to be in ``$defs``.
        if key in self._kinds:
            self._recursive.add(key)
            return reference
        self._kinds[key] = _ANYTHING
        kind = self._kinds[key] = make()
        if key in self._recursive:
            self._add_shared_definitions({name: kind.schema})
            return reference
        del self._kinds[key]
        return kind

    def _add_shared_definitions(self, schemas: Mapping[str, Json]) -> None:
        for name, schema in schemas.items():
            if self.shared.setdefault(name, schema) != schema:
                raise ConfigError(f"there are two types {name!r}; rename one of the two")

    def _annotated_type(self, hint: Any, inner: Any, extras: Sequence[Any]) -> JsonType:  # noqa: ANN401
        if any(_needs_pydantic(extra) for extra in extras):
            kind = self._pydantic_or_msgspec_type(hint)
        else:
            kind = _constrained_type(self.json_type(inner), extras)
        for extra in extras:
            # ``documentation`` is that of typing_extensions.Doc (PEP 727).
            name = "description" if _is_pydantic_field(extra) else "documentation"
            if name == "description" and not extra.is_required():
                raise ConfigError("a default in Field is lost; write it after =")
            text = extra if isinstance(extra, str) else getattr(extra, name, None)
            if isinstance(text, str) and text:
                return kind.with_keywords(description=text)
        return kind

    def _pydantic_or_msgspec_type(self, hint: Any) -> JsonType:  # noqa: ANN401
        try:
            decode: Callable[[bytes], object]
            if hasattr(get_origin(hint) or hint, "__struct_config__"):
                json = import_module("msgspec").json
                tree, decode = json.schema(hint), json.Decoder(hint).decode
            else:
                adapter = import_module("pydantic").TypeAdapter(hint)
                tree, decode = adapter.json_schema(), adapter.validate_json
        except Exception as error:  # noqa: BLE001 - pydantic raises many classes, all mean that there is no schema
            why, _, _ = str(error).partition("\n")
            raise ConfigError(f"no schema can be made of {hint!r}: {why}") from None

        def read_value(value: Json) -> object:
            try:
                return decode(canonical(value).encode())
            except ValueError as error:
                errors: Any = getattr(error, "errors", None)  # of pydantic
                if errors is None:
                    raise InvalidValue(str(error)) from None
                first, *_ = errors(include_url=False, include_context=False)
                raise InvalidValue(str(first["msg"]), tuple(first["loc"])) from None

        schema = _without_titles(tree)
        self._add_shared_definitions(schema.pop("$defs", {}))
        return JsonType(schema, read_value)

    def _union_type(self, choices: Sequence[JsonType]) -> JsonType:
        def read_value(value: Json) -> object:
            complaint = _unexpected_value_error(value, "another type")
            results = list[object]()
            for choice in choices:
                if not violating_paths(canonical({**choice.schema, **self.definitions}), value):
                    try:
                        results.append(choice.read(value))
                    except InvalidValue as error:
                        complaint = error
            if not results:
                raise complaint
            # A value that needs no conversion wins, so that "7" for `int | str` stays text.
            return next((result for result in results if type(result) is type(value)), results[0])

        schemas = [choice.schema for choice in choices]
        if all(set(schema) == {"type"} and isinstance(schema["type"], str) for schema in schemas):
            return JsonType({"type": [schema["type"] for schema in schemas]}, read_value)
        return JsonType({"anyOf": schemas}, read_value)

    def _array_type(self, origin: object, arguments: Sequence[Any]) -> JsonType:
        build = _ARRAYS[origin]
        items = [self.json_type(argument) for argument in arguments if argument is not Ellipsis]
        is_fixed = origin is tuple and items and Ellipsis not in arguments
        schema: dict[str, Json] = {"type": "array"}
        if is_fixed:
            schema |= {"prefixItems": [item.schema for item in items]}
            schema |= {"minItems": len(items), "maxItems": len(items)}
        elif items:
            schema["items"] = items[0].schema

        def read_value(value: Any) -> object:  # noqa: ANN401 - an array
            kinds = items if is_fixed else [*(items or [_ANYTHING])] * len(value)
            return build([kinds[at].read_with_error_path(at, item) for at, item in enumerate(value)])

        return JsonType(schema, read_value)

    def _object_type(self, arguments: Sequence[Any]) -> JsonType:
        schema: dict[str, Json] = {"type": "object"}
        key = item = _ANYTHING
        if arguments:
            key = self.json_type(arguments[0])
            item = self.json_type(arguments[1])
            schema["additionalProperties"] = item.schema

        def read_value(value: Any) -> object:  # noqa: ANN401 - an object
            return {
                key.read_with_error_path(name, name): item.read_with_error_path(name, each)
                for name, each in value.items()
            }

        return JsonType(schema, read_value)

    def _json_type_of_record(self, hint: Any, kind: Any) -> JsonType:  # noqa: ANN401
        self._namespace = {**self._namespace, **vars(sys.modules.get(kind.__module__, builtins))}
        fields = [*_record_fields(kind, _hints_of_generic(hint))]
        described = parse_docstring(inspect.getdoc(kind) or "", {name for name, *_ in fields}).parameters
        parts, properties, required = dict[str, JsonType](), dict[str, Json](), list[Json]()
        for name, part, is_required, value in fields:
            parts[name], default = self.part(f"key {name!r}", part, value)
            words = {"description": described[name]} if name in described else {}
            properties[name] = {**words, **parts[name].schema, **default}
            required += [name] * is_required
        build = cast("Callable[..., object]", dict if _is_typed_dict(kind) else kind)

        def read_value(value: Any) -> object:  # noqa: ANN401 - an object
            try:
                return build(
                    **{name: parts[name].read_with_error_path(name, item) for name, item in value.items()}
                )
            # The class may reject values itself, for example in ``__post_init__``.
            except (TypeError, ValueError) as error:
                raise InvalidValue(str(error)) from None

        schema: dict[str, Json] = {"type": "object", "properties": properties, "required": required}
        return JsonType({**schema, "additionalProperties": False}, read_value)


def _hashable(hint: object) -> object:
    """The hint, or its text if its hash would need that of metadata or of a choice that has none."""
    try:
        hash(hint)
    except TypeError:
        return repr(hint)
    return hint


def _needs_pydantic(hint: object) -> bool:
    return any(hasattr(hint, mark) for mark in _PYDANTIC)


def _without_titles(schema: Any) -> Any:  # noqa: ANN401 - a schema
    """The schema without pydantic's titles, which cost tokens and add nothing; choices get their types."""
    if not isinstance(schema, Mapping):
        return schema
    tree = map_subschemas(schema, _without_titles)
    tree.pop("title", None)
    return _with_enum_value_types(tree)


def _with_enum_value_types(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    """The schema with the types of its choices, which some providers demand."""
    choices = schema.get("enum")
    if "type" in schema or not isinstance(choices, list) or not choices:
        return schema
    found = dict.fromkeys(map(json_type, choices))
    kinds = [kind for kind in found if kind != "integer" or "number" not in found]
    return {"type": kinds if len(kinds) > 1 else kinds[0], **schema}


def _choice_type(choices: Sequence[object]) -> JsonType:
    written = [_json_default(choice, "the choice") for choice in choices]

    def read_value(value: Json) -> object:
        for choice, each in zip(choices, written, strict=True):
            if each == value and isinstance(each, bool) == isinstance(value, bool):  # 1 is not true in JSON
                return choice
        raise _unexpected_value_error(value, f"one of {', '.join(map(canonical, written))}")

    return JsonType(_with_enum_value_types({"enum": written}), read_value)


_CONSTRAINTS: Mapping[str, Mapping[str, str]] = {
    "gt": {"number": "exclusiveMinimum"},
    "ge": {"number": "minimum"},
    "lt": {"number": "exclusiveMaximum"},
    "le": {"number": "maximum"},
    "multiple_of": {"number": "multipleOf"},
    "min_length": {"string": "minLength", "array": "minItems", "object": "minProperties"},
    "max_length": {"string": "maxLength", "array": "maxItems", "object": "maxProperties"},
    "pattern": {"string": "pattern"},
    # No schema can say these, and nothing would check or apply them.
    **{name: {} for name in ("func", "max_digits", "decimal_places", "tz")},
    **{name: {} for name in ("strip_whitespace", "to_upper", "to_lower", "ascii_only")},
}
"""By the attribute of a constraint, its keyword for each JSON type."""


def _constrained_type(kind: JsonType, extras: Sequence[Any]) -> JsonType:
    """The type with the constraints of ``Annotated``; other metadata is ignored."""
    kinds, found = _types_in_schema(kind.schema) - {"null"}, dict[str, Json]()
    # A Field of pydantic has several constraints.
    each = [one for extra in extras for one in (extra.metadata if _is_pydantic_field(extra) else [extra])]
    for extra, (name, keywords) in product(each, _CONSTRAINTS.items()):
        bound = getattr(extra, name, None)
        # ``annotated_types.Len(0, n)`` has a minimum of 0, which limits nothing; only a time can be without.
        if bound is None or (name == "min_length" and not bound) or (bound is False and name != "tz"):
            continue
        if not kinds or not keywords.keys() >= kinds or not isinstance(bound, int | float | str):
            raise ConfigError(f"a schema cannot say {extra!r} here; check it inside the function")
        found |= {keywords[json_type]: bound for json_type in kinds}
    return kind.with_keywords(**found)


def _is_pydantic_field(value: Any) -> bool:  # noqa: ANN401
    return isinstance(getattr(value, "metadata", None), list) and hasattr(value, "is_required")


def _types_in_schema(schema: Mapping[str, Json]) -> set[str]:
    kinds = {*schema_types(schema)}
    for choice in list_at(schema, "anyOf"):
        kinds |= _types_in_schema(as_tree(choice))
    return {"number" if kind == "integer" else kind for kind in kinds}


def type_hints_of(
    annotated: Any,  # noqa: ANN401
    namespace: Mapping[str, Any] | None = None,
) -> Mapping[str, Any]:
    if not isinstance(annotated, type | Mapping):
        namespace = getattr(inspect.unwrap(annotated), "__globals__", {})
        # Without "return": a return type that is imported under TYPE_CHECKING need not resolve.
        hints = getattr(annotated, "__annotations__", {}).items()
        annotated = {name: hint for name, hint in hints if name != "return"}
    if isinstance(annotated, Mapping):
        annotated = types.SimpleNamespace(__annotations__=annotated)
    try:
        return get_type_hints(annotated, cast("dict[str, Any]", namespace), include_extras=True)
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise ConfigError(f"its annotations cannot be read: {error}") from None


def _hints_of_generic(hint: Any) -> Mapping[str, Any]:  # noqa: ANN401
    """Each class of the hierarchy binds its own variables: the same one may mean something else in a base."""
    kind = get_origin(hint) or hint
    variables, hints = _type_arguments_by_variable(kind, get_args(hint)), {**type_hints_of(kind)}
    for base in getattr(kind, "__orig_bases__", ()):
        if _is_record_class(origin := get_origin(base)):
            inherited = type_hints_of(origin)
            bound = _hints_of_generic(_substitute_type_variables(base, variables))
            # A field that the class annotates again keeps its own type.
            hints |= {name: bound[name] for name in inherited if hints[name] == inherited[name]}
    return {name: _substitute_type_variables(found, variables) for name, found in hints.items()}


def _type_arguments_by_variable(kind: Any, arguments: Sequence[Any]) -> Mapping[Any, Any]:  # noqa: ANN401
    names = getattr(kind, "__type_params__", ()) or getattr(kind, "__parameters__", ())
    return dict(zip(names, arguments, strict=False))


def _substitute_type_variables(hint: Any, variables: Mapping[Any, Any]) -> Any:  # noqa: ANN401
    if isinstance(hint, TypeVar):
        return variables.get(hint, hint)
    parameters = getattr(hint, "__parameters__", ())
    if get_origin(hint) is None or not parameters:
        return hint
    return hint[tuple(variables.get(each, each) for each in parameters)]


def _definition_name(hint: Any) -> str:  # noqa: ANN401
    """Its name under ``$defs``: ``list_dict_str_int`` for ``list[dict[str, int]]``."""
    if isinstance(hint, str):
        return "_".join(_WORD.findall(hint))
    origin, arguments = get_origin(hint) or hint, get_args(hint)
    return "_".join([origin.__name__, *_WORD.findall(", ".join(map(inspect.formatannotation, arguments)))])


def _json_default(value: object, what: str) -> Json:
    try:
        return value_as_json(value)
    except (TypeError, ValueError):
        raise ConfigError(f"{what} {value!r} is not JSON; use None and decide inside") from None


_NOTHING = inspect.Parameter.empty


def _is_record_class(hint: object) -> bool:
    if not isinstance(hint, type):
        return False
    is_named_tuple = issubclass(hint, tuple) and hasattr(hint, "_fields")
    return is_named_tuple or _is_typed_dict(hint) or dataclasses.is_dataclass(hint)


def _is_typed_dict(kind: type) -> bool:
    return issubclass(kind, dict) and hasattr(kind, "__required_keys__")


def _record_fields(kind: Any, hints: Mapping[str, Any]) -> Iterator[tuple[str, Any, bool, object]]:  # noqa: ANN401
    if _is_typed_dict(kind):
        for name, hint in hints.items():
            # With postponed annotations, __required_keys__ misses Required and NotRequired.
            outer = get_origin(get_args(hint)[0] if get_origin(hint) is Annotated else hint)
            is_marked = outer in {Required, NotRequired}
            is_required = outer is Required if is_marked else name in kind.__required_keys__
            yield name, hint, is_required, _NOTHING
        return
    fields = getattr(kind, "__dataclass_fields__", {}).values()
    # ``inspect.signature`` shows a sentinel as the default of a field with a factory.
    made = {field.name for field in fields if field.default_factory is not dataclasses.MISSING}
    for name, parameter in inspect.signature(kind).parameters.items():
        default = _NOTHING if name in made else parameter.default
        yield name, hints.get(name, Any), parameter.default is _NOTHING, default
