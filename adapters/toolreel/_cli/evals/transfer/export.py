"""``toolreel eval export``: write an evaluation in another program's format."""

from __future__ import annotations

from pathlib import Path

import click

from toolreel._cli.console import counted, out
from toolreel._cli.errors import json_option, reporting, say
from toolreel._cli.evals.recorded.replay import folder_argument
from toolreel.evals._transfer.inspect_log import write_inspect_logs


@click.command(
    "export",
    epilog="Exit codes: 0 written, 2 usage.",
    short_help="Write an evaluation in another program's format.",
)
@folder_argument
@click.option("--to", "form", required=True, type=click.Choice(["inspect"]), help="The format.")
@click.option(
    "--out",
    "target",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="A folder, for a log of each model and strategy; or FILE.json, if there is only one.",
)
@json_option
@reporting
def export_command(folder: Path, form: str, target: Path, as_machine: bool) -> int:
    """Write the runs of DIR as logs of Inspect: messages, scores, usage, limits and errors.

    What that format has no place for is in the metadata of each sample.
    """
    paths = write_inspect_logs(folder, target)
    if as_machine:
        say({"format": form, "files": [str(path) for path in paths]})
    else:
        out.print(f"{counted(len(paths), 'log')} of {form}")
        for path in paths:
            out.print(str(path), soft_wrap=True, markup=False, highlight=False)
    return 0
