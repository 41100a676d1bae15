"""``toolreel cassettes``: looking after recordings."""

from __future__ import annotations

from typing import Final

import click

from toolreel._cli.lazy import Later, LazyGroup
from toolreel._cli.output.errors import EPILOG

__all__ = ["cassettes_command"]

_COMMANDS: Final = (
    Later("check", "cassettes.check:check_command", "Look over recordings: leaks, orphans, age, drift."),
    Later("export", "cassettes.export:export_command", "Make a cassette into one of stock vcrpy."),
    Later("import", "cassettes.import_:import_command", "Make cassettes of stock vcrpy into ours."),
    Later(
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
