"""Commands whose modules are imported when they are invoked.

A group knows the name and one line of help of each command. That is enough for its own ``--help``, for
completion and for suggestions after a typo, so ``toolreel --help`` imports no command.
"""

from __future__ import annotations

from importlib import import_module

import click


class LazyCommand(click.Command):
    """A placeholder for a command whose module has not been imported."""

    def __init__(self, name: str, home: str, short_help: str) -> None:
        """Stand for the command at ``home``: ``module:attribute``, relative to this package."""
        super().__init__(name, short_help=short_help)
        self.home = home

    def load(self) -> click.Command:
        """Import the command.

        :raises ImportError: if it needs a package that is not installed
        """
        module, _, attribute = self.home.partition(":")
        command: click.Command = getattr(import_module(f"{__package__}.{module}"), attribute)
        return command


class LazyGroup(click.Group):
    """A group that imports a command when it is invoked."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name, imported, and the remaining arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, LazyCommand) else command, rest
