"""``toolreel eval``: how reliably models call tools, measured."""

from __future__ import annotations

from typing import Final

import click

from toolreel._cli.lazy import LazyCommand, LazyGroup

_COMMANDS: Final = (
    LazyCommand(
        "bisect",
        "evals.bisect:bisect_command",
        "Find the settings that turn lost runs into won ones.",
    ),
    LazyCommand(
        "compare", "evals.compare:compare_command", "Compare two evaluations, or two strategies of one."
    ),
    LazyCommand("flakes", "evals.analysis.flakes:flakes_command", "Find cells whose trials pass and fail."),
    LazyCommand("drift", "evals.drift:drift_command", "Repeat an evaluation: is the endpoint what it was?"),
    LazyCommand("export", "evals.export:export_command", "Write an evaluation in another program's format."),
    LazyCommand("merge", "evals.transfer.merge:merge_command", "Join the shards of an evaluation."),
    LazyCommand(
        "plan", "evals.plan:plan_command", "Show what an evaluation would run, and what it would cost."
    ),
    LazyCommand(
        "promote", "evals.recorded.promote:promote_command", "Make a regression test of a recorded run."
    ),
    LazyCommand(
        "recommend", "evals.analysis.recommend:recommend_command", "Say which models to use for tools."
    ),
    LazyCommand(
        "replay", "evals.recorded.replay:replay_command", "Replay recorded runs, and judge them again."
    ),
    LazyCommand(
        "report", "evals.report:report_command", "Show the results as one HTML page, and as pictures."
    ),
    LazyCommand(
        "rescore", "evals.recorded.rescore:rescore_command", "Judge recorded runs again, without a network."
    ),
    LazyCommand("run", "evals.run:run_command", "Make the runs of a plan, or those that are missing."),
    LazyCommand(
        "scenario",
        "evals.scenario:scenario_command",
        "Write scenarios of your own, prove them, make them of recordings.",
    ),
    LazyCommand(
        "summarize", "evals.summarize:summarize_command", "Sum an evaluation up, and judge the plan's gates."
    ),
    LazyCommand("view", "evals.recorded.view:view_command", "Show one run as a page, turn by turn."),
    LazyCommand(
        "what-if", "evals.recorded.whatif:whatif_command", "Put recorded replies through another strategy."
    ),
)

_EPILOG: Final = "Exit codes: 0 success, 1 a gate failed, 2 usage, 3 incomplete, or a recording disagrees."


@click.group(
    "eval",
    cls=LazyGroup,
    commands=_COMMANDS,
    epilog=_EPILOG,
    short_help="Measure how reliably models call tools.",
)
def eval_command() -> None:
    """Measure how reliably models call tools: plan, run, sum up, compare.

    Without a network or a key: toolreel eval run --model scripted:good --out results
    """
