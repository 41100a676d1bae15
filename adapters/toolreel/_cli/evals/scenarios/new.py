"""``toolreel eval scenario new``: a complete, commented scenario file."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import click

from toolreel._cli.console import labelled, out, printable
from toolreel._cli.errors import json_option, reporting, say
from toolreel.evals._authoring.template import write_template


@click.command("new", short_help="Write a commented scenario to start from.")
@click.argument("name", metavar="NAME")
@click.option(
    "--out",
    "path",
    default=None,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where to write it; NAME.toml by default.",
)
@json_option
@reporting
def new_command(name: str, path: Path | None, as_machine: bool) -> int:
    """Write NAME.toml: a scenario with everything that one can have, explained line by line.

    NAME may be the file itself, such as scenarios/refund.toml. It passes `toolreel eval scenario check` as it
    stands; change it piece by piece.
    """
    if name.endswith(".toml"):
        path, name = path or Path(name), Path(name).stem
    file = path or Path(f"{name}.toml")
    write_template(name, file)
    if as_machine:
        return say({"scenario": name, "file": str(file)})
    place = quote(str(file))
    out.print(printable(f"{file} is written."))
    labelled(
        out,
        "next",
        f"toolreel eval scenario check {place}\n"
        f"toolreel eval run --scenarios {place} --model scripted:good --out results",
    )
    return 0
