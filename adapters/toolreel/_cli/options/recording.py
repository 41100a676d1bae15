"""What ``--record``, ``--mode`` and ``--durable`` mean, and keeping a fork that was not held live."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, assert_never

import click

from toolreel._errors import CassetteError
from toolreel._journal.file import FileJournal
from toolreel._replay.fork import Forked
from toolreel._replay.replay import companion
from toolreel._secrets.locations import refuse_secrets_in_line
from toolreel._secrets.scan import known_secrets

if TYPE_CHECKING:
    from toolreel._cli.live.files import Keeping

__all__ = [
    "RecordMode",
    "cassette_path",
    "check_free",
    "durable_option",
    "keeping_of",
    "mode_option",
    "resumed_path",
    "save_fork",
]

RecordMode: TypeAlias = Literal["replay", "record", "auto", "extend"]

_MODES: Final[tuple[RecordMode, ...]] = ("replay", "record", "auto", "extend")

durable_option = click.option(
    "--durable",
    is_flag=True,
    help="Have each event on the disk before the run goes on: it then outlives a power cut, too.",
)

mode_option = click.option(
    "--mode",
    type=click.Choice(_MODES),
    help="What --record does with a recording of that name. replay: nothing is live. record: made anew, and "
    "replaced if the run completes. auto: replay, or record where there is none. extend: replayed, gone on "
    "with live where it ends, and kept if the run completes. Without --mode, there must be none.",
)


def keeping_of(mode: RecordMode | None, cassette: Path | None, *, overwrite: bool) -> Keeping | Path:
    """What a run does with the recording of its name; a path is one that is only replayed.

    :raises click.UsageError: if the options do not go together
    """
    if mode is None:
        return "overwrite" if overwrite else "new"
    if cassette is None:
        raise click.UsageError(f"--mode {mode} says what is done with a recording: name it, --record NAME")
    if overwrite:
        raise click.UsageError(f"--overwrite and --mode {mode} both say what becomes of the files: give one")
    match mode:
        case "record":
            return "record"
        case "extend":
            return "extend"
        case "replay":
            return cassette
        case "auto":
            return cassette if cassette.exists() or companion(cassette).exists() else "record"
        case _:
            assert_never(mode)


def cassette_path(name: str | None) -> Path | None:
    """The cassette that ``--record`` means."""
    if name is None:
        return None
    path = Path(name.removesuffix(".yaml") + ".yaml")
    if path.name == ".yaml":
        raise click.BadParameter(
            f"{name!r} names no file, such as cassettes/notes/local--qwen", param_hint="--record"
        )
    return path


def resumed_path(file: Path) -> Path:
    """The cassette, whether there is one or not, of the run that FILE names by it, its journal or neither.

    >>> resumed_path(Path("runs/chat.journal.jsonl.part")).name
    'chat.yaml'
    """
    name = file.name.removesuffix(".part").removesuffix(".journal.jsonl").removesuffix(".yaml")
    return file.with_name(f"{name}.yaml")


def check_free(cassette: Path, *, overwrite: bool) -> None:
    """Whether a recording of that name may be written.

    :raises CassetteError: if there is one already, and it may not be replaced
    """
    for taken in (cassette, companion(cassette)):
        if taken.exists() and not overwrite:
            raise CassetteError(
                f"{taken} exists already: record under another name, or overwrite it (--overwrite)"
            )


def save_fork(forked: Forked, cassette: Path, *, overwrite: bool) -> tuple[Path, ...]:
    """Write the journal of a fork, and say where; a cassette of that name no longer belongs to it.

    :raises AdapterError: if it may not be written; then what stood there before stays as it was
    """
    path, secrets = companion(cassette), known_secrets(os.environ)
    for number, line in enumerate(forked.recorded.text.split("\n")[:-1], 1):
        refuse_secrets_in_line(line, secrets, f"{path}, line {number}")
    with FileJournal(path, forked.begun.plan, known_secrets=secrets, overwrite=overwrite) as journal:
        for effect, event in forked.answered:
            journal.record(effect, event)
    cassette.unlink(missing_ok=True)
    return (path,)
