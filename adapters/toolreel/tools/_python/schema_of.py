"""Type hints as JSON types: a schema, and a reader of values; docstrings describe the fields.

We generate schemas ourselves even if pydantic is installed, and use pydantic and msgspec only for their own
models, structs and validators. So the fingerprint of a tool does not depend on which packages are installed.

In docstrings, Google's ``Args:`` sections, NumPy's underlined sections and Sphinx's ``:param name:`` fields
are all recognized at once, because one project may mix them.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
from collections import abc
from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from enum import Enum
from importlib import import_module
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NamedTuple,
    NotRequired,
    Required,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from toolreel.tools._python.constraints import constrained, description_in
from toolreel.tools._python.values import (
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
)
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, canonical

_TITLES: Final = (
    "Args|Arguments|Parameters|Params|Other Parameters|Keyword Args|Keyword Arguments|Attributes|Returns|"
    "Return|Raises|Yields|Warns|Warnings|Example|Examples|Note|Notes|See Also|References"
)
_SECTION: Final = re.compile(rf"({_TITLES}):")  # Google: a title with a colon, alone on its line
_UNDERLINED: Final = re.compile(_TITLES)  # NumPy: a title above a line of dashes
_LINE: Final = re.compile(r"-{3,}")
"""The line below the title of a section in numpy's style."""
# Google: "name (type): text", also for *args and **kwargs.
_ENTRY: Final = re.compile(r"\*{0,2}(\w+)(?:\s*\([^)]*\))?:\s*(.*)")
# NumPy: "name : type"; the text follows on indented lines.
_NUMPY_ENTRY: Final = re.compile(r"\*{0,2}(\w+)(?:\s*:.*)?")
_PARAMETER_SECTIONS: Final = {
    "Args",
    "Arguments",
    "Parameters",
    "Params",
    "Other Parameters",
    "Keyword Args",
    "Keyword Arguments",
    "Attributes",
}
# Sphinx: ":param type name: text", with all spellings that Sphinx accepts.
_FIELD: Final = re.compile(
    r":(?:param|parameter|arg|argument|key|keyword)\s++(?:[^:\s]++\s++)*\*{0,2}(\w+):\s*(.*)"
)
# Other fields end the description of a parameter.
_OTHER_FIELD: Final = re.compile(r":(?:type|returns?|rtype|raises?|yields?)\b[^:]*:")


class Docstring(NamedTuple):
    """A parsed docstring."""

    summary: str
    """The paragraphs before the first section, joined."""
    parameters: Mapping[str, str]
    """Descriptions by parameter name."""


def parse_docstring(docstring: str, names: Container[str]) -> Docstring:
    r"""Parse a docstring.

    >>> parse_docstring("Roll a die.\n\nArgs:\n    sides: How many it has.", {"sides"})
    Docstring(summary='Roll a die.', parameters={'sides': 'How many it has.'})

    :param docstring: without indentation, as from ``inspect.getdoc``
    :param names: existing parameters; descriptions of others are ignored
    """
    summary: list[str] = []
    described: dict[str, str] = {}
    section, current, underlined = "", "", False
    for line, title in _lines(docstring):
        text = line.strip()
        if title:
            section, current, underlined = title, "", True
        elif found := _FIELD.match(text):
            section, current = "fields", found[1]
            described[current] = found[2]
        elif found := _SECTION.fullmatch(text):
            section, current, underlined = found[1], "", False
        elif _OTHER_FIELD.match(text):
            section, current = "fields", ""
        elif not section:
            summary.append(line)
        elif entry := _entry(line, names, underlined=underlined) if section in _PARAMETER_SECTIONS else None:
            current, described[entry[0]] = entry
        elif text and not line[0].isspace():
            current = ""
        elif current and text:
            described[current] = f"{described[current]} {text}".strip()
    return Docstring(" ".join("\n".join(summary).split()), described)


def _entry(line: str, names: Container[str], *, underlined: bool) -> tuple[str, str] | None:
    """The parameter name and text of a line that begins an entry, if the line does."""
    if underlined:
        found = None if line[:1].isspace() else _NUMPY_ENTRY.fullmatch(line.strip())
        return (found[1], "") if found and found[1] in names else None
    found = _ENTRY.match(line.strip())
    return (found[1], found[2]) if found and found[1] in names else None


def _lines(docstring: str) -> Iterator[tuple[str, str]]:
    """Each line, with the section title if it is an underlined one; underlines are skipped."""
    lines = docstring.splitlines()
    skipped = False
    for line, under in zip(lines, [*lines[1:], ""], strict=False):
        if skipped:
            skipped = False
        elif _UNDERLINED.fullmatch(line) and _LINE.fullmatch(under):
            skipped = True
            yield line, line
        else:
            yield line, ""


_MARKS: Final = ("__get_pydantic_core_schema__", "__pydantic_core_schema__", "__pydantic_validator__")


def is_pydantic(hint: object) -> bool:
    """Whether only pydantic can interpret a type or an annotation."""
    return any(hasattr(hint, mark) for mark in _MARKS)


