"""Commands whose modules are imported when they are invoked.

A group knows the name and one line of help of each command. That is enough for its own ``--help``, for
completion and for suggestions after a typo, so ``toolreel --help`` imports no command.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

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
    """A group that imports a command when it is invoked, and lists its commands by purpose.

    :param sections: the commands under the headings of the group's ``--help``, in that order
    """

    def __init__(
        self,
        *args: Any,  # noqa: ANN401 - passed on to click
        sections: Mapping[str, Sequence[click.Command]] | None = None,
        **options: Any,  # noqa: ANN401 - passed on to click
    ) -> None:
        self._sections = sections or {}
        if sections:
            options["commands"] = [command for section in sections.values() for command in section]
        super().__init__(*args, **options)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands of each section; without sections, all of them in one list."""
        if not self._sections:
            super().format_commands(ctx, formatter)
        widest = max(map(len, self.commands))
        for title, commands in self._sections.items():
            with formatter.section(title):
                # Names are padded by hand, so that the columns of all sections are aligned.
                rows = [(str(each.name).ljust(widest), each.get_short_help_str(80)) for each in commands]
                formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name, imported, and the remaining arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, LazyCommand) else command, rest
