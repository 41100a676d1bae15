"""``toolreel eval``: how reliably models call tools, measured."""

from __future__ import annotations

import click

from toolreel._cli.main import LazyGroup

_COMMANDS = """
Commands
    bisect     evals.replay     Find the settings that turn lost runs into won ones.
    compare    evals.summarize  Compare two evaluations, or two strategies of one.
    export     evals.summarize  Write the runs for another program.
    promote    evals.replay     Make a regression test of a recorded run.
    replay     evals.replay     Replay recorded runs, and judge them again.
    report     evals.summarize  Show the results as one HTML page.
    run        evals.run        Make the runs of a plan, or those that are missing.
    scenario   evals.scenario   Write scenarios of your own, prove them, make them of recordings.
    summarize  evals.summarize  Sum an evaluation up, and judge the plan's gates.
"""


@click.group(
    "eval",
    cls=LazyGroup,
    table=_COMMANDS,
    epilog="Exit codes: 0 success, 1 a gate failed, 2 usage, 3 incomplete, or a recording disagrees.",
)
def eval_command() -> None:
    """Measure how reliably models call tools: run, sum up, compare, replay.

    Without a network or a key: toolreel eval run --model scripted:good --out results
    """
