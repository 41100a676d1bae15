"""``toolreel eval what-if``: replay the recorded replies of one strategy under others."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

import click

from toolreel._cli.evals.progress import EvaluationProgress, stoppable
from toolreel._cli.output.console import err, out, printable
from toolreel._cli.output.errors import DRIFT, json_option, reporting, say
from toolreel._errors import ResultsError
from toolreel.evals._replay.whatif import answers_first, followed, under, what_ifs
from toolreel.evals._runner.endpoint import header_of, line_of
from toolreel.evals._runner.evaluation import evaluate
from toolreel.evals._store.plan_of_header import plan_in
from toolreel.evals._store.results import Results
from toolreel_core.evals._plan.plan import EvalPlan
from toolreel_core.evals._records.counterfactuals import Tally, WhatIf

__all__ = ["whatif_command"]

_EPILOG = "Exit codes: 0 success, 2 usage, 3 with --live: runs are missing or void."


@click.command("what-if", epilog=_EPILOG, short_help="Replay recorded replies under other strategies.")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--from", "recorded", required=True, metavar="STRATEGY", help="Strategy of the recorded runs.")
@click.option(
    "--to",
    "strategies",
    required=True,
    metavar="STRATEGY,...",
    help="Strategies to replay them under, as in a plan.",
)
@click.option(
    "--live", is_flag=True, help="Send requests that the recordings cannot answer to the plan's endpoint."
)
@click.option(
    "--out",
    "target",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR2",
    help="With --live: directory for the runs under the other strategies.",
)
@click.option(
    "--base-url", default="", metavar="URL", help="With --live: use this endpoint instead of the plan's."
)
@click.option(
    "--markdown",
    "markdown",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also write the tables as Markdown.",
)
@click.option("-v", "--verbose", is_flag=True, help="Print a line per run.")
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
    """Replay the recorded replies of one strategy under the configurations of others.

    A recorded reply is used as long as the model would be sent the same content; where a strategy sends
    something else, the run diverges and stops. Runs that finish are judged. As the replies are the same,
    every recovery and loss is caused by the strategy, not by chance. No network is used without --live.

    \b
    toolreel eval what-if results --from raw --to production
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    # Imported here: it needs SciPy, which is slow to import and belongs to the extra `evals`.
    from toolreel.evals._replay.whatif_tables import lines_of, markdown_of, tree_of

    if live is not (target is not None) or (base_url and not live):
        raise ResultsError("--live needs --out DIR2; --out and --base-url need --live")
    words = tuple(word.strip() for word in strategies.split(",") if word.strip())
    results = Results.open(folder)
    plan = plan_in(results.header)
    runs = tuple(what_ifs(results, plan, recorded, words))
    complete = True
    if target:
        runs, complete = _followed(results, _at(under(plan, words), base_url), recorded, target, runs)
    tallies = {
        one.strategy: Tally(tuple(run for run in runs if run.strategy == one.strategy)) for one in runs
    }
    if markdown:
        markdown.write_text(markdown_of(recorded, tallies), encoding="utf-8")
    if as_machine:
        say(tree_of(recorded, tallies))
    else:
        for line in lines_of(recorded, tallies, every=verbose):
            out.print(printable(line))
    return 0 if complete else DRIFT


def _followed(
    results: Results, plan: EvalPlan, recorded: str, target: Path, runs: tuple[WhatIf, ...]
) -> tuple[tuple[WhatIf, ...], bool]:
    """The runs, continued live after the recordings, and whether all of them ended."""
    stop = Event()
    line = replace(line_of(plan), before_network=answers_first(results, recorded))
    with (
        closing(line),
        EvaluationProgress(plan.count, lines=False) as progress,
        stoppable(stop, progress),
    ):
        ending = evaluate(plan, target, line, header_of(plan, datetime.now(UTC)), progress, stop)
    if not ending.complete:
        err.print(f"Incomplete: {ending.left} runs were not made, {ending.void} are void.", style="yellow")
    return followed(runs, Results.open(target).records()), ending.complete


def _at(plan: EvalPlan, base_url: str) -> EvalPlan:
    """The plan with its base URL replaced, if one is given."""
    if not base_url:
        return plan
    endpoint = replace(plan.endpoint, base_url=base_url)
    options = replace(plan.options, endpoint=endpoint)
    return EvalPlan(options, plan.presets, plan.scenarios, plan.languages)
