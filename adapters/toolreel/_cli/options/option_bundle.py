"""Options that belong together, which a command receives as one value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Any, TypeAlias

Command: TypeAlias = Callable[..., None]


def bundle(
    name: str, kind: type[Any], *options: Callable[[Command], Command], prefix: str = ""
) -> Callable[[Command], Command]:
    """A decorator that adds options to a command, which receives them as one argument.

    :param name: of the argument
    :param kind: its class, a dataclass with a field for the parameter of each option
    :param prefix: what the names of the parameters begin with, before those of the fields
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def bundled(**values: object) -> None:
            own = {field.name: values.pop(prefix + field.name) for field in fields(kind)}
            command(**{name: kind(**own)}, **values)

        decorated: Command = bundled
        for option in reversed(options):  # the decorator applied last comes first in the help
            decorated = option(decorated)
        return decorated

    return decorate
