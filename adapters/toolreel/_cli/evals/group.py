"""``toolreel eval``: measure how reliably models call tools."""

from __future__ import annotations

from typing import Final

import click

from toolreel._cli.lazy import LazyCommand, LazyGroup

__all__ = ["eval_command"]

_COMMANDS: Final = (
    LazyCommand(
        "compare", "evals.compare:compare_command", "Compare two evaluations, or two strategies of one."
    ),
    LazyCommand(
        "plan", "evals.plan:plan_command", "Show what an evaluation would run, and what it would cost."
    ),
    LazyCommand("promote", "evals.promote:promote_command", "Turn a recorded run into a pytest test."),
    LazyCommand("replay", "evals.replay:eval_replay_command", "Replay recorded runs, and judge them again."),
    LazyCommand("report", "evals.report:report_command", "Write the results as an HTML page and SVG charts."),
    LazyCommand("rescore", "evals.rescore:rescore_command", "Judge recorded runs again, without a network."),
    LazyCommand("run", "evals.run:eval_run_command", "Run an evaluation, or the runs that are missing."),
    LazyCommand(
        "summarize", "evals.summarize:summarize_command", "Summarize an evaluation, and check its gates."
    ),
    LazyCommand("what-if", "evals.whatif:whatif_command", "Replay recorded replies under other strategies."),
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
    """Measure how reliably models call tools: plan, run, summarize, compare.

    Try it without a network or a key, with a scripted model:

    \b
    toolreel eval run --model scripted:good --out results
    toolreel eval summarize results
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
