"""``toolreel eval replay`` and ``promote``: replay recorded runs, judge them again, make tests of them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from toolreel._cli.console import err, out, printable
from toolreel._cli.errors import DRIFT, json_option, reporting, say
from toolreel._internal import ResultsError, counted
from toolreel.evals import (
    Replayed,
    Results,
    find_run,
    plan_of_header,
    promote,
    rejudged_under,
    replays,
    run_line,
    verdict_line,
    whatif_lines,
    whatif_tree,
    write_replayed,
)

_REPLAY_EPILOG: Final = (
    "Exit codes: 0 as recorded, or written, 2 usage, 3 a run would go another way or be judged in another "
    "way now."
)
_PROMOTE_EPILOG: Final = (
    "Exit codes: 0 written, 2 usage, 3 the run would go another way now, so it makes no test."
)

folder_argument = click.argument(
    "folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path)
)


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
@click.option(
    "--out",
    "target",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR2",
    help="New directory for the evaluation with the present verdicts.",
)
@json_option
@reporting
def replay_command(
    folder: Path, keys: tuple[str, ...], check: bool, strategy: str, target: Path | None, as_machine: bool
) -> int:
    """Replay the runs in DIR from their cassettes, without a network, and judge them with the present checks.

    KEY is the beginning of a run's key, as summaries and reports show it; without one, all runs are replayed.
    With --strategy, a recorded reply is used as long as the request has the same content; where it differs,
    the run diverges, since only the model could continue it. What is gained or lost is due to the strategy
    alone, not to chance.

    \b
    toolreel eval replay results --check
    toolreel eval replay results --strategy production
    """
    results = Results.open(folder)
    if strategy:
        if target or check:
            raise ResultsError("--strategy: nothing is stored of it, so leave out --out and --check")
        return _under(results, strategy, keys, as_machine=as_machine)
    if target and keys:
        raise ResultsError("--out: a whole evaluation is written, so leave out the keys of single runs")
    found = [*replays(results, plan_of_header(results.header), keys)]
    if not found:
        raise ResultsError(f"{folder}: no run has a key that begins with {' or '.join(keys)}")
    drifted = [again for again in found if again.drift]
    written = target is not None and all(again.now for again in found)
    if target and written:
        write_replayed(results, found, target)
    if as_machine:
        wrote = {"written": str(target) if written else ""} if target else {}
        say({"replayed": len(found), "drifted": [again.record.key for again in drifted], **wrote})
    else:
        for again in drifted if check or target else found:
            _show_replayed(again)
        rest = f"{len(drifted)} of them not as recorded" if drifted else "all of them as recorded"
        out.print(f"{counted(len(found), 'run')} replayed, {rest}")
        if target and not written:
            err.print("Nothing written: a run that cannot be replayed cannot be judged again.")
    return DRIFT if drifted and not written else 0


def _under(results: Results, strategy: str, keys: tuple[str, ...], *, as_machine: bool) -> int:
    """Recorded replies under another strategy."""
    plan = plan_of_header(results.header)
    name, tallies = rejudged_under(results, plan, strategy, keys)
    if as_machine:
        return say(whatif_tree(name, tallies))
    for line in whatif_lines(name, tallies):
        out.print(printable(line))
    return 0


def _show_replayed(again: Replayed) -> None:
    record = again.record
    verdict = verdict_line((again.now or record).verdict, "")
    out.print(printable(f"{run_line(record)} {record.cell.strategy}  {verdict}"))
    if again.drift:
        err.print(printable(f"  {again.drift}"), style="yellow")


@click.command("promote", epilog=_PROMOTE_EPILOG)
@folder_argument
@click.argument("key", metavar="KEY")
@click.option(
    "--to",
    "target",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="TESTS",
    help="Directory of the test; created if it does not exist.",
)
@click.option("--name", default="", metavar="NAME", help="Name of the test; derived from the run by default.")
@json_option
@reporting
def promote_command(folder: Path, key: str, target: Path, name: str, as_machine: bool) -> int:
    """Write a pytest test that replays the run KEY of DIR, without a network, and asserts its verdict.

    KEY is the beginning of the run's key. Three files are written: the test, the run's record, its cassette.
    The test asserts the present verdict, even a failure, and explains how to invert it.

    \b
    toolreel eval promote results 7c5dd875e43a --to tests/regressions
    """
    results = Results.open(folder)
    test, verdict = promote(results, plan_of_header(results.header), find_run(results, key), target, name)
    if as_machine:
        return say({"test": str(test), "result": verdict.result, "category": verdict.category})
    out.print(printable(f"{test} asserts: {verdict.result} {verdict.category}".rstrip()))
    out.print(printable(f"pytest {test}"))
    return 0
