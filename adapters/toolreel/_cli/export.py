"""``toolreel export``: a recorded run in the format of another tool; and for ``toolreel durable export``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

import click

from toolreel._cli.console import labelled, out
from toolreel._cli.errors import EPILOG, json_option, reporting, say
from toolreel._cli.options import Command
from toolreel._internal import AdapterError
from toolreel._journal import Recorded, opened
from toolreel._replay import SUFFIXES, Format, exported, retrace

RunFormat: TypeAlias = Literal["journal"] | Format
RUN_FORMATS: Final[tuple[Format, ...]] = ("openai", "markdown", "inspect")


def export_options(
    formats: Sequence[str], text: str, default: str | None = None
) -> Callable[[Command], Command]:
    """``--format``, ``--out`` and ``--overwrite``.

    :param text: what each format is
    """
    options = (
        click.option(
            "--format",
            "form",
            type=click.Choice(formats),
            required=default is None,
            default=default,
            show_default=default is not None,
            help=text,
        ),
        click.option(
            "-o",
            "--out",
            "target",
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            help="Where it goes.  [default: the run's name with the suffix of the format, in this folder]",
        ),
        click.option("--overwrite", is_flag=True, help="Replace a file of that name."),
    )

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@click.command("export", epilog=EPILOG)
@click.argument("file", metavar="NAME")
@export_options(
    RUN_FORMATS,
    "openai: the messages as JSON. markdown: a transcript. inspect: a log of Inspect with one sample.",
)
@json_option
@reporting
def export_command(file: str, form: Format, target: Path | None, overwrite: bool, as_machine: bool) -> int:
    """Write a recorded run in the format of another tool: NAME is a recording, or a journal.

    \b
    toolreel export hello --format markdown
    toolreel export hello --format openai -o messages.json
    """
    stem = Path(file).name.removesuffix(".journal.jsonl").removesuffix(".yaml")
    return write_run(opened(file), form, stem, target, overwrite=overwrite, as_machine=as_machine)


def write_run(
    recorded: Recorded, form: RunFormat, name: str, target: Path | None, *, overwrite: bool, as_machine: bool
) -> int:
    """Write a run in a format, and say where it is.

    :raises AdapterError: if the file exists or cannot be written
    """
    if form == "journal":
        path, text = target or Path(f"{name}.journal.jsonl"), recorded.text
    else:
        path, text = target or Path(f"{name}{SUFFIXES[form]}"), exported(retrace(recorded), form, name)
    try:
        with path.open(
            "w" if overwrite else "x", encoding="utf-8", errors="backslashreplace", newline="\n"
        ) as file:
            file.write(text)
    except FileExistsError:
        raise AdapterError(f"{path} exists already: name another, or overwrite it (--overwrite)") from None
    except OSError as error:
        raise AdapterError(f"{path}: it cannot be written there: {error.strerror}") from None
    if as_machine:
        return say({"file": str(path), "format": form})
    labelled(out, "exported", f"{name} → {path}")
    return 0
