"""What all commands share: how they say what is wrong, their exit codes, and ``--json``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Final, ParamSpec

import click

from toolreel_core._errors import ReplayMismatch, ToolreelError

if TYPE_CHECKING:
    from toolreel_core._jsontext.canonical import Json

__all__ = ["DRIFT", "EPILOG", "USAGE", "json_option", "reporting", "say"]

_Options = ParamSpec("_Options")

USAGE: Final = 2
DRIFT: Final = 3
EPILOG: Final = "Exit codes: 0 success, 1 the run failed, 2 usage, 3 a recording disagrees."

json_option = click.option("--json", "as_machine", is_flag=True, help="One JSON object instead of text.")


def say(tree: Mapping[str, Json]) -> int:
    """One JSON object in a line to stdout; the exit code of success."""
    click.echo(json.dumps(tree, ensure_ascii=False).encode())
    return 0


def reporting(command: Callable[_Options, int]) -> Callable[_Options, None]:
    """A command that says what is wrong instead of raising, and exits with its number."""

    @wraps(command)
    def reported(*args: _Options.args, **kwargs: _Options.kwargs) -> None:
        try:
            sys.exit(command(*args, **kwargs))
        except ReplayMismatch as drift:
            _complain(drift)
            sys.exit(DRIFT)
        except ToolreelError as error:
            _complain(error)
            sys.exit(USAGE)

    return reported


def _complain(error: ToolreelError) -> None:
    from toolreel._cli.output.console import complain  # here, since --help needs no colours

    complain(str(error))