def pydantic_type(hint: Any, place: str) -> tuple[JsonType, Mapping[str, Json]]:  # noqa: ANN401
    """The type as JSON, and the schemas under ``#/$defs/`` that it refers to.

    :raises ConfigError: if pydantic cannot generate a schema
    """
    pydantic = import_module("pydantic")
    try:
        adapter = pydantic.TypeAdapter(hint)
        tree = _untitled(adapter.json_schema())
    except Exception as error:  # noqa: BLE001 - pydantic raises many classes, all mean that there is no schema
        why, _, _ = str(error).partition("\n")
        raise ConfigError(f"{place}: pydantic makes no schema of {hint!r}: {why}") from None

    def read(value: Json) -> object:
        try:
            return adapter.validate_json(canonical(value))
        except pydantic.ValidationError as error:
            first, *_ = error.errors(include_url=False, include_context=False)
            raise InvalidValue(str(first["msg"]), tuple(first["loc"])) from None

    shared: Mapping[str, Json] = tree.pop("$defs", {})
    return JsonType(tree, read), shared


def _untitled(tree: Any, *, names: bool = False) -> Any:  # noqa: ANN401 - a tree of JSON
    """The schema without the titles that pydantic generates from names: they cost tokens and add nothing.

    :param names: whether the keys of this object are names, so that "title" is an ordinary name
    """
    if isinstance(tree, list):
        return [_untitled(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    return {
        key: _untitled(value, names=not names and key in {"properties", "$defs"})
        if key not in {"default", "const", "enum", "examples"} or names
        else value
        for key, value in tree.items()
        if names or key != "title" or not isinstance(value, str)
    }


def is_struct(hint: object) -> bool:
    """Whether a type is a struct of msgspec."""
    return isinstance(hint, type) and hasattr(hint, "__struct_config__")


def struct_type(hint: Any, place: str) -> tuple[JsonType, Mapping[str, Json]]:  # noqa: ANN401 - a struct
    """The type as JSON, and the schemas under ``#/$defs/`` that it refers to.

    :raises ConfigError: if msgspec cannot generate a schema
    """
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

    return JsonType(_untitled(tree), read), _untitled(shared, names=True)


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
_KNOWN: Final = "use str, int, float, bool, list, dict or TypedDict"


class Types:
    """The types of one tool, and the schemas that they share."""

    def __init__(self) -> None:
        self.shared: dict[str, Json] = {}
        """Schemas for ``$defs``: recursive types, and nested models of pydantic and structs of msgspec."""
        self._open: list[object] = []
        """Records whose fields are being converted: meeting one again means that it is recursive."""
        self._recursive: dict[object, JsonType | None] = {}

    def of(self, hint: Any, place: str) -> JsonType:  # noqa: ANN401 - a type hint can be anything
        """A type as JSON.

        :raises ConfigError: if JSON cannot represent it
        """
        arguments, origin = get_args(hint), get_origin(hint) or hint
        if origin is Annotated:
            return self._annotated(hint, arguments[0], arguments[1:], place)
        if origin in {Required, NotRequired}:
            return self.of(arguments[0], place)
        if isinstance(hint, Hashable) and hint in SCALARS:
            return SCALARS[hint]
        if origin in {Union, types.UnionType}:
            return union([self.of(choice, place) for choice in arguments])
        if origin is Literal:
            return one_of([(default_of(choice, f"{place}: the choice"), choice) for choice in arguments])
        if origin in _ARRAYS:
            return self._array(origin, arguments, place)
        if origin in _OBJECTS:
            return self._object(arguments, place)
        if isinstance(hint, type) and issubclass(hint, Enum):
            return one_of([(default_of(member.value, f"{place}: the choice"), member) for member in hint])
        return self._named(hint, place)

    def _named(self, hint: Any, place: str) -> JsonType:  # noqa: ANN401
        if is_pydantic(hint):
            return self._foreign(pydantic_type(hint, place), place)
        if is_struct(hint):
            return self._foreign(struct_type(hint, place), place)
        if is_record(hint):
            return self._record(hint, place)
        aliased = getattr(hint, "__supertype__", NOTHING)  # a NewType
        aliased = getattr(hint, "__value__", NOTHING) if aliased is NOTHING else aliased  # `type X = …`
        if aliased is not NOTHING:
            return self.of(aliased, place)
        raise ConfigError(f"{place}: {hint!r} cannot be carried by JSON; {_KNOWN}")

    def _annotated(self, hint: Any, inner: Any, extras: Sequence[object], place: str) -> JsonType:  # noqa: ANN401
        if any(is_pydantic(extra) for extra in extras):
            kind = self._foreign(pydantic_type(hint, place), place)
        else:
            kind = constrained(self.of(inner, place), extras, place)
        text = description_in(extras)
        return JsonType({**kind.schema, "description": text}, kind.read) if text else kind

    def _foreign(self, made: tuple[JsonType, Mapping[str, Json]], place: str) -> JsonType:
        """A type whose schema another library has made, with what that refers to."""
        kind, shared = made
        for name, schema in shared.items():
            self._share(name, schema, place)
        return kind

    def _share(self, name: str, schema: Json, place: str) -> None:
        if self.shared.setdefault(name, schema) != schema:
            raise ConfigError(f"{place}: there are two types {name!r}; rename one of the two")

    def _array(self, origin: object, arguments: Sequence[Any], place: str) -> JsonType:
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

    def _object(self, arguments: Sequence[Any], place: str) -> JsonType:
        if not arguments:
            return JsonType({"type": "object"}, values_reader(str, ANYTHING))
        key, value = self.of(arguments[0], f"{place}, the keys"), self.of(arguments[1], place)
        schema: dict[str, Json] = {"type": "object", "additionalProperties": value.schema}
        return JsonType(schema, values_reader(key_reader(key, arguments[0]), value))

    def _record(self, kind: Any, place: str) -> JsonType:  # noqa: ANN401
        reference: dict[str, Json] = {"$ref": f"#/$defs/{kind.__name__}"}
        if kind in self._recursive or kind in self._open:
            self._recursive.setdefault(kind, None)
            return JsonType(reference, lambda value: self._closed(kind).read(value))
        self._open.append(kind)
        parts, required = dict[str, JsonType](), list[str]()
        for part in parts_of(kind, hints_of(kind, place)):
            at = f"{place}, key {part.name!r}"
            field = self.of(part.hint, at)
            if part.default is not NOTHING and part.default is not None:
                field = JsonType(
                    {**field.schema, "default": default_of(part.default, f"{at}: its default")}, field.read
                )
            parts[part.name] = field
            required += [part.name] if part.required else []
        self._open.pop()
        record = record_type(kind, parts, required)
        if kind not in self._recursive:
            return record
        self._recursive[kind] = record
        self._share(kind.__name__, record.schema, place)
        return JsonType(reference, record.read)

    def _closed(self, kind: object) -> JsonType:
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


def default_of(value: object, place: str) -> Json:
    """A default or a choice as JSON.

    :raises ConfigError: if JSON cannot represent it
    """
    try:
        return plain(value)
    except (TypeError, ValueError):
        raise ConfigError(f"{place} {value!r} is not JSON; use None and decide inside") from None


NOTHING = inspect.Parameter.empty


class Part(NamedTuple):
    """A field of a record."""

    name: str
    hint: Any
    required: bool
    default: object = NOTHING
    """Its default, if it has one that is known without calling a factory."""


def is_record(hint: Any) -> bool:  # noqa: ANN401 - a type hint can be anything
    """Whether a type has named fields."""
    if not isinstance(hint, type):
        return False
    return (
        _is_typed_dict(hint)
        or dataclasses.is_dataclass(hint)
        or (issubclass(hint, tuple) and hasattr(hint, "_fields"))
    )


def parts_of(kind: Any, hints: Mapping[str, Any]) -> Iterator[Part]:  # noqa: ANN401
    """The fields of a record, in order.

    :param hints: its resolved annotations
    """
    if _is_typed_dict(kind):
        for name, hint in hints.items():
            yield Part(name, hint, _is_required(name, hint, kind))
    elif dataclasses.is_dataclass(kind):
        for field in dataclasses.fields(kind):
            if field.init:
                default = NOTHING if field.default is dataclasses.MISSING else field.default
                required = default is NOTHING and field.default_factory is dataclasses.MISSING
                yield Part(field.name, hints[field.name], required, default)
    else:
        for name in kind._fields:
            default = kind._field_defaults.get(name, NOTHING)
            yield Part(name, hints.get(name, Any), default is NOTHING, default)


def record_type(kind: Any, parts: Mapping[str, JsonType], required: list[str]) -> JsonType:  # noqa: ANN401
    """The type of a record, from the types of its fields and the names of the required ones."""
    descriptions = parse_docstring(inspect.getdoc(kind) or "", parts).parameters
    properties: dict[str, Json] = {
        name: {**({"description": descriptions[name]} if name in descriptions else {}), **part.schema}
        for name, part in parts.items()
    }
    schema: dict[str, Json] = {"type": "object", "properties": properties}
    schema |= {"required": list(required), "additionalProperties": False}
    build = cast("Callable[..., object]", dict if _is_typed_dict(kind) else kind)

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

    return JsonType(schema, read)


def _is_typed_dict(kind: type) -> bool:
    """Whether it is a ``TypedDict``, of ``typing`` or of ``typing_extensions``, which can differ."""
    return is_typeddict(kind) or (issubclass(kind, dict) and hasattr(kind, "__required_keys__"))


def _is_required(name: str, hint: Any, typed_dict: Any) -> bool:  # noqa: ANN401
    """Whether a key is required.

    With postponed annotations, ``__required_keys__`` misses ``Required`` and ``NotRequired``, so this
    looks at the hint.
    """
    if (
        get_origin(hint) is not Required
        and get_origin(hint) is not NotRequired
        and hasattr(hint, "__metadata__")
    ):
        hint = get_args(hint)[0]
    if get_origin(hint) in {Required, NotRequired}:
        return get_origin(hint) is Required
    return name in typed_dict.__required_keys__
