"""``toolreel eval``: how reliably models call tools, measured."""

from __future__ import annotations

import click

from toolreel._cli.main import LazyCommand, LazyGroup

_COMMANDS = (
    LazyCommand("bisect", "evals.replay", "Find the settings that turn lost runs into won ones."),
    LazyCommand("compare", "evals.summarize", "Compare two evaluations, or two strategies of one."),
    LazyCommand("export", "evals.summarize", "Write the runs for another program."),
    LazyCommand("promote", "evals.replay", "Make a regression test of a recorded run."),
    LazyCommand("replay", "evals.replay", "Replay recorded runs, and judge them again."),
    LazyCommand("report", "evals.summarize", "Show the results as one HTML page."),
    LazyCommand("run", "evals.run", "Make the runs of a plan, or those that are missing."),
    LazyCommand(
        "scenario", "evals.scenario", "Write scenarios of your own, prove them, make them of recordings."
    ),
    LazyCommand("summarize", "evals.summarize", "Sum an evaluation up, and judge the plan's gates."),
)


@click.group(
    "eval",
    cls=LazyGroup,
    commands=_COMMANDS,
    epilog="Exit codes: 0 success, 1 a gate failed, 2 usage, 3 incomplete, or a recording disagrees.",
    short_help="Measure how reliably models call tools.",
)
def eval_command() -> None:
    """Measure how reliably models call tools: run, sum up, compare, replay.

    Without a network or a key: toolreel eval run --model scripted:good --out results
    """
