"""Type hints as JSON types: a schema, and a reader of values.

We generate schemas ourselves even if pydantic is installed, and use pydantic and msgspec only for their own
models, structs and validators. So the fingerprint of a tool does not depend on which packages are installed.
"""

from __future__ import annotations

import builtins
import dataclasses
import inspect
import sys
import types
from collections import abc
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from enum import Enum
from importlib import import_module
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
    is_typeddict,
)

from toolreel.tools._constraints import constrained, description_in
from toolreel.tools._docstrings import parse_docstring
from toolreel.tools._values import (
    ANYTHING,
    SCALARS,
    InvalidValue,
    JsonType,
    items_reader,
    key_reader,
    one_of,
    plain,
    union,
    values_reader,
    with_type,
)
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, canonical
from toolreel_core._lazy_pattern import lazy_pattern

_MARKS: Final = ("__get_pydantic_core_schema__", "__pydantic_core_schema__", "__pydantic_validator__")


def is_pydantic(hint: object) -> bool:
    """Whether only pydantic can interpret a type or an annotation."""
    return any(hasattr(hint, mark) for mark in _MARKS)


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
    return changed if names else with_type(changed)


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
        if isinstance(hint, Hashable) and hint in SCALARS:
            return SCALARS[hint]
        if origin in {Union, types.UnionType}:
            return union([self.of(choice, place) for choice in arguments])
        if origin is Literal:
            return one_of([(default_of(choice, f"{place}: the choice"), choice) for choice in arguments])
        if origin in _ARRAYS:
            return self._array_type(origin, arguments, place)
        if origin in _OBJECTS:
            return self._object_type(arguments, place)
        if isinstance(hint, type) and issubclass(hint, Enum):
            return one_of([(default_of(member.value, f"{place}: the choice"), member) for member in hint])
        return self._named_type(hint, place)

    def _named_type(self, hint: Any, place: str) -> JsonType:  # noqa: ANN401
        origin = get_origin(hint) or hint
        if is_pydantic(origin):
            return self._pydantic_type(hint, place)
        if isinstance(origin, type) and hasattr(origin, "__struct_config__"):
            return self._msgspec_type(hint, place)
        if is_record(origin):
            return self._define_once(hint, place, lambda: self._record_type(hint, place))
        if isinstance(hint, TypeVar):  # of a generic type without arguments
            known = hint.__constraints__ or (hint.__bound__,)
            kinds = [self.of(Any if each is None else each, place) for each in known]
            return union(kinds) if len(kinds) > 1 else kinds[0]
        if hasattr(hint, "__supertype__"):  # a NewType
            return self.of(hint.__supertype__, place)
        if hasattr(origin, "__value__"):  # `type X = …`
            aliased = substituted(
                origin.__value__, dict(zip(_type_variables(origin), get_args(hint), strict=False))
            )
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
        annotated = types.SimpleNamespace(__annotations__={"it": hint})
        try:
            found = get_type_hints(annotated, globalns=namespace, include_extras=True)["it"]
        except (NameError, AttributeError, SyntaxError, TypeError) as error:
            raise ConfigError(f"{place}: its annotations cannot be read: {error}") from None
        return self.of(found, place)

    def _define_once(self, hint: Any, place: str, make: Callable[[], JsonType]) -> JsonType:  # noqa: ANN401
        """A type whose parts may hold it again, which is then a reference."""
        name = _name_of(hint)
        reference: dict[str, Json] = {"$ref": f"#/$defs/{name}"}
        if hint in self._recursive or hint in self._open:
            self._recursive.setdefault(hint, None)
            return JsonType(reference, lambda value: self._closed_type(hint).read(value))
        self._open.append(hint)
        kind = make()
        self._open.pop()
        if hint not in self._recursive:
            return kind
        self._recursive[hint] = kind
        self._add_definition(name, kind.schema, place)
        return JsonType(reference, kind.read)

    def _annotated_type(self, hint: Any, inner: Any, extras: Sequence[object], place: str) -> JsonType:  # noqa: ANN401
        if any(is_pydantic(extra) for extra in extras):
            kind = self._pydantic_type(hint, place)
        else:
            kind = constrained(self.of(inner, place), extras, place)
        text = description_in(extras)
        return JsonType({**kind.schema, "description": text}, kind.read) if text else kind

    def _pydantic_type(self, hint: Any, place: str) -> JsonType:  # noqa: ANN401
        """A type that pydantic makes a schema of."""
        pydantic = import_module("pydantic")
        try:
            adapter = pydantic.TypeAdapter(hint)
            tree = _without_titles(adapter.json_schema())
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

        for name, schema in tree.pop("$defs", {}).items():
            self._add_definition(name, schema, place)
        return JsonType(tree, read)

    def _msgspec_type(self, hint: Any, place: str) -> JsonType:  # noqa: ANN401
        """A type that msgspec makes a schema of."""
        msgspec = import_module("msgspec")
        try:
            (tree,), shared = msgspec.json.schema_components([hint], ref_template="#/$defs/{name}")
        except TypeError as error:
            raise ConfigError(f"{place}: msgspec makes no schema of {hint!r}: {error}") from None

        def read(value: Json) -> object:
            try:
                return msgspec.json.decode(canonical(value).encode(), type=hint)
            except msgspec.ValidationError as error:
                raise InvalidValue(str(error)) from None

        for name, schema in _without_titles(shared, names=True).items():
            self._add_definition(name, schema, place)
        return JsonType(_without_titles(tree), read)

    def _add_definition(self, name: str, schema: Json, place: str) -> None:
        if self.shared.setdefault(name, schema) != schema:
            raise ConfigError(f"{place}: there are two types {name!r}; rename one of the two")

    def _array_type(self, origin: object, arguments: Sequence[Any], place: str) -> JsonType:
        build = _ARRAYS[origin]
        items = [self.of(argument, place) for argument in arguments if argument is not Ellipsis]
        if origin is tuple and items and Ellipsis not in arguments:
            schemas: list[Json] = [item.schema for item in items]
            fixed: dict[str, Json] = {"type": "array", "prefixItems": schemas}
            fixed |= {"minItems": len(items), "maxItems": len(items)}
            return JsonType(fixed, items_reader(lambda at: items[at], build, len(items)))
        item = items[0] if items else ANYTHING
        keywords: dict[str, Json] = {"items": item.schema} if items else {}
        return JsonType({"type": "array", **keywords}, items_reader(lambda _: item, build))

    def _object_type(self, arguments: Sequence[Any], place: str) -> JsonType:
        if not arguments:
            return JsonType({"type": "object"}, values_reader(str, ANYTHING))
        key, value = self.of(arguments[0], f"{place}, the keys"), self.of(arguments[1], place)
        schema: dict[str, Json] = {"type": "object", "additionalProperties": value.schema}
        return JsonType(schema, values_reader(key_reader(key, arguments[0]), value))

    def _record_type(self, hint: Any, place: str) -> JsonType:  # noqa: ANN401
        """A dataclass, named tuple or ``TypedDict``, as an object with a key for each field."""
        kind = get_origin(hint) or hint
        self._namespace = {**self._namespace, **vars(sys.modules.get(kind.__module__, builtins))}
        fields = [*_fields_of(kind, bound_hints(hint, place))]
        descriptions = parse_docstring(inspect.getdoc(kind) or "", {name for name, *_ in fields}).parameters
        parts, properties = dict[str, JsonType](), dict[str, Json]()
        for name, part, _, default in fields:
            at = f"{place}, key {name!r}"
            parts[name] = self.of(part, at)
            described = {"description": descriptions[name]} if name in descriptions else {}
            properties[name] = {**described, **parts[name].schema, **default_keyword(default, at)}
        required = [name for name, _, is_required, _ in fields if is_required]
        needed: list[Json] = [*required]
        schema: dict[str, Json] = {"type": "object", "properties": properties, "required": needed}
        build = cast("Callable[..., object]", dict if _is_typed_dict(kind) else kind)
        return JsonType({**schema, "additionalProperties": False}, _record_reader(build, parts, required))

    def _closed_type(self, kind: object) -> JsonType:
        record = self._recursive[kind]
        assert record is not None, "nothing is read before its type is known"  # noqa: S101
        return record


