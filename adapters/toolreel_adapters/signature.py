"""Tool definitions from typed Python functions: the signature gives the schema, the docstring the words."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from toolreel.errors import ConfigError
from toolreel.jsontext import Json
from toolreel.surface import ToolDefinition

__all__ = ["definition_of"]

_SCALARS: Final[Mapping[object, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
_SECTION: Final = re.compile(
    r"(Args|Arguments|Parameters|Returns|Raises|Yields|Example|Examples|Note|Notes):"
)
_ENTRY: Final = re.compile(r"\*{0,2}(\w+)(?:\s*\([^)]*\))?:\s*(.*)")
_FIELD: Final = re.compile(r":param(?:\s+\w+)?\s+(\w+):\s*(.*)")


def definition_of(function: Callable[..., object]) -> ToolDefinition:
    """The definition of a tool whose arguments are the function's parameters.

    Types become a schema: ``str int float bool None list dict tuple Literal``, enums, unions,
    ``TypedDict`` and ``Annotated[…, "description"]``. The first paragraphs of the docstring become the
    description; ``Args:`` sections and ``:param name:`` fields describe parameters.

    >>> def roll(sides: int, times: int = 1) -> list[int]:
    ...     '''Roll a die.
    ...
    ...     Args:
    ...         sides: How many sides it has.
    ...     '''
    >>> definition_of(roll).parameters
    '{"type":"object","properties":{"sides":{"type":"integer","description":"How many sides it has."},\
"times":{"type":"integer","default":1}},"required":["sides"],"additionalProperties":false}'

    :raises ConfigError: if a parameter has no annotation, or one that JSON cannot carry
    """
    about, described = _words(inspect.getdoc(function) or "")
    hints = _hints(function)
    properties: dict[str, Json] = {}
    required: list[Json] = []
    for name, parameter in inspect.signature(function).parameters.items():
        place = f"tool {_name(function)!r}, parameter {name!r}"
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY}:
            raise ConfigError(f"{place}: models pass arguments by name; make it a plain parameter")
        if name not in hints:
            raise ConfigError(f"{place}: has no type; annotate it, for example `{name}: str`")
        schema = dict(_schema(hints[name], place))
        if name in described:
            schema.setdefault("description", described[name])
        if parameter.default is parameter.empty:
            required.append(name)
        elif parameter.default is not None:
            schema["default"] = _default(parameter.default, place)
        properties[name] = schema
    tree: dict[str, Json] = {"type": "object", "properties": properties}
    if required:
        tree["required"] = required
    return ToolDefinition.of(_name(function), about, {**tree, "additionalProperties": False})


def _name(function: Callable[..., object]) -> str:
    name = getattr(function, "__name__", "")
    if not isinstance(name, str) or not name.isidentifier():
        raise ConfigError(f"{function!r} has no name that a model could call; give it one with def")
    return name


def _hints(function: Callable[..., object]) -> Mapping[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        raise ConfigError(f"tool {_name(function)!r}: its annotations cannot be read: {error}") from None


def _default(value: object, place: str) -> Json:
    match value:
        case Enum():
            return _default(value.value, place)
        case bool() | int() | float() | str():
            return value
        case list() | tuple():
            return [_default(item, place) for item in value]
        case dict():
            return {str(key): _default(item, place) for key, item in value.items()}
        case _:
            raise ConfigError(f"{place}: the default {value!r} is not JSON; use None and decide inside")


def _schema(hint: Any, place: str) -> Mapping[str, Json]:  # noqa: ANN401 - a type hint can be anything
    if hint in _SCALARS:
        return {"type": _SCALARS[hint]}
    if hint is Any:
        return {}
    arguments = get_args(hint)
    origin = get_origin(hint) or hint
    if origin is Annotated:
        words = next((extra for extra in arguments[1:] if isinstance(extra, str)), None)
        return {**_schema(arguments[0], place), **({"description": words} if words else {})}
    if origin in {Union, types.UnionType}:
        return _union(arguments, place)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in {list, tuple, set, frozenset, Sequence}:
        return _array(origin, arguments, place)
    if origin in {dict, Mapping}:
        return {
            "type": "object",
            **({"additionalProperties": _schema(arguments[1], place)} if arguments else {}),
        }
    if inspect.isclass(hint) and issubclass(hint, Enum):
        return {"enum": [_default(member, place) for member in hint]}
    if is_typeddict(hint):
        return _typed_dict(hint, place)
    raise ConfigError(
        f"{place}: {hint!r} cannot be carried by JSON; use str, int, float, bool, list, dict or TypedDict"
    )


def _union(choices: Sequence[Any], place: str) -> Mapping[str, Json]:
    schemas = [_schema(choice, place) for choice in choices]
    if all(schema.keys() == {"type"} and isinstance(schema["type"], str) for schema in schemas):
        return {"type": [schema["type"] for schema in schemas]}
    return {"anyOf": schemas}


def _array(origin: object, arguments: Sequence[Any], place: str) -> Mapping[str, Json]:
    items = [argument for argument in arguments if argument is not Ellipsis]
    if origin is tuple and items and Ellipsis not in arguments:
        schemas = [_schema(item, place) for item in items]
        return {"type": "array", "prefixItems": schemas, "minItems": len(items), "maxItems": len(items)}
    return {"type": "array", **({"items": _schema(items[0], place)} if items else {})}


def _typed_dict(hint: Any, place: str) -> Mapping[str, Json]:  # noqa: ANN401
    properties: dict[str, Json] = {}
    for name, kind in get_type_hints(hint, include_extras=True).items():
        bare = get_args(kind)[0] if get_origin(kind) in {Required, NotRequired} else kind
        properties[name] = _schema(bare, f"{place}, key {name!r}")
    needed = [name for name in properties if name in hint.__required_keys__]
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


def _words(docstring: str) -> tuple[str, Mapping[str, str]]:
    """The description, and the words for each parameter (Google's ``Args:`` or Sphinx's ``:param:``)."""
    about: list[str] = []
    described: dict[str, str] = {}
    section, current = "", ""
    for line in docstring.splitlines():
        text = line.strip()
        if found := _FIELD.match(text):
            section, current = "fields", found[1]
            described[current] = found[2]
        elif found := _SECTION.fullmatch(text):
            section, current = found[1], ""
        elif not section:
            about.append(line)
        elif section in {"Args", "Arguments", "Parameters"} and (found := _ENTRY.match(text)):
            current = found[1]
            described[current] = found[2]
        elif text.startswith(":"):
            current = ""
        elif current and text:
            described[current] = f"{described[current]} {text}".strip()
    return " ".join("\n".join(about).split()), described
