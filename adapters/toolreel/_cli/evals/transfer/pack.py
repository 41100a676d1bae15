"""``toolreel eval pack`` and ``unpack``: many recordings in a file, or a file for each."""

from __future__ import annotations

from pathlib import Path

import click

from toolreel._cli.console import counted, out
from toolreel._cli.errors import json_option, reporting, say
from toolreel._cli.evals.recorded.replay import folder_argument
from toolreel.evals._store.packing import PackingOutcome, pack_recordings, unpack_recordings

_EPILOG = "Exit codes: 0 success, 2 usage, or a recording cannot be read; nothing is removed then."


@click.command("pack", epilog=_EPILOG, short_help="Pack recordings: 500 runs a file.")
@folder_argument
@json_option
@reporting
def pack_command(folder: Path, as_machine: bool) -> int:
    """Pack the recordings of DIR: 500 runs a file. All commands read them as before, and eval run goes on.

    The digest covers the name and the bytes of each recording; eval unpack prints the same.
    """
    return _told(pack_recordings(folder), as_machine)


@click.command("unpack", epilog=_EPILOG, short_help="Make a file of each packed recording.")
@folder_argument
@json_option
@reporting
def unpack_command(folder: Path, as_machine: bool) -> int:
    """Write each packed recording of DIR to a file of its own, and remove the packs."""
    return _told(unpack_recordings(folder), as_machine)


def _told(done: PackingOutcome, as_machine: bool) -> int:
    if as_machine:
        say({"recordings": done.recordings, "files": done.files, "digest": done.digest})
    else:
        out.print(f"{counted(done.recordings, 'recording')} in {counted(done.files, 'file')}")
        if done.recordings:
            out.print(f"sha256 of all: {done.digest}")
    return 0
