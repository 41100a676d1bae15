"""``toolreel submit``: queue a durable run."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout

import click

from toolreel._cli.durable.options import database_option, opened_runs, queue_option
from toolreel._cli.options.fallbacks import FallbackChoice, fallback_option
from toolreel._cli.options.plan_choice import PlanChoice, plan_options
from toolreel._cli.options.sources import SourceChoice, source_options
from toolreel._cli.output.console import labelled, out
from toolreel._cli.output.errors import EPILOG, json_option, reporting, say
from toolreel._cli.runs.run import prompt_text


@click.command("submit", epilog=EPILOG, short_help="Queue a durable run for a worker.")
@click.argument("prompt")
@click.option("--model", required=True, help="Model name, as the worker's server lists it.")
@source_options
@plan_options
@fallback_option("fallbacks")
@database_option
@queue_option
@click.option(
    "--run-id",
    metavar="ID",
    help="Id of the run, such as that of your job: submitting it twice is submitting it once. By default, a "
    "random one.",
)
@json_option
@reporting
def submit_command(  # noqa: PLR0913, PLR0917 - click hands over every option by name
    prompt: str,
    model: str,
    sources: SourceChoice,
    wanted: PlanChoice,
    fallbacks: tuple[FallbackChoice, ...],
    database: str | None,
    queue: str,
    run_id: str | None,
    as_machine: bool,
) -> int:
    """Queue a durable run, and print its id.

    PROMPT is the user message; - reads it from stdin. Name the same tools and fallbacks as the worker: the
    model is shown the tools as they are here, and a worker without them refuses the run.

    \b
    toolreel submit "Order a pin." --model your-model \\
        --tools my_tools:TOOLS --run-id order-7
    toolreel runs show order-7
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    with redirect_stdout(sys.stderr), sources.open() as available:
        plan = wanted.plan(model, prompt_text(prompt), available, fallbacks)
    with opened_runs(database) as runs:
        named = runs.submit(plan, run_id, queue=queue)
    if as_machine:
        return say({"run_id": named, "plan": plan.digest, "queue": queue})
    labelled(out, "submitted", named, "bold")
    labelled(out, "", f"next: toolreel runs show {named} (toolreel serve performs it)", "dim")
    return 0
