"""``--record``, ``--mode``, ``--durable`` and ``--secrets``, and saving a fork of a recording."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

import click

from toolreel._journal.file import FileJournal
from toolreel._journal.format import companion
from toolreel._replay.fork import Forked
from toolreel._secrets.known_values import known_secrets
from toolreel._secrets.project_rules import SecretRules, read_rules, rules_in
from toolreel._secrets.scanned_texts import refuse_secrets_in_line

if TYPE_CHECKING:
    from toolreel._replay.recorded_files import Keeping
    from toolreel.cassette._session import Mode

secrets_option = click.option(
    "--secrets",
    "secret_rules",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="TOML file with rules for detecting secrets (allow, variables, patterns, emails); by default the "
    "file in TOOLREEL_SECRETS.",
)


def rules_of(path: Path | None) -> SecretRules:
    """The rules for a command: those in the file, else those of the environment.

    :raises SecretRulesError: if the file cannot be used
    """
    return rules_in() if path is None else read_rules(path)


durable_option = click.option(
    "--durable",
    is_flag=True,
    help="Survive power loss: fsync each event before the run continues.",
)

mode_option = click.option(
    "--mode",
    type=click.Choice(("replay", "record", "auto", "extend")),
    help="What to do if the recording exists. replay: use it, never the server. record: run live, and "
    "replace it if the run completes. auto: replay it, or record it if it is missing. extend: replay it, "
    "continue live after its end, and save it if the run completes. Without --mode it is an error.",
)


def keeping_of(mode: Mode | None, cassette: Path | None, *, overwrite: bool) -> Keeping | Path:
    """How a run treats an existing recording; a path means that it is replayed.

    :raises click.UsageError: if the options contradict each other
    """
    if mode is None:
        return "overwrite" if overwrite else "new"
    if cassette is None:
        raise click.UsageError(f"--mode {mode} needs a recording: --record NAME")
    if overwrite:
        raise click.UsageError(f"--overwrite and --mode {mode} contradict each other: give one of them")
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
    """The path of the cassette for ``--record NAME``."""
    if name is None:
        return None
    path = Path(name.removesuffix(".yaml") + ".yaml")
    if path.name == ".yaml":
        raise click.BadParameter(
            f"{name!r} names no file; expected a path such as cassettes/notes/local--qwen",
            param_hint="--record",
        )
    return path


def resumed_path(file: Path) -> Path:
    """The path of a run's cassette (which may not exist), from its name, its cassette or its journal.

    >>> resumed_path(Path("runs/chat.journal.jsonl.part")).name
    'chat.yaml'
    """
    name = file.name.removesuffix(".part").removesuffix(".journal.jsonl").removesuffix(".yaml")
    return file.with_name(f"{name}.yaml")


def save_fork(forked: Forked, cassette: Path, *, overwrite: bool) -> tuple[Path, ...]:
    """Write the journal of a fork, and return its path; delete a stale cassette of that name.

    :raises AdapterError: if it cannot be written; existing files are then unchanged
    """
    path, secrets = companion(cassette), known_secrets(os.environ)
    for number, line in enumerate(forked.recorded.text.split("\n")[:-1], 1):
        refuse_secrets_in_line(line, secrets, f"{path}, line {number}")
    with FileJournal(path, forked.begun.plan, known_secrets=secrets, overwrite=overwrite) as journal:
        for effect, event in forked.answered:
            journal.record(effect, event)
    cassette.unlink(missing_ok=True)
    return (path,)
