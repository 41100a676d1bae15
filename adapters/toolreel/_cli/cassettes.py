"""``toolreel cassettes check`` and ``journal``: look after recordings."""

from __future__ import annotations

import os
import re
import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from toolreel._cli.console import labelled, out, show_columns
from toolreel._cli.errors import EPILOG, FAILED, json_option, reporting, say
from toolreel._cli.options import PresetChoice, parse_settings, preset_options, settings_option, tools_option
from toolreel._cli.run_options import cassette_path, rules_of, secrets_option
from toolreel._cli.whole_run import as_json, show_run
from toolreel._internal import JournalError, SecretFound, counted
from toolreel._journal import read_journal, sealed
from toolreel._replay import COMPARISONS, Comparison
from toolreel._secrets import known_secrets, leaks
from toolreel.testing import ReelFiles
from toolreel.tools import load_tools
from toolreel_core._errors import CodecError, ReplayMismatch
from toolreel_core._jsontext import Json, read
from toolreel_core._plan import Plan
from toolreel_core._protocol import decode_plan

if TYPE_CHECKING:
    from toolreel._replay import RecoveredRun

_AGE: Final = re.compile(r"([1-9][0-9]{0,4})([dw])")
"""An age in days or weeks."""


class _Age(click.ParamType[timedelta]):
    """``180d`` or ``26w``."""

    name = "age"

    def convert(
        self, value: str | timedelta, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        if isinstance(value, timedelta):
            return value
        found = _AGE.fullmatch(value)
        if found is None:
            self.fail(f"{value!r}: expected days or weeks, such as 180d or 26w", param, ctx)
        return int(found[1]) * timedelta(weeks=found[2] == "w", days=found[2] == "d")


@click.command("check", epilog=EPILOG)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@click.option(
    "--tests",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    metavar="DIR",
    help="Where the tests are; a recording that none of them names is an orphan. May be repeated.",
)
@click.option(
    "--max-age", type=_Age(), metavar="AGE", help="How old a recording may be, such as 180d or 26w."
)
@click.option("--strict", is_flag=True, help="Fail on notes, too.")
@secrets_option
@json_option
@reporting
def check_command(
    paths: tuple[Path, ...],
    tests: tuple[Path, ...],
    max_age: timedelta | None,
    strict: bool,
    secret_rules: Path | None,
    as_machine: bool,
) -> int:
    """Look over all recordings below PATH, by default the current folder, without network.

    \b
    leak        a key, a token, a password, or a value of this environment
    unreadable  not a cassette or journal, or damaged
    version     written by another toolreel, or by stock vcrpy
    drift       what a run of the journal's plan asks for is not in the cassette
    rule        what the cassette says may vary fits none of its requests
    orphan      no test names it (--tests; under reels/, the tests next to it)
    old         its oldest reply is older than --max-age
    Notes, which fail with --strict alone:
    alone       a cassette without journal, or a journal without cassette
    unplayed    exchanges that no journal asks for
    remains     unfinished files of runs that were killed

    Exits with 1 if anything was found.

    \b
    toolreel cassettes check cassettes --tests tests
    """
    from toolreel._secrets import known_secrets
    from toolreel.testing import Checked, check

    rules = rules_of(secret_rules)
    checked: Checked = check(
        *(paths or (Path(),)),
        now=datetime.now(UTC),
        tests=tests,
        max_age=max_age,
        known=known_secrets(os.environ, rules),
        rules=rules,
    )
    failing = checked.findings if strict else checked.problems
    if as_machine:
        findings: list[Json] = [
            asdict(finding) | {"path": str(finding.path), "problem": finding in failing}
            for finding in checked.findings
        ]
        recordings: list[Json] = [
            {
                "cassette": str(recording.cassette) if recording.cassette else None,
                "journals": [str(path) for path in recording.journals],
                "interactions": recording.interactions,
                "recorded": recording.recorded.isoformat() if recording.recorded else None,
            }
            for recording in checked.recordings
        ]
        say({"ok": not failing, "findings": findings, "recordings": recordings})
        return FAILED if failing else 0
    rows = [(str(finding.path), finding.kind, finding.text) for finding in checked.findings]
    if rows:
        show_columns(out, ("file", "found", "what"), rows)
    notes = len(checked.findings) - len(failing)
    problems = counted(len(failing), "problem") if failing else "no problems"
    summary = f"{counted(len(checked.recordings), 'recording')}, {problems}"
    summary += f", {counted(notes, 'note')}" if notes else ""
    out.print(summary, style="bold red" if failing else "green")
    return FAILED if failing else 0


@click.command("journal", epilog=EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--plan",
    "plan_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The plan of the run: a journal, or a plan as JSON. By default, the plan of the journals next to "
    "the cassette; without journals, a plan inferred from the requests.",
)
@tools_option("Run these tools for real; without it, their results are taken from the requests.")
@click.option(
    "--compare",
    type=click.Choice(COMPARISONS),
    help="How a recorded request must match toolreel's own: byte-identical (the default with a plan), "
    "equal in content, or not at all.",
)
@preset_options
@settings_option("A setting of the loop or the provider, for a plan that is inferred; may be repeated.")
@click.option("--out", "name", metavar="NAME", help="Write NAME.journal.jsonl, and NAME+2 and so on.")
@click.option("--overwrite", is_flag=True, help="Replace files of that name.")
@json_option
@reporting
def journal_command(  # noqa: PLR0913, PLR0917 - click hands over every option by name
    file: Path,
    plan_file: Path | None,
    tool_names: tuple[str, ...],
    compare: Comparison | None,
    presets: PresetChoice,
    settings: tuple[str, ...],
    name: str | None,
    overwrite: bool,
    as_machine: bool,
) -> int:
    """Make the journal of each run in a cassette by running the reducer over its tape; no network.

    FILE is a cassette of any client that speaks chat completions, Responses or Messages (NAME.yaml). With a
    journal next to it, or --plan, the journal that comes out is the one that the live run wrote.

    \b
    toolreel cassettes journal cassettes/openai-sdk/local--qwen2.5-coder-1.5b.yaml --out answers
    toolreel replay answers.journal.jsonl
    """
    from toolreel._replay import recover_runs
    from toolreel.cassette import Recording
    from toolreel.tools import PythonTools

    chosen = parse_settings(settings)
    target = cassette_path(name)
    tape = Recording.load(file)
    beside = [read_journal(path) for path in ReelFiles(file).journals] if plan_file is None else []
    plans = [_plan(plan_file)] if plan_file else [recorded.plan for recorded in beside]
    with redirect_stdout(sys.stderr):
        tools = load_tools(tool_names)
        runs = recover_runs(
            tape,
            plans=plans,
            tools=PythonTools(tools) if tools else None,
            compare=compare,
            preset=presets.preset(),
            settings={**chosen.config, **chosen.provider},
        )
    for was, now in zip(beside, runs, strict=False):
        if was.text != now.recorded.text and compare in {None, "exact"}:
            raise ReplayMismatch(f"{was.source}: is not the journal that comes out of {file}")
    saved = _saved(runs, ReelFiles(target), overwrite=overwrite) if target else ()
    _show_journals(runs, saved, identical=bool(beside), as_machine=as_machine)
    return 0


def _plan(path: Path) -> Plan:
    """The plan in a file."""
    if path.name.endswith(".jsonl"):
        return read_journal(path).plan
    try:
        tree = read(path.read_bytes().decode()).value_or(None)
        return decode_plan(tree)
    except (OSError, UnicodeDecodeError, CodecError) as error:
        raise JournalError(f"{path}: not a plan: {error}") from None


def _saved(runs: tuple[RecoveredRun, ...], files: ReelFiles, *, overwrite: bool) -> tuple[Path, ...]:
    """Write the journals; returns their paths."""
    paths = tuple(files.journal(number) for number in range(1, len(runs) + 1))
    secrets = known_secrets(os.environ)
    for path, one in zip(paths, runs, strict=True):
        if path.exists() and not overwrite:
            raise JournalError(f"{path} exists already: name another, or overwrite it (--overwrite)")
        if found := leaks(one.recorded.text, secrets):
            raise SecretFound(f"{path}: not written, it would hold {found[0].kind}")
    for path, one in zip(paths, runs, strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(sealed(one.recorded.text))
    return paths


def _show_journals(
    runs: tuple[RecoveredRun, ...], saved: tuple[Path, ...], *, identical: bool, as_machine: bool
) -> None:
    if as_machine:
        trees: list[Json] = [
            as_json(one.run, {"interactions": [one.first, one.last], "journal": one.recorded.digest})
            for one in runs
        ]
        say({"runs": trees, "identical": identical, "saved": [str(path) for path in saved]})
        return
    for one in runs:
        labelled(out, "interaction", f"{one.first} to {one.last}" if one.last > one.first else f"{one.first}")
        show_run(one.run)
        same = ", as the live run wrote it" if identical else ""
        labelled(out, "journal", f"{one.recorded.digest[:16]}{same}")
    for path in saved:
        labelled(out, "saved", str(path))
