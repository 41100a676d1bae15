"""``toolreel cassettes``: what can be done with recordings besides replaying them."""

from __future__ import annotations

import click

from toolreel_adapters.cli.cassettes_journal import journal_command
from toolreel_adapters.cli.reporting import EPILOG

__all__ = ["cassettes_command"]


@click.group("cassettes", epilog=EPILOG, short_help="Work with recorded sessions.")
def cassettes_command() -> None:
    """Work with recorded sessions."""


cassettes_command.add_command(journal_command)
