"""``toolreel eval replay``, ``rescore``, ``promote`` and ``what-if``: commands about recorded runs."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import click

from toolreel._cli.evals.run import EvaluationProgress
from toolreel._cli.output.console import err, out, printable
from toolreel._cli.output.errors import DRIFT, json_option, reporting, say
from toolreel._internal.errors import ResultsError
from toolreel.evals._replay.promote import find_run, promote
from toolreel.evals._replay.replay import (
    BEFORE,
    Replayed,
    replays,
    rescore_in_place,
    rescored,
    write_rescored,
)
from toolreel.evals._replay.whatif import plan_under, recorded_answers_first, what_ifs, with_live_verdicts
from toolreel.evals._runner.connection import connect
from toolreel.evals._runner.evaluation import evaluate
from toolreel.evals._store.plan_sources import plan_of_header
from toolreel.evals._store.results import Results
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._plan.filters import comma_separated
from toolreel_core.evals._records.request_content import WhatIf, WhatIfTally
from toolreel_core.evals._verdicts.verdict import Verdict

_REPLAY_EPILOG = (
    "Exit codes: 0 as recorded, 2 usage, 3 a run would go another way or be judged in another way now."
)


_folder = click.argument(
    "folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path)
)


@click.command("replay", epilog=_REPLAY_EPILOG, short_help="Replay recorded runs, and judge them again.")
@_folder
@click.argument("keys", nargs=-1, metavar="[KEY]...")
@click.option("--check", is_flag=True, help="List only runs that differ from the recording.")
@json_option
@reporting
def replay_command(folder: Path, keys: tuple[str, ...], check: bool, as_machine: bool) -> int:
    """Replay the runs in DIR from their cassettes, without a network, and judge them with the present checks.

    KEY is the beginning of a run's key, as summaries and reports show it; without one, all runs are replayed.
    """
    results = Results.open(folder)
    found = [*replays(results, plan_of_header(results.header), keys)]
    if not found:
        raise ResultsError(f"{folder}: no run has a key that begins with {' or '.join(keys)}")
    drifted = [again for again in found if again.drift]
    if as_machine:
        say({"replayed": len(found), "drifted": [again.record.key for again in drifted]})
    else:
        for again in drifted if check else found:
            _show_replayed(again)
        rest = f"{len(drifted)} of them not as recorded" if drifted else "all of them as recorded"
        out.print(f"{len(found)} runs replayed, {rest}")
    return DRIFT if drifted else 0


def _show_replayed(again: Replayed) -> None:
    verdict = (again.now or again.record).verdict
    why = f"  {verdict.category}: {'; '.join(verdict.reasons)}" if verdict.category else ""
    out.print(printable(f"{_name(again)}  {verdict.result}{why}"))
    if again.drift:
        err.print(printable(f"  {again.drift}"), style="yellow")


_RESCORE_EPILOG = "Exit codes: 0 rescored, 2 usage, 3 nothing written: a run cannot be judged again."


@click.command("rescore", epilog=_RESCORE_EPILOG, short_help="Judge recorded runs again, without a network.")
@_folder
@click.option(
    "--out",
    "target",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR2",
    help="New directory for the evaluation with its new verdicts.",
)
@click.option("--in-place", is_flag=True, help=f"Write them into DIR; the old journal becomes {BEFORE}.")
@json_option
@reporting
def rescore_command(folder: Path, target: Path | None, in_place: bool, as_machine: bool) -> int:
    """Replay every run of DIR from its cassette, and judge it with the present checks.

    Measurements stay as they are. Nothing is written if a run would take another course now, or was not
    recorded, because a new verdict would not be about what was measured.
    """
    if (target is None) != in_place:
        raise ResultsError("say where the verdicts go: --out DIR2 or --in-place")
    results = Results.open(folder)
    runs = [*rescored(results, plan_of_header(results.header))]
    drifted = [again for again in runs if again.drift]
    changed = [again for again in runs if again.now and again.now.verdict != again.record.verdict]
    if not drifted and target:
        write_rescored(results, runs, target)
    elif not drifted:
        rescore_in_place(results, runs)
    if as_machine:
        say(
            {
                "runs": len(runs),
                "changed": [_tree(again) for again in changed],
                "drifted": {again.record.key: again.drift for again in drifted},
                "written": "" if drifted else str(target or folder),
            }
        )
    else:
        _show_rescored(runs, changed, drifted)
    return DRIFT if drifted else 0


def _show_rescored(runs: list[Replayed], changed: list[Replayed], drifted: list[Replayed]) -> None:
    for again in drifted:
        err.print(printable(f"{_name(again)}: {again.drift}"), style="yellow")
    if drifted:
        err.print(f"Nothing written: {len(drifted)} of {len(runs)} runs cannot be judged again.")
        return
    for again in changed:
        before, after = _verdict(again.record.verdict), _verdict((again.now or again.record).verdict)
        out.print(printable(f"{_name(again)}: {before} -> {after}"))
    out.print(f"{len(runs)} runs judged again, {len(changed)} verdicts changed")


def _name(again: Replayed) -> str:
    record, cell = again.record, again.record.cell
    return f"{record.key[:12]}  {cell.model} {cell.strategy} {cell.scenario} trial {record.trial}"


def _verdict(verdict: Verdict) -> str:
    return " ".join(filter(None, (verdict.result, verdict.category)))


def _tree(again: Replayed) -> dict[str, str]:
    return {
        "key": again.record.key,
        "before": _verdict(again.record.verdict),
        "after": _verdict((again.now or again.record).verdict),
    }


_PROMOTE_EPILOG = "Exit codes: 0 written, 2 usage, 3 the run would go another way now, so it makes no test."


@click.command("promote", epilog=_PROMOTE_EPILOG, short_help="Make a regression test of a recorded run.")
@_folder
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
    """
    results = Results.open(folder)
    test, verdict = promote(results, plan_of_header(results.header), find_run(results, key), target, name)
    if as_machine:
        return say({"test": str(test), "result": verdict.result, "category": verdict.category})
    out.print(printable(f"{test} asserts: {_verdict(verdict)}"))
    out.print(printable(f"pytest {test}"))
    return 0


