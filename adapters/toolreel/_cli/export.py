"""``toolreel export``: a recorded run in the format of another tool."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from toolreel._cli.console import labelled, out
from toolreel._cli.errors import EPILOG, reporting
from toolreel._cli.options import Command
from toolreel._internal import AdapterError
from toolreel._journal import opened
from toolreel._replay import SUFFIXES, Format, exported, retrace


def export_options(default: str) -> Callable[[Command], Command]:
    """``--out`` and ``--overwrite``."""
    place = click.option(
        "-o",
        "--out",
        "target",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help=f"Where it goes.  [default: {default}, in this folder]",
    )
    replaces = click.option("--overwrite", is_flag=True, help="Replace a file of that name.")
    return lambda command: place(replaces(command))


@click.command("export", epilog=EPILOG)
@click.argument("file", metavar="NAME")
@click.option(
    "--format",
    "form",
    type=click.Choice([*SUFFIXES]),
    required=True,
    help="openai: the messages as JSON. markdown: a transcript. inspect: a log of Inspect with one sample.",
)
@export_options("the run's name with the suffix of the format")
@reporting
def export_command(file: str, form: Format, target: Path | None, overwrite: bool) -> int:
    """Write a recorded run in the format of another tool: NAME is a recording, or a journal.

    `toolreel cassettes export` writes a cassette for stock vcrpy.

    \b
    toolreel export hello --format markdown
    toolreel export hello --format openai -o messages.json
    """
    name = Path(file).name.removesuffix(".journal.jsonl").removesuffix(".yaml")
    text = exported(retrace(opened(file)), form, name)
    return write_export(text, name, target or Path(f"{name}{SUFFIXES[form]}"), overwrite=overwrite)


def write_export(text: str, name: str, path: Path, *, overwrite: bool) -> int:
    """Write what was exported, and say where it is.

    :raises AdapterError: if the file exists or cannot be written
    """
    try:
        with path.open(
            "w" if overwrite else "x", encoding="utf-8", errors="backslashreplace", newline="\n"
        ) as file:
            file.write(text)
    except FileExistsError:
        raise AdapterError(f"{path} exists already: name another, or overwrite it (--overwrite)") from None
    except OSError as error:
        raise AdapterError(f"{path}: it cannot be written there: {error.strerror}") from None
    labelled(out, "exported", f"{name} → {path}")
    return 0