def hints_of(annotated: Any, place: str) -> Mapping[str, Any]:  # noqa: ANN401
    """The resolved annotations of a class, or of the parameters of a function.

    :raises ConfigError: if they cannot be resolved
    """
    try:
        if isinstance(annotated, type):
            return get_type_hints(annotated, include_extras=True)
        # Without "return": a return type that is imported under TYPE_CHECKING need not resolve.
        parameters = {
            name: hint for name, hint in getattr(annotated, "__annotations__", {}).items() if name != "return"
        }
        namespace = getattr(inspect.unwrap(annotated), "__globals__", {})
        return get_type_hints(
            types.SimpleNamespace(__annotations__=parameters), globalns=namespace, include_extras=True
        )
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise ConfigError(f"{place}: its annotations cannot be read: {error}") from None


def bound_hints(hint: Any, place: str) -> Mapping[str, Any]:  # noqa: ANN401
    """The resolved annotations of a class, with the arguments of a generic one in place of its variables.

    Each class of the hierarchy binds its own variables: the same one may mean something else in a base.
    """
    kind = get_origin(hint) or hint
    bound = {kind: dict(zip(_type_variables(kind), get_args(hint), strict=False))}
    classes = [kind]
    for at in classes:
        for base in getattr(at, "__orig_bases__", ()):
            if (origin := get_origin(base)) is not None and origin is not Generic and origin not in bound:
                arguments = [substituted(each, bound[at]) for each in get_args(base)]
                bound[origin] = dict(zip(_type_variables(origin), arguments, strict=False))
                classes.append(origin)
    # The bases of a TypedDict are not in its hierarchy, so that all its variables are taken together.
    merged = {variable: found for each in reversed(bound.values()) for variable, found in each.items()}
    hints = {}
    for name, found in hints_of(kind, place).items():
        owner = next((each for each in kind.__mro__ if name in vars(each).get("__annotations__", {})), kind)
        hints[name] = substituted(found, merged if _is_typed_dict(kind) else bound.get(owner, {}))
    return hints


