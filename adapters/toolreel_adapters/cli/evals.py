"""``toolreel eval``: how reliably models call tools, measured."""

from __future__ import annotations

import click

from toolreel_adapters.cli.evals_plan import plan_command
from toolreel_adapters.cli.evals_replay import replay_command
from toolreel_adapters.cli.evals_run import run_command

__all__ = ["eval_command"]


@click.group("eval", short_help="Measure how reliably models call tools.")
def eval_command() -> None:
    r"""Measure how reliably models call tools: plan, run, sum up, compare.

    \b
    toolreel eval plan evaluation.toml               what would be run, and what it may cost
    toolreel eval run evaluation.toml --out results  run it; the same command goes on where it stopped
    toolreel eval summarize results                  rates with intervals, failures, gates

    Without a network: toolreel eval run --model scripted:good --out results
    """


eval_command.add_command(plan_command)
eval_command.add_command(run_command)
eval_command.add_command(replay_command)
