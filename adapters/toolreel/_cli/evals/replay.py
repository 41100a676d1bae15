"""``toolreel eval replay``, ``bisect`` and ``promote``: recorded runs, judged again or made tests."""

from __future__ import annotations

from pathlib import Path

import click

from toolreel._cli.console import err, out, printable
from toolreel._cli.errors import DRIFT, json_option, print_json, with_error_reporting
from toolreel._cli.evals.summarize import folder_argument, show_tables
from toolreel._cli.options import path_option
from toolreel._internal import ResultsError, count_with_noun
from toolreel.evals import (
    Results,
    one_short_line,
    plan_of_header,
    promote,
    rejudge_runs,
    rejudged_tables,
    rejudged_tree,
    rejudging_report_lines,
    replay_runs,
    write_rejudged_evaluation,
)

_REPLAY_EPILOG = (
    "Exit codes: 0 as recorded, or written, 2 usage, 3 a run would go another way or be judged in another "
    "way now."
)
_PROMOTE_EPILOG = "Exit codes: 0 written, 2 usage, 3 the run would go another way now, so it makes no test."


@click.command("replay", epilog=_REPLAY_EPILOG)
@folder_argument
@click.argument("keys", nargs=-1, metavar="[KEY]...")
@click.option("--check", is_flag=True, help="List only runs that differ from the recording.")
@click.option(
    "--strategy",
    default="",
    metavar="STRATEGY",
    help="Put the recorded replies of the other strategies through this one.",
)
@path_option(
    "--out", "target", "DIR2", "New directory for the evaluation with the present verdicts.", folder=True
)
@json_option
@with_error_reporting
def replay_command(
    folder: Path, keys: tuple[str, ...], check: bool, strategy: str, target: Path | None, as_machine: bool
) -> int:
    """Replay the runs in DIR from their cassettes, without a network, and judge them with the present checks.

    KEY is the beginning of a run's key, as summaries and reports show it; without one, all runs are replayed.
    With --strategy, a recorded reply is used as long as the request has the same content; where it differs,
    the run is undecided, since only the model could continue it. What is gained or lost is due to the
    strategy alone, not to chance.

    \b
    toolreel eval replay results --check
    toolreel eval replay results --strategy production
    """
    results = Results.open(folder)
    if strategy:
        if target or check:
            raise ResultsError("--strategy: nothing is stored of it, so leave out --out and --check")
        return _show_rejudged(results, keys, strategy, as_machine=as_machine)
    if target and keys:
        raise ResultsError("--out: a whole evaluation is written, so leave out the keys of single runs")
    found = [*replay_runs(results, plan_of_header(results.header), keys)]
    if not found:
        what = f"a key that begins with {' or '.join(keys)}" if keys else "ended yet"
        raise ResultsError(f"{folder}: no run has {what}")
    drifted = [again for again in found if again.drift]
    if as_machine:
        print_json({"replayed": len(found), "drifted": [again.record.key for again in drifted]})
    else:
        for again in drifted if check or target else found:
            record, verdict = again.record, (again.now or again.record).verdict
            said = ": ".join(filter(None, (verdict.result, verdict.category, *verdict.reasons[:1])))
            run = f"{record.key[:12]}  {record.cell.model} {record.cell.scenario} trial {record.trial}"
            out.print(printable(f"{run} {record.cell.strategy}  {one_short_line(said)}"))
            if again.drift:
                err.print(printable(f"  {again.drift}"), style="yellow")
        rest = f"{len(drifted)} of them not as recorded" if drifted else "all of them as recorded"
        out.print(f"{count_with_noun(len(found), 'run')} replayed, {rest}")
    if target is None:
        return DRIFT if drifted else 0
    write_rejudged_evaluation(results, found, target)
    return 0


@click.command("bisect", epilog="Exit codes: 0 done, 2 usage.")
@folder_argument
@click.argument("keys", metavar="[KEY]...", nargs=-1)
@click.option(
    "--from", "first", default="raw", show_default=True, metavar="STRATEGY", help="It loses the runs."
)
@click.option(
    "--to", "second", default="production", show_default=True, metavar="STRATEGY", help="It wins them."
)
@json_option
@with_error_reporting
def bisect_command(folder: Path, keys: tuple[str, ...], first: str, second: str, as_machine: bool) -> int:
    """Find the settings that turn each lost run into a won one, offline; none of them can be left out.

    Each recorded run is put through both configurations with its own replies. Where the first loses it and
    the second wins it, parts of their difference are tried: settings, of which a list is one, and options of
    the request. A run is undecided if the recording does not answer what would be asked.

    KEY is the beginning of a run's key; without one, all runs of both strategies are looked at.

    \b
    toolreel eval bisect results
    """
    return _show_rejudged(Results.open(folder), keys, second, first, as_machine=as_machine)


def _show_rejudged(
    results: Results, keys: tuple[str, ...], strategy: str, first: str = "", *, as_machine: bool
) -> int:
    with err.status("Replaying the runs"):
        found = [*rejudge_runs(results, plan_of_header(results.header), strategy, first, keys)]
    tree = rejudged_tree(found, strategy, first)
    lines, tables = [*rejudging_report_lines(found, strategy, first)], rejudged_tables(found)
    show_tables("Recorded runs", lines, tables, tree, as_machine=as_machine)
    return 0


@click.command("promote", epilog=_PROMOTE_EPILOG)
@folder_argument
@click.argument("key", metavar="KEY")
@path_option(
    "--to",
    "target",
    "TESTS",
    "Directory of the test; created if it does not exist.",
    folder=True,
    required=True,
)
@with_error_reporting
def promote_command(folder: Path, key: str, target: Path) -> int:
    """Write a pytest test that replays the run KEY of DIR, without a network, and asserts its verdict.

    KEY is the beginning of the run's key. The test is written beside an evaluation of the run alone.
    The test asserts the present verdict, even a failure, and says how to turn it around.

    \b
    toolreel eval promote results 7c5dd875e43a --to tests/regressions
    """
    results = Results.open(folder)
    test, verdict = promote(results, plan_of_header(results.header), key, target)
    out.print(printable(f"{test} asserts: {verdict.result} {verdict.category}".rstrip()))
    out.print(printable(f"pytest {test}"))
    return 0
