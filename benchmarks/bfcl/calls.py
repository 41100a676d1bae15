"""Calls as the leaderboard writes them down: one Python call a line, of plain names and literals.

``mv(source='a.txt', destination='b')`` is read as data. Nothing is ever evaluated, so a text that is more
than that is refused, whatever it would do.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolreel_core._jsontext import Json

__all__ = ["CallTextError", "WrittenCall", "read_call"]

_LONGEST = 20_000
"""Characters of a call; the longest of the leaderboard has a few hundred."""


class CallTextError(ValueError):
    """A text that is no call of a plain name with literal arguments."""


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call, its arguments as they were written."""

    name: str
    positional: tuple[Json, ...]
    named: Mapping[str, Json]

    def arguments(self, parameters: Sequence[str]) -> dict[str, Json]:
        """The arguments by name, those without one in the order of the signature.

        >>> read_call("sort('a.txt')").arguments(["file_name"])
        {'file_name': 'a.txt'}

        :raises CallTextError: if there are more than parameters, or one comes twice
        """
        if len(self.positional) > len(parameters):
            count = len(self.positional)
            raise CallTextError(f"{self.name}: {count} arguments for {len(parameters)} parameters")
        by_place = dict(zip(parameters, self.positional, strict=False))
        if twice := [name for name in by_place if name in self.named]:
            raise CallTextError(f"{self.name}: {twice[0]!r} comes by place and by name")
        return {**by_place, **self.named}


def read_call(text: str) -> WrittenCall:
    """The call that a text is.

    >>> read_call("cd(folder='..')")
    WrittenCall(name='cd', positional=(), named={'folder': '..'})

    :raises CallTextError: if it is anything else
    """
    if len(text) > _LONGEST:
        raise CallTextError(f"{text[:40]!r}…: longer than {_LONGEST} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise CallTextError(f"{text!r}: not an expression of Python") from None
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise CallTextError(f"{text!r}: not a call of a plain name")
    named: dict[str, Json] = {}
    for keyword in tree.keywords:
        if keyword.arg is None:
            raise CallTextError(f"{text!r}: ** among the arguments")
        if keyword.arg in named:
            raise CallTextError(f"{text!r}: {keyword.arg!r} comes twice")
        named[keyword.arg] = _literal(keyword.value, text)
    return WrittenCall(tree.func.id, tuple(_literal(value, text) for value in tree.args), named)


def _literal(node: ast.expr, text: str) -> Json:
    """A value as JSON has it: tuples become lists, as they do on the wire."""
    try:
        value: Any = ast.literal_eval(node)
        carried: Json = json.loads(json.dumps(value, allow_nan=False))
    except (ValueError, TypeError, RecursionError, MemoryError):
        raise CallTextError(f"{text!r}: {ast.unparse(node)!r} is no literal that JSON can carry") from None
    return carried
