"""Commands that are loaded when they are invoked.

A group knows the names of its commands and a line about each, which is all that its own help, its
completion and its hint at a misspelt name are made of. Whatever a command imports is paid for by
who runs that command, or asks for its help.
"""

from __future__ import annotations

from importlib import import_module

import click

__all__ = ["LazyCommand", "LazyGroup"]


class LazyCommand(click.Command):
    """What a group shows in the place of a command that nobody has needed yet."""

    def __init__(self, name: str, home: str, short_help: str) -> None:
        """Stand for the command ``home``, written ``module:attribute``, of a module beside this one."""
        super().__init__(name, short_help=short_help)
        self.home = home

    def load(self) -> click.Command:
        """The command itself.

        :raises ImportError: if it needs a package that is not installed
        """
        module, _, attribute = self.home.partition(":")
        command: click.Command = getattr(import_module(f"{__package__}.{module}"), attribute)
        return command


class LazyGroup(click.Group):
    """A group that loads a command on the way to invoking it."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments begin with, and the rest of them."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, LazyCommand) else command, rest
