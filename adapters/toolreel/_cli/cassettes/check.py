"""``toolreel cassettes check``: whether recordings are safe, readable, used and up to date."""

from __future__ import annotations

import os
import re
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import click

from toolreel._cli.options.recording import rules_of, secrets_option
from toolreel._cli.output.console import counted, out, show_columns
from toolreel._cli.output.errors import EPILOG, FAILED, json_option, reporting, say
from toolreel_core._jsontext.canonical import Json

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


@click.command("check", epilog=EPILOG, short_help="Look over recordings: leaks, orphans, age, drift.")
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
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    from toolreel._secrets.known_values import known_secrets
    from toolreel.testing._recordings.check import Checked, check

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
