"""``toolreel cassettes export``: our cassettes, made into those of stock vcrpy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolreel._cli.options.secrets import rules_of, secrets_option
from toolreel._cli.output.console import labelled, out
from toolreel._cli.output.errors import EPILOG, json_option, reporting, say

if TYPE_CHECKING:
    from toolreel.cassette.vcr._export import Exported


@click.command("export", epilog=EPILOG, short_help="Make a cassette into one of stock vcrpy.")
@click.argument("source", metavar="FILE", type=click.Path(path_type=Path))
@click.argument("target", metavar="[OUT]", required=False, type=click.Path(path_type=Path))
@click.option("--skip-broken", is_flag=True, help="Leave out exchanges that broke off, instead of refusing.")
@click.option("--overwrite", is_flag=True, help="Replace a file of that name.")
@secrets_option
@json_option
@reporting
def export_command(
    source: Path,
    target: Path | None,
    skip_broken: bool,
    overwrite: bool,
    secret_rules: Path | None,
    as_machine: bool,
) -> int:
    """Make a cassette into one that stock vcrpy plays without toolreel, in YAML.

    OUT is a file or a folder; without it, FILE.yaml becomes FILE.vcr.yaml. Importing OUT gives the same
    recording again.

    Stock vcrpy cannot play an exchange that broke off: such a cassette is refused, unless --skip-broken
    leaves those exchanges out. It plays a stream in one piece.
    """
    from toolreel.cassette.vcr._export import export_cassette

    into = target or source.with_suffix(".vcr.yaml")
    done = export_cassette(
        source,
        into / f"{source.stem}.yaml" if into.is_dir() else into,
        overwrite=overwrite,
        skip_broken=skip_broken,
        rules=rules_of(secret_rules),
    )
    if as_machine:
        say(
            {
                "source": str(done.source),
                "target": str(done.target),
                "interactions": done.interactions,
                "left_out": [*done.left_out],
                "streams": [*done.streams],
            }
        )
    else:
        _show(done)
    return 0


def _show(done: Exported) -> None:
    number = f"{done.interactions} interaction{'' if done.interactions == 1 else 's'}"
    labelled(out, "exported", f"{done.source} → {done.target}: {number}")
    if done.left_out:
        labelled(out, "", f"left out, since it broke off: {', '.join(done.left_out)}", "yellow")
    if done.streams:
        streams = ", ".join(map(str, done.streams))
        labelled(out, "", f"played in one piece by vcrpy: the streams in interactions {streams}", "dim")
