"""``toolreel cassettes``: check recordings, make their journals, convert them to stock vcrpy's and back."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolreel._cli.console import complain, out, print_labelled, show_columns
from toolreel._cli.errors import FAILED, command, current_project_settings, json_option, print_json
from toolreel._cli.options import (
    FILE_PATH,
    PresetChoice,
    SetOptions,
    Texts,
    overwrite_option,
    preset_options,
    settings_option,
    tools_option,
)
from toolreel._cli.run_options import cassette_path_from_name
from toolreel._cli.whole_run import run_as_json, show_run
from toolreel._internal import AdapterError, JournalError, count_with_noun
from toolreel._journal import journal_path, journal_paths_of_cassette, read_journal
from toolreel._secrets import known_secrets
from toolreel.testing import check
from toolreel.tools import load_tools
from toolreel_core._errors import ReplayMismatch

if TYPE_CHECKING:
    from toolreel._replay import RecoveredRun


@command("check")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=FILE_PATH)
@click.option(
    "--tests",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    metavar="DIR",
    help="Where the tests are; a recording that none of them names is an orphan. May be repeated.",
)
@click.option(
    "--max-age", type=click.IntRange(1), metavar="DAYS", help="How many days old a recording may be."
)
@json_option
def check_command(
    paths: tuple[Path, ...],
    tests: tuple[Path, ...],
    max_age: int | None,
    as_machine: bool,
) -> int:
    """Look over all recordings below PATH, by default `recordings` of pyproject.toml or this folder, offline.

    \b
    leak        a key, a token, a password, or a value of this environment
    unreadable  not a cassette or journal, or damaged
    version     written by another toolreel, or by stock vcrpy
    drift       what a run of the journal's plan asks for is not in the cassette
    rule        what may vary, as the cassette or pyproject.toml says, fits no request
    orphan      no test names it (--tests; under reels/, the tests next to it)
    old         its oldest reply is older than --max-age

    Exits with 1 if anything was found.

    \b
    toolreel cassettes check cassettes --tests tests
    """
    settings = current_project_settings()
    checked = check(
        *(paths or map(Path, settings.texts("recordings") or (".",))),
        now=datetime.now(UTC),
        tests=tests,
        max_age=timedelta(days=max_age) if max_age else None,
        known=known_secrets(os.environ),
        project=settings,
    )
    failing = checked.findings
    if as_machine:
        print_json({"ok": not failing, "findings": [*map(asdict, failing)], "recordings": checked.recordings})
        return FAILED if failing else 0
    if failing:
        rows = [(str(finding.path), finding.kind, finding.text) for finding in failing]
        show_columns(("file", "found", "what"), rows)
    problems = count_with_noun(len(failing), "problem") if failing else "no problems"
    summary = f"{count_with_noun(len(checked.recordings), 'recording')}, {problems}"
    out.print(summary, style="bold red" if failing else "green")
    return FAILED if failing else 0


@command("journal")
@click.argument("file", type=FILE_PATH)
@tools_option("Run these tools for real; without it, their results are taken from the requests.")
@preset_options
@settings_option("A setting of the loop or the provider, for a plan that is inferred; may be repeated.")
@click.option("--out", "name", metavar="NAME", help="Write NAME.journal.jsonl, and NAME+2 and so on.")
@overwrite_option("Replace files of that name.")
@json_option
def journal_command(
    file: Path,
    tool_names: Texts,
    presets: PresetChoice,
    settings: SetOptions,
    name: str | None,
    overwrite: bool,
    as_machine: bool,
) -> int:
    """Make the journal of each run in a cassette by running the reducer over its tape; no network.

    FILE is a cassette of any client that speaks chat completions, Responses or Messages (NAME.yaml). The plan
    is inferred from the requests. With a journal next to it, the plan is that journal's, and the journal that
    comes out is the one that the live run wrote.

    \b
    toolreel cassettes journal cassettes/openai-sdk/local--qwen2.5-coder-1.5b.yaml --out answers
    toolreel replay answers.journal.jsonl
    """
    from toolreel._replay import recover_runs
    from toolreel.cassette import Session
    from toolreel.tools import PythonTools

    target = cassette_path_from_name(name)
    tape = Session(file)
    beside = [read_journal(path) for path in journal_paths_of_cassette(file)]
    with redirect_stdout(sys.stderr):
        tools = load_tools(tool_names)
        runs = recover_runs(
            tape,
            plans=[recorded.plan for recorded in beside],
            tools=PythonTools(tools) if tools else None,
            preset=presets.preset(),
            settings={**settings.config, **settings.provider},
        )
    for was, now in zip(beside, runs, strict=False):
        if was.text != now.recorded.text:
            raise ReplayMismatch(f"{was.source}: is not the journal that comes out of {file}")
    saved = _save_journals(runs, target, overwrite=overwrite) if target else ()
    if as_machine:
        trees = [
            run_as_json(one.run, {"interactions": [one.first, one.last], "journal": one.recorded.digest})
            for one in runs
        ]
        return print_json({"runs": trees, "identical": bool(beside), "saved": saved})
    for one in runs:
        print_labelled(
            "interaction", f"{one.first} to {one.last}" if one.last > one.first else f"{one.first}"
        )
        show_run(one.run)
        same = ", as the live run wrote it" if beside else ""
        print_labelled("journal", f"{one.recorded.digest[:16]}{same}")
    for path in saved:
        print_labelled("saved", str(path))
    return 0


def _save_journals(runs: tuple[RecoveredRun, ...], cassette: Path, *, overwrite: bool) -> tuple[Path, ...]:
    from toolreel._replay import save_journals

    paths = tuple(journal_path(cassette, number) for number in range(1, len(runs) + 1))
    if not overwrite and (there := next((path for path in paths if path.exists()), None)):
        raise JournalError(f"{there} exists already: name another, or overwrite it (--overwrite)")
    save_journals([each.recorded for each in runs], paths)
    return paths


@command("export")
@click.argument("source", metavar="FILE", type=FILE_PATH)
@click.argument("target", metavar="OUT", type=FILE_PATH)
@overwrite_option()
def export_command(source: Path, target: Path, overwrite: bool) -> int:
    """Convert a cassette to YAML that stock vcrpy replays without toolreel: the file OUT.

    Importing OUT gives the same recording again. Stock vcrpy cannot play an exchange that broke off, so it is
    left out. It plays a stream in one piece.

    \b
    toolreel cassettes export cassettes/notes/local--qwen.yaml notes.yaml
    """
    from toolreel.cassette import export_cassette

    done = export_cassette(source, target, overwrite=overwrite)
    print_labelled("exported", f"{source} → {target}: {count_with_noun(done.interactions, 'interaction')}")
    if done.left_out:
        print_labelled("", f"left out, since it broke off: {', '.join(done.left_out)}", "yellow")
    return 0


@command("import")
@click.argument("source", metavar="IN", type=FILE_PATH)
@click.argument("target", metavar="OUT", type=FILE_PATH)
@overwrite_option("Replace files of that name.")
def import_command(source: Path, target: Path, overwrite: bool) -> int:
    """Convert cassettes of stock vcrpy (YAML): IN is a file or a folder, and OUT likewise.

    Requests and responses are kept byte-identical, except for headers that cassettes do not store and
    for keys in headers and URLs, which are removed. A secret in a body is refused, with its
    place.

    Exits with 1 if a file of a folder could not be imported; the others are.

    \b
    toolreel cassettes import tests/cassettes cassettes
    """
    from toolreel.cassette import import_cassette

    pairs = [(source, target)]
    if source.is_dir():
        files = sorted(path for path in source.rglob("*") if path.suffix in {".yaml", ".yml"})
        pairs = [(path, (target / path.relative_to(source)).with_suffix(".yaml")) for path in files]
    code = 0
    for old, new in pairs:
        try:
            done = import_cassette(old, new, overwrite=overwrite)
        except AdapterError as error:
            if not source.is_dir():
                raise
            complain(str(error))
            code = FAILED
            continue
        print_labelled("imported", f"{old} → {new}: {count_with_noun(done.interactions, 'interaction')}")
    print_labelled("", f"next: toolreel cassettes check {shlex.quote(str(target))}", "dim")
    return code
