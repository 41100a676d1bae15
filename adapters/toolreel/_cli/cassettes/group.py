"""``toolreel cassettes``: looking after recordings."""

from __future__ import annotations

from typing import Final

import click

from toolreel._cli.lazy import LazyCommand, LazyGroup
from toolreel._cli.output.errors import EPILOG

_COMMANDS: Final = (
    LazyCommand(
        "check", "cassettes.check:check_command", "Look over recordings: leaks, orphans, age, drift."
    ),
    LazyCommand("export", "cassettes.convert:export_command", "Make a cassette into one of stock vcrpy."),
    LazyCommand("import", "cassettes.convert:import_command", "Make cassettes of stock vcrpy into ours."),
    LazyCommand(
        "journal", "cassettes.journal:journal_command", "Make the journal of a cassette, whoever recorded it."
    ),
)


@click.group(
    "cassettes",
    cls=LazyGroup,
    commands=_COMMANDS,
    epilog=EPILOG,
    short_help="Check recordings, import and export those of vcrpy, tell their journals.",
)
def cassettes_command() -> None:
    """Look after recordings: cassettes and their journals."""
