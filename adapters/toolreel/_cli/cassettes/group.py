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
    LazyCommand(
        "export", "cassettes.export_import:export_command", "Convert a cassette to stock vcrpy's format."
    ),
    LazyCommand(
        "import", "cassettes.export_import:import_command", "Convert stock vcrpy's cassettes to toolreel's."
    ),
    LazyCommand(
        "journal",
        "cassettes.journal:journal_command",
        "Make the journal of any client's cassette.",
    ),
)


@click.group(
    "cassettes",
    cls=LazyGroup,
    commands=_COMMANDS,
    epilog=EPILOG,
    short_help="Check recordings, convert them from and to vcrpy, make their journals.",
)
def cassettes_command() -> None:
    """Look after recordings: cassettes and their journals."""
