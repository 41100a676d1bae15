"""``toolreel cassettes``: looking after recordings."""

from __future__ import annotations

import click

from toolreel_adapters.cli.cassettes_check import check_command
from toolreel_adapters.cli.cassettes_import import import_command
from toolreel_adapters.cli.cassettes_journal import journal_command
from toolreel_adapters.cli.reporting import EPILOG

__all__ = ["cassettes_command"]


@click.group(
    "cassettes", epilog=EPILOG, short_help="Check recordings, import those of vcrpy, tell their journals."
)
def cassettes_command() -> None:
    """Look after recordings: cassettes and their journals."""


cassettes_command.add_command(check_command)
cassettes_command.add_command(import_command)
cassettes_command.add_command(journal_command)
