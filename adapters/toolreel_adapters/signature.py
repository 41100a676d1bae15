"""Tool definitions from typed Python functions: the signature gives the schema, the docstring the words."""

from __future__ import annotations

import inspect
import math
import re
import types
from collections.abc import Callable, Container, Mapping, Sequence
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

__all__ = ["definition_of", "documented"]

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
_ARGUMENTS: Final = {"Args", "Arguments", "Parameters"}
_FIELD: Final = re.compile(r":param\s+(?:[^:]*\s)?(\w+):\s*(.*)")
_OTHER_FIELD: Final = re.compile(r":(?:type|returns?|rtype|raises?|yields?)\b[^:]*:")


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
    tool = _name(function)
    hints = _hints(function, f"tool {tool!r}")
    parameters = _parameters(function, f"tool {tool!r}")
    about, described = _words(inspect.getdoc(function) or "", parameters)
    properties: dict[str, Json] = {}
    for name, parameter in parameters.items():
        place = f"tool {tool!r}, parameter {name!r}"
        if name not in hints:
            raise ConfigError(f"{place}: has no type; annotate it, for example `{name}: str`")
        properties[name] = _property(hints[name], parameter.default, described.get(name), place)
    required = [name for name, parameter in parameters.items() if parameter.default is parameter.empty]
    tree: dict[str, Json] = {"type": "object", "properties": properties}
    if required:
        tree["required"] = required
    return ToolDefinition.of(tool, about, {**tree, "additionalProperties": False})


def documented(function: Callable[..., object]) -> str:
    """What the docstring of a function says about it as a whole."""
    about, _ = _words(inspect.getdoc(function) or "", ())
    return about


def _property(hint: object, default: object, words: str | None, place: str) -> Mapping[str, Json]:
    try:
        schema = dict(_schema(hint, place))
    except RecursionError:
        raise ConfigError(f"{place}: its type holds itself, and a schema cannot; use dict") from None
    if words is not None:
        schema.setdefault("description", words)
    if default is not inspect.Parameter.empty and default is not None:
        schema["default"] = _plain(default, f"{place}: its default")
    return schema


def _parameters(function: Callable[..., object], place: str) -> Mapping[str, inspect.Parameter]:
    try:
        parameters = inspect.signature(function).parameters
    except ValueError as error:
        raise ConfigError(f"{place}: {error}; wrap it in a function of your own") from None
    for name, parameter in parameters.items():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY}:
            raise ConfigError(
                f"{place}, parameter {name!r}: models pass arguments by name; make it a plain parameter"
            )
    return parameters


def _name(function: Callable[..., object]) -> str:
    name = getattr(function, "__name__", "")
    if not isinstance(name, str) or not name.isidentifier():
        raise ConfigError(f"{function!r} has no name that a model could call; give it one with def")
    return name


def _hints(annotated: Callable[..., object], place: str) -> Mapping[str, Any]:
    try:
        return get_type_hints(annotated, include_extras=True)
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise ConfigError(f"{place}: its annotations cannot be read: {error}") from None


def _plain(value: object, place: str) -> Json:
    match value:
        case Enum():
            return _plain(value.value, place)
        case None | bool() | int() | str():
            return value
        case float():
            if math.isfinite(value):
                return value
        case list() | tuple():
            return [_plain(item, place) for item in value]
        case dict():
            return {str(key): _plain(item, place) for key, item in value.items()}
        case _:
            pass
    raise ConfigError(f"{place} {value!r} is not JSON; use None and decide inside")


def _schema(hint: Any, place: str) -> Mapping[str, Json]:  # noqa: ANN401 - a type hint can be anything
    arguments = get_args(hint)
    origin = get_origin(hint) or hint
    if origin is Annotated:
        words = next((extra for extra in arguments[1:] if isinstance(extra, str)), None)
        return {**_schema(arguments[0], place), **({"description": words} if words else {})}
    if origin in {Required, NotRequired}:
        return _schema(arguments[0], place)
    if hint in _SCALARS:
        return {"type": _SCALARS[hint]}
    if hint is Any:
        return {}
    if origin in {Union, types.UnionType}:
        return _union(arguments, place)
    if origin is Literal:
        return {"enum": [_plain(choice, f"{place}: the choice") for choice in arguments]}
    if origin in {list, tuple, set, frozenset, Sequence}:
        return _array(origin, arguments, place)
    if origin in {dict, Mapping}:
        return {
            "type": "object",
            **({"additionalProperties": _schema(arguments[1], place)} if arguments else {}),
        }
    if inspect.isclass(hint) and issubclass(hint, Enum):
        return {"enum": [_plain(member, f"{place}: the choice") for member in hint]}
    if is_typeddict(hint):
        return _typed_dict(hint, place)
    raise ConfigError(
        f"{place}: {hint!r} cannot be carried by JSON; use str, int, float, bool, list, dict or TypedDict"
    )


def _union(choices: Sequence[Any], place: str) -> Mapping[str, Json]:
    schemas = [_schema(choice, place) for choice in choices]
    if all(set(schema) == {"type"} for schema in schemas):
        return {"type": [schema["type"] for schema in schemas]}
    return {"anyOf": schemas}


def _array(origin: object, arguments: Sequence[Any], place: str) -> Mapping[str, Json]:
    items = [argument for argument in arguments if argument is not Ellipsis]
    if origin is tuple and items and Ellipsis not in arguments:
        schemas = [_schema(item, place) for item in items]
        return {"type": "array", "prefixItems": schemas, "minItems": len(items), "maxItems": len(items)}
    return {"type": "array", **({"items": _schema(items[0], place)} if items else {})}


def _typed_dict(hint: Any, place: str) -> Mapping[str, Json]:  # noqa: ANN401
    keys = _hints(hint, place)
    properties = {name: _schema(kind, f"{place}, key {name!r}") for name, kind in keys.items()}
    needed = [name for name, kind in keys.items() if _is_needed(name, kind, hint)]
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


def _is_needed(name: str, kind: Any, typed_dict: Any) -> bool:  # noqa: ANN401
    """Whether a key must be there; Python itself does not know where annotations are postponed."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) in {Required, NotRequired}:
        return get_origin(kind) is Required
    return name in typed_dict.__required_keys__


def _words(docstring: str, names: Container[str]) -> tuple[str, Mapping[str, str]]:
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
        elif _OTHER_FIELD.match(text):
            section, current = "fields", ""
        elif not section:
            about.append(line)
        elif section in _ARGUMENTS and (found := _ENTRY.match(text)) and found[1] in names:
            current = found[1]
            described[current] = found[2]
        elif text and not line[0].isspace():
            current = ""
        elif current and text:
            described[current] = f"{described[current]} {text}".strip()
    return " ".join("\n".join(about).split()), described