_WHATIF_EPILOG = "Exit codes: 0 told, 2 usage, 3 with --live: runs are missing or void."


@click.command("what-if", epilog=_WHATIF_EPILOG, short_help="Put recorded replies through another strategy.")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--from", "recorded", required=True, metavar="STRATEGY", help="The strategy whose recorded runs are used."
)
@click.option(
    "--to",
    "strategies",
    required=True,
    metavar="STRATEGY,...",
    help="The strategies to try; names, tags or patterns.",
)
@click.option(
    "--live", is_flag=True, help="Send requests that the recordings do not answer to the plan's endpoint."
)
@click.option(
    "--out",
    "target",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR2",
    help="With --live: directory for the runs under the other strategies.",
)
@click.option("--base-url", default="", metavar="URL", help="With --live: another endpoint than the plan's.")
@click.option(
    "--markdown",
    "markdown",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the tables as Markdown too.",
)
@click.option("-v", "--verbose", is_flag=True, help="A line for each run.")
@json_option
@reporting
def whatif_command(  # noqa: PLR0913, PLR0917 - options of a command
    folder: Path,
    recorded: str,
    strategies: str,
    live: bool,
    target: Path | None,
    base_url: str,
    markdown: Path | None,
    verbose: bool,
    as_machine: bool,
) -> int:
    """Run the recorded replies of one strategy through the configurations of others, offline.

    A recorded reply is used as long as the request has the same content. Where it differs, the run diverges:
    only the model could continue it. Runs that finish are judged, so recoveries and losses are due to the
    strategy alone, not to chance.
    """
    # SciPy takes its time, and is no part of a command line without the extra.
    from toolreel.evals._replay.whatif_tables import whatif_lines, whatif_markdown, whatif_tree

    if live is not (target is not None) or (base_url and not live):
        raise ResultsError("--live, and with it --base-url, needs --out DIR2, and --out needs --live")
    words = comma_separated(strategies)
    results = Results.open(folder)
    plan = plan_of_header(results.header)
    runs = tuple(what_ifs(results, plan, recorded, words))
    complete = True
    if target:
        runs, complete = _followed(results, _at(plan_under(plan, words), base_url), recorded, target, runs)
    tallies = {
        one.strategy: WhatIfTally(tuple(run for run in runs if run.strategy == one.strategy)) for one in runs
    }
    if markdown:
        markdown.write_text(whatif_markdown(recorded, tallies), encoding="utf-8")
    if as_machine:
        say(whatif_tree(recorded, tallies))
    else:
        for line in whatif_lines(recorded, tallies, every=verbose):
            out.print(printable(line))
    return 0 if complete else DRIFT


def _followed(
    results: Results, plan: EvalPlan, recorded: str, target: Path, runs: tuple[WhatIf, ...]
) -> tuple[tuple[WhatIf, ...], bool]:
    """The runs with verdicts from the network where recordings end, and whether all ended."""
    connection = replace(connect(plan), before_network=recorded_answers_first(results, recorded))
    progress = EvaluationProgress(plan.count, lines=False)
    with closing(connection), progress.watching() as stop:
        outcome = evaluate(plan, target, connection, None, progress, stop)
    if not outcome.complete:
        err.print(f"Incomplete: {outcome.left} runs were not made, {outcome.void} are void.", style="yellow")
    return with_live_verdicts(runs, Results.open(target).records()), outcome.complete


def _at(plan: EvalPlan, base_url: str) -> EvalPlan:
    """A plan with another endpoint, if one is named."""
    if not base_url:
        return plan
    return replace(plan, options=replace(plan.options, endpoint=replace(plan.endpoint, base_url=base_url)))