def substituted(hint: Any, variables: Mapping[Any, Any]) -> Any:  # noqa: ANN401
    """A type hint with types in place of its variables."""
    if isinstance(hint, TypeVar):
        return variables.get(hint, hint)
    parameters = getattr(hint, "__parameters__", ())
    if get_origin(hint) is None or not parameters:
        return hint
    return hint[tuple(variables.get(each, each) for each in parameters)]


def _type_variables(kind: Any) -> Sequence[Any]:  # noqa: ANN401
    found: Sequence[Any] = getattr(kind, "__type_params__", ()) or getattr(kind, "__parameters__", ())
    return found


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


NOTHING: Final = inspect.Parameter.empty


def default_keyword(value: object, place: str) -> dict[str, Json]:
    """The keyword for a default; none without one, and for ``None``."""
    return (
        {} if value is NOTHING or value is None else {"default": default_of(value, f"{place}: its default")}
    )


def is_record(hint: Any) -> bool:  # noqa: ANN401 - a type hint can be anything
    """Whether a type has named fields."""
    if not isinstance(hint, type):
        return False
    return (
        _is_typed_dict(hint)
        or dataclasses.is_dataclass(hint)
        or (issubclass(hint, tuple) and hasattr(hint, "_fields"))
    )


def _fields_of(kind: Any, hints: Mapping[str, Any]) -> Iterator[tuple[str, Any, bool, object]]:  # noqa: ANN401
    """The fields of a record in order: name, hint, whether it is required, and its default.

    A default that a factory makes is not known.
    """
    if _is_typed_dict(kind):
        for name, hint in hints.items():
            yield name, hint, _is_required(name, hint, kind), NOTHING
    elif dataclasses.is_dataclass(kind):
        for field in dataclasses.fields(kind):
            if field.init:
                default = NOTHING if field.default is dataclasses.MISSING else field.default
                required = default is NOTHING and field.default_factory is dataclasses.MISSING
                yield field.name, hints[field.name], required, default
    else:
        for name in kind._fields:
            default = kind._field_defaults.get(name, NOTHING)
            yield name, hints.get(name, Any), default is NOTHING, default


def _record_reader(
    build: Callable[..., object], parts: Mapping[str, JsonType], required: Sequence[str]
) -> Callable[[Json], object]:
    """A reader of objects with these keys."""

    def read(value: Json) -> object:
        if not isinstance(value, Mapping):
            raise InvalidValue.of(value, "an object")
        for name in required:
            if name not in value:
                raise InvalidValue.of(value, f"an object with {name!r}")
        values: dict[str, object] = {}
        for name, item in value.items():
            if name not in parts:
                raise InvalidValue.of(value, f"an object without {name!r}")
            try:
                values[name] = parts[name].read(item)
            except InvalidValue as error:
                raise error.under(name) from None
        try:
            return build(**values)
        except (TypeError, ValueError) as error:
            raise InvalidValue(str(error)) from None

    return read


def _is_typed_dict(kind: type) -> bool:
    """Whether it is a ``TypedDict``, of ``typing`` or of ``typing_extensions``, which can differ."""
    return is_typeddict(kind) or (issubclass(kind, dict) and hasattr(kind, "__required_keys__"))


def _is_required(name: str, hint: Any, typed_dict: Any) -> bool:  # noqa: ANN401
    """Whether a key is required.

    With postponed annotations, ``__required_keys__`` misses ``Required`` and ``NotRequired``, so this
    looks at the hint.
    """
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) in {Required, NotRequired}:
        return get_origin(hint) is Required
    return name in typed_dict.__required_keys__
