"""Tool definitions from typed functions: schema from the signature, descriptions from the docstring."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

from toolreel.tools._call_context import RunContext, ToolError
from toolreel.tools._docstrings import parse_docstring
from toolreel.tools._json_types import InvalidValue, JsonType, Types, type_hints_of
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, canonical
from toolreel_core._tools import ToolDefinition

_MAX_COMPLAINTS = 3


@dataclass(frozen=True, slots=True)
class ParameterTypes:
    kinds: Mapping[str, JsonType] = field(default_factory=dict)
    """Type of each argument; arguments without one are passed as JSON."""
    context: str | None = None

    def keyword_arguments(
        self, name: str, arguments: Mapping[str, Json], context: RunContext[Any] | None
    ) -> dict[str, object]:
        values = dict[str, object]()
        complaints = list[str]()
        for key, value in arguments.items():
            try:
                values[key] = self.kinds[key].read_with_error_path(key, value) if key in self.kinds else value
            except InvalidValue as error:
                complaints.append(str(error))
        if complaints:
            details = "; ".join(complaints[:_MAX_COMPLAINTS])
            raise ToolError(f"{details}. Call {name} again with the corrected arguments.")
        return values if self.context is None else {**values, self.context: context}


class Signature(NamedTuple):
    definition: ToolDefinition
    arguments: ParameterTypes


def signature_of(function: Callable[..., object], name: str | None = None) -> Signature:
    """The definition of a tool whose arguments are the function's parameters, and how to read them.

    The first paragraphs of the docstring become the description; its sections and fields describe parameters.

    :param name: the tool's inner name; by default the name of the function
    :raises ConfigError: if a parameter has no annotation, or a type that JSON cannot represent
    """
    tool = name if name is not None else _tool_name(function)
    annotated = _annotations_holder(function)
    try:
        hints, parameters = type_hints_of(annotated), _parameters_of(function)
    except ConfigError as error:
        raise ConfigError(f"tool {tool!r}: {error}") from None
    types, context = Types(getattr(inspect.unwrap(annotated), "__globals__", {})), None
    properties, required = dict[str, Json](), list[str]()
    kinds = dict[str, JsonType]()
    docstring = parse_docstring(_docstring_of(function), parameters)
    for key, parameter in parameters.items():
        at = f"tool {tool!r}, parameter {key!r}"
        if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
            raise ConfigError(f"{at}: models pass arguments by name; make it a plain parameter")
        if key not in hints:
            raise ConfigError(f"{at}: has no type; annotate it, for example `{key}: str`")
        if _is_run_context(hints[key]):
            context = key
            continue
        try:
            kinds[key], default = types.part(at, hints[key], parameter.default)
        except RecursionError:
            why = "its type is recursive in a way that a schema cannot express; use dict"
            raise ConfigError(f"{at}: {why}") from None
        words = {"description": docstring.parameters[key]} if key in docstring.parameters else {}
        # The schema twice: its keys come first, and its own description wins over that of the docstring.
        properties[key] = {**kinds[key].schema, **words, **kinds[key].schema, **default}
        required += [key] if parameter.default is parameter.empty else []
    tree: dict[str, Json] = {"type": "object", "properties": properties, **types.definitions}
    tree |= {"required": required} if required else {}
    definition = ToolDefinition.of(tool, docstring.summary, {**tree, "additionalProperties": False})
    return Signature(definition, ParameterTypes(kinds, context))


def argument_types(definition: ToolDefinition, function: Callable[..., object]) -> ParameterTypes:
    """How a function takes its arguments: as plain JSON, unless the schema is that of its signature."""
    with suppress(ConfigError):
        signature = signature_of(function, definition.name)
        if signature.definition.parameters == definition.parameters:
            return signature.arguments
    try:
        hints, parameters = type_hints_of(_annotations_holder(function)), _parameters_of(function)
    except ConfigError:
        return ParameterTypes()
    context = next((name for name, hint in hints.items() if _is_run_context(hint)), None)
    for key, each in parameters.items():
        is_needed = each.default is each.empty and "VAR" not in each.kind.name and key != context
        # As text, since any part of it may have the key; without properties, it says nothing about keys.
        is_known = '"properties":{"' not in definition.parameters or canonical(key) in definition.parameters
        if is_needed and not is_known:
            why = f"its schema has no {key!r}, which the function needs; add it, or give it a default"
            raise ConfigError(f"tool {definition.name!r}: {why}")
    return ParameterTypes(context=context)


def docstring_summary(function: Callable[..., object]) -> str:
    return parse_docstring(_docstring_of(function), ()).summary


def _function_without_partial(function: Callable[..., object]) -> Callable[..., object]:
    return _function_without_partial(function.func) if isinstance(function, functools.partial) else function


def _docstring_of(function: Callable[..., object]) -> str:
    return inspect.getdoc(_function_without_partial(function)) or ""


def _annotations_holder(function: Callable[..., object]) -> Any:  # noqa: ANN401 - a function, a method or a class
    function = _function_without_partial(function)
    if inspect.isclass(function):
        return function.__init__
    return function if inspect.isroutine(function) else type(function).__call__


def _parameters_of(function: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    try:
        parameters = inspect.signature(function).parameters
    except ValueError as error:
        raise ConfigError(f"{error}; wrap it in a function of your own") from None
    bound = function.keywords if isinstance(function, functools.partial) else {}
    return {name: parameter for name, parameter in parameters.items() if name not in bound}


def _tool_name(function: Callable[..., object]) -> str:
    function = _function_without_partial(function)
    name = str(getattr(function, "__name__", ""))
    if not name.isidentifier():
        raise ConfigError(f"{function!r} has no name that a model could call; give it one with def")
    return name


def _is_run_context(hint: Any) -> bool:  # noqa: ANN401
    if (get_origin(hint) or hint) is RunContext:
        return True
    is_choice = get_origin(hint) in {Annotated, Union, UnionType}
    return is_choice and any(_is_run_context(part) for part in get_args(hint))
