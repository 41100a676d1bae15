"""``toolreel eval what-if``: recorded replies of one strategy, run through the configurations of others."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import click

from toolreel._cli.console import err, out, printable
from toolreel._cli.errors import DRIFT, json_option, reporting, say
from toolreel._cli.evals.live.connection_notices import connect_with_notices
from toolreel._cli.evals.live.progress import EvaluationProgress
from toolreel._internal.errors import ResultsError
from toolreel.evals._replay.whatif import plan_under, recorded_answers_first, what_ifs, with_live_verdicts
from toolreel.evals._runner.evaluation import evaluate
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._store.results import Results
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._plan.filters import comma_separated
from toolreel_core.evals._records.what_if import WhatIf, WhatIfTally

_WHATIF_EPILOG = "Exit codes: 0 done, 2 usage, 3 with --live: runs are missing or void."


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
    connection = replace(connect_with_notices(plan), before_network=recorded_answers_first(results, recorded))
    progress = EvaluationProgress(plan, lines=False)
    with closing(connection), progress.watching() as stop:
        outcome = evaluate(plan, target, connection, None, progress, stop)
    if not outcome.complete:
        err.print(f"Incomplete (runs not made: {outcome.left}, void: {outcome.void}).", style="yellow")
    return with_live_verdicts(runs, Results.open(target).records()), outcome.complete


def _at(plan: EvalPlan, base_url: str) -> EvalPlan:
    """A plan with another endpoint, if one is named."""
    if base_url and plan.named_endpoints:
        raise ResultsError("--base-url: the plan has several endpoints, each with its URL; leave it out")
    if not base_url:
        return plan
    return replace(plan, options=replace(plan.options, endpoint=replace(plan.endpoint, base_url=base_url)))
