"""Calls written in Python, such as ``mv(source='a.txt')``: read as data and never evaluated."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from toolreel_core._jsontext.canonical import Json

_LONGEST: Final = 20_000
"""Characters of a call, so that a hostile text cannot exhaust the parser."""


class CallTextError(ValueError):
    """A text that is no call of a plain name with literal arguments."""


def read_call(text: str, parameters: dict[str, Sequence[str]]) -> tuple[str, dict[str, Json]]:
    """The name and the arguments of a call; those without a name are in the order of the parameters.

    >>> read_call("mv('a.txt', destination='b')", {"mv": ["source", "destination"]})
    ('mv', {'source': 'a.txt', 'destination': 'b'})

    :param parameters: names of the parameters of each function
    :raises CallTextError: if it is anything else, or there is no such function
    """
    call = _parsed(text)
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    if name not in parameters:
        raise CallTextError(f"{_short(text)}: no function of this case")
    if len(call.args) > len(parameters[name]):
        raise CallTextError(f"{_short(text)}: more arguments than parameters")
    arguments = {key: _literal(value, text) for key, value in zip(parameters[name], call.args, strict=False)}
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg in arguments:
            raise CallTextError(f"{_short(text)}: an argument comes twice, or without a name")
        arguments[keyword.arg] = _literal(keyword.value, text)
    return name, arguments


def _parsed(text: str) -> ast.Call:
    try:
        tree = ast.parse(text.strip()[:_LONGEST], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise CallTextError(f"{_short(text)}: not an expression of Python") from None
    if not isinstance(tree, ast.Call):
        raise CallTextError(f"{_short(text)}: not a call")
    return tree


def _literal(node: ast.expr, text: str) -> Json:
    try:
        return _json(ast.literal_eval(node))
    except (ValueError, TypeError, RecursionError, MemoryError):
        raise CallTextError(f"{_short(text)}: an argument is no literal") from None


def _json(value: object) -> Json:
    """A value as JSON has it: tuples become lists, as they do on the wire."""
    if isinstance(value, dict):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ValueError(value)


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
