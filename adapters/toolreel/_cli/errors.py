"""Errors, exit codes, ``--json``, and options whose defaults a project sets: shared by all commands."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

import click

from toolreel._internal import printable_json
from toolreel_core._errors import ReplayMismatch, ToolreelError

if TYPE_CHECKING:
    from toolreel._internal import ProjectSettings


_INSTEAD = ("recorded", "other", "replayed", "goes_on")
"""Parameters of `fork`, `probe` and `chat` that say that a recording answers, or has the model."""


def current_project_settings() -> ProjectSettings:
    """What the project around this folder says for all commands.

    :raises ProjectSettingsError: if it cannot be used
    """
    from toolreel._internal import project_settings  # --help does not need it

    return project_settings(Path.cwd())


class SharedOption(click.Option):
    """An option whose default is the key of its name in ``[tool.toolreel]``."""

    def get_default(self, ctx: click.Context, call: bool = True) -> Any:  # noqa: ANN401 - as click has it
        own = super().get_default(ctx, call)
        if not call or ctx.resilient_parsing:  # for --help and completion
            return own
        from toolreel._internal import EVERY, SERVER_KEYS, SHARED_KEYS

        key = max(self.opts, key=len).lstrip("-").replace("-", "_")
        if not {ctx.info_name, EVERY} & {*SHARED_KEYS[key].commands}:
            return own
        # Click asks for defaults in the order of declaration, after all that the command line gives.
        if key in {"base_url", "model"} and any(map(ctx.params.get, _INSTEAD)):
            return own
        try:
            values = current_project_settings().values
        except ToolreelError as error:
            raise click.UsageError(str(error), ctx) from None
        if key in SERVER_KEYS and ctx.params.get("base_url") != values.get("base_url"):
            return own  # the command line names another server, which gets no key of this one
        return values.get(key, own)


_Options = ParamSpec("_Options")

FAILED = 1
USAGE = 2
DRIFT = 3
INTERRUPTED = 130
"""What shells expect after Ctrl-C: 128 and the number of the signal."""
STOPPED = "interrupted from the keyboard"
EPILOG = "Exit codes: 0 success, 1 the run failed, 2 usage, 3 a recording disagrees, 130 stopped with Ctrl-C."

json_option = click.option(
    "--json", "as_machine", is_flag=True, help="Print one JSON object instead of text."
)


def print_json(tree: Mapping[str, object]) -> int:
    # Imported here because --help does not need it.
    from toolreel._cli.console import discard_output, scrubbed_json

    try:
        click.echo(printable_json(json.dumps(scrubbed_json(tree), ensure_ascii=False)).encode())
    except BrokenPipeError:
        discard_output(sys.stdout)
    return 0


def _import_modules(context: click.Context, parameter: click.Parameter, modules: tuple[str, ...]) -> None:
    if not modules:
        return
    from toolreel.tools import load_module  # few commands import anything

    try:
        for module in modules:
            load_module(module, module)
    except ToolreelError as error:
        raise click.BadParameter(str(error), context, parameter) from None


def with_error_reporting(command: Callable[_Options, int]) -> Callable[_Options, None]:
    """Decorate a command: print errors instead of raising them, and exit with the returned code.

    It also gets ``--import``, so that every command can use what is registered by name.
    """

    @click.option(
        "--import",
        "modules",
        cls=SharedOption,
        multiple=True,
        metavar="MODULE",
        envvar="TOOLREEL_IMPORT",
        is_eager=True,  # settings that other options name may be registered there
        expose_value=False,
        callback=_import_modules,
        help="Import a module, or a file.py, that registers transforms or tokenizers of your own. "
        "Repeatable; TOOLREEL_IMPORT names modules for all commands.",
    )
    @wraps(command)
    def reported(*args: _Options.args, **kwargs: _Options.kwargs) -> None:
        try:
            current_project_settings().set_unset_variables(os.environ)
            sys.exit(command(*args, **kwargs))
        except (KeyboardInterrupt, click.Abort, ToolreelError) as error:
            from toolreel._cli.console import complain  # imported here because --help does not need rich

            is_stopped = not isinstance(error, ToolreelError)
            complain(STOPPED if is_stopped else str(error))
            sys.exit(INTERRUPTED if is_stopped else DRIFT if isinstance(error, ReplayMismatch) else USAGE)

    return reported


def command(name: str, short_help: str | None = None) -> Callable[[Callable[..., int]], click.Command]:
    """Decorate a function with options: a command that reports its errors; it returns the exit code."""

    def decorate(function: Callable[..., int]) -> click.Command:
        reported = with_error_reporting(function)
        options: list[click.Parameter] = reported.__dict__["__click_params__"]
        options.insert(0, options.pop())  # --import comes last in the help
        return click.command(
            name, context_settings={"show_default": True}, epilog=EPILOG, short_help=short_help
        )(reported)

    return decorate
