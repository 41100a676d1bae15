"""``toolreel export``: a recorded run in the format of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, TypeAlias

import click

from toolreel._cli.options.recording import rules_of, secrets_option
from toolreel._cli.output.console import labelled, out
from toolreel._cli.output.errors import EPILOG, json_option, reporting, say
from toolreel._internal.errors import CassetteError
from toolreel._journal.format import opened, recording_files
from toolreel._replay.exports.formats import SUFFIXES, exported
from toolreel._replay.retrace import retrace

Target: TypeAlias = Literal["openai", "markdown", "inspect", "vcrpy"]
_TARGETS: Final[tuple[Target, ...]] = ("openai", "markdown", "inspect", "vcrpy")


@click.command("export", epilog=EPILOG, short_help="Write a recorded run in the format of another tool.")
@click.argument("file", metavar="NAME")
@click.option(
    "--format",
    "form",
    type=click.Choice(_TARGETS),
    required=True,
    help="openai: the messages as JSON. markdown: a transcript. inspect: a log of Inspect with one sample. "
    "vcrpy: a cassette that stock vcrpy replays; `toolreel cassettes export` has more options.",
)
@click.option(
    "-o",
    "--out",
    "target",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where it goes.  [default: NAME with the suffix of the format, in this folder]",
)
@click.option("--overwrite", is_flag=True, help="Replace a file of that name.")
@secrets_option
@json_option
@reporting
def export_command(
    file: str, form: Target, target: Path | None, overwrite: bool, secret_rules: Path | None, as_machine: bool
) -> int:
    """Write a recorded run in the format of another tool: NAME is a recording, or a journal.

    \b
    toolreel export hello --format markdown
    toolreel export hello --format openai -o messages.json
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    stem = Path(file).name.removesuffix(".journal.jsonl").removesuffix(".yaml")
    if form == "vcrpy":
        from toolreel.cassette.vcr._convert import export_cassette

        cassette, journal = recording_files(Path(file))
        if cassette is None:
            raise CassetteError(f"{journal}: vcrpy takes a cassette, and there is none next to this journal")
        path = target or Path(f"{stem}.vcr.yaml")
        export_cassette(cassette, path, overwrite=overwrite, rules=rules_of(secret_rules))
    else:
        path = target or Path(f"{stem}{SUFFIXES[form]}")
        text = exported(retrace(opened(file)), form, stem)
        _write(path, text, overwrite=overwrite)
    if as_machine:
        return say({"file": str(path), "format": form})
    labelled(out, "exported", f"{file} → {path}")
    return 0


def _write(path: Path, text: str, *, overwrite: bool) -> None:
    try:
        with path.open(
            "w" if overwrite else "x", encoding="utf-8", errors="backslashreplace", newline="\n"
        ) as f:
            f.write(text)
    except FileExistsError:
        raise CassetteError(f"{path} exists already: name another, or overwrite it (--overwrite)") from None
    except OSError as error:
        raise CassetteError(f"{path}: it cannot be written there: {error.strerror}") from None
