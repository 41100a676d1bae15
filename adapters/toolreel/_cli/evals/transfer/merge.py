"""``toolreel eval merge``: join the shards of an evaluation."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import click

from toolreel._cli.console import counted, err, labelled, out, printable
from toolreel._cli.errors import json_option, reporting, say
from toolreel.evals._transfer.merge import Merged, merge_results

_EPILOG = "Exit codes: 0 joined, 2 usage, or the directories disagree; nothing is written then."


@click.command("merge", epilog=_EPILOG, short_help="Join the shards of an evaluation.")
@click.argument(
    "folders",
    metavar="DIR...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@click.option(
    "--out",
    "target",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="New directory for the whole evaluation.",
)
@json_option
@reporting
def merge_command(folders: tuple[Path, ...], target: Path, as_machine: bool) -> int:
    """Join directories of one plan, such as the shards of several machines, with their recordings.

    The result is what one machine would have written. A run that is in several directories must be the same
    in all, but a void run gives way to one that ended. Different plans, configurations, scenario versions,
    endpoints, runs or recordings are refused.
    """
    merged = merge_results(folders, target)
    if as_machine:
        say(
            {
                "out": str(target),
                "runs": merged.runs,
                "in_several": merged.in_several,
                "void_replaced": merged.void_replaced,
                "missing_shards": [*merged.missing_shards],
                "versions": dict(merged.versions),
                "unchanged": merged.unchanged,
            }
        )
    else:
        _tell(merged, len(folders), target)
    return 0


def _tell(merged: Merged, folders: int, target: Path) -> None:
    done = "is what it already has" if merged.unchanged else "joined"
    where = "1 directory" if folders == 1 else f"{folders} directories"
    out.print(f"{counted(merged.runs, 'run')} of {where}: {done}")
    if merged.in_several:
        out.print(f"the same in several: {counted(merged.in_several, 'run')}")
    if merged.void_replaced:
        out.print(f"void here, but ended there: {counted(merged.void_replaced, 'run')}")
    for name, versions in merged.versions.items():
        err.print(printable(f"The machines had different versions of {name}: {versions}"), style="yellow")
    if merged.missing_shards:
        err.print(f"Shards that are not here: {', '.join(merged.missing_shards)}", style="yellow")
    labelled(out, "results", str(target))
    labelled(out, "next", f"toolreel eval summarize {quote(str(target))}")
