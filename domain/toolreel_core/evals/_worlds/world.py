"""Worlds: the state behind the tools of a scenario, as frozen values.

A world answers a call with its successor and the tool's output. The calls of a run therefore determine its
world: replays, new checks and what-if runs need neither a network nor stored worlds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from toolreel_core._jsontext import Json, JsonText, Tree, canonical, chain, read
from toolreel_core._tools import Envelope, ToolFailure


class World(Protocol):
    """The state behind the tools of one run."""

    def call(self, name: str, arguments: Tree) -> tuple[World, JsonText]:
        """The world after a call, and what the tool returned: an envelope, or any other JSON value.

        :param name: the tool's inner name
        """
        ...

    def contents(self) -> Json:
        """Its contents, for checks and records."""
        ...


def success(tool: str, data: Tree) -> JsonText:
    """The output of a call that worked."""
    return Envelope(True, tool, canonical(data)).text()


def failure(tool: str, code: str, message: str) -> JsonText:
    """The output of a call that failed.

    >>> failure("add", "ARGUMENT_ERROR", "a is missing.")
    '{"ok":false,"tool_name":"add","data":{},"warnings":[],"errors":[{"code":"ARGUMENT_ERROR",\
"message":"a is missing."}]}'
    """
    return Envelope(False, tool, canonical({}), errors=(ToolFailure(code, message),)).text()


def is_failure(output: str) -> bool:
    """Whether the output of a real tool is an envelope that says that the call failed.

    >>> is_failure(failure("add", "ARGUMENT_ERROR", "a is missing.")), is_failure("no JSON")
    (True, False)
    """
    tree = read(output).value_or(None)
    return isinstance(tree, Mapping) and tree.get("ok") is False


def identifier(seed: str, what: str) -> str:
    """An identifier in the form of a UUID: the same for the same seed, so that requests are the same too.

    >>> identifier("1", "workspace")
    '972a3eca-b8fd-a383-0a36-afbcdfd15320'
    """
    digits = chain("identifier", what, seed)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))
