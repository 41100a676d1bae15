"""``toolreel submit``: queue a durable run."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout

import click

from toolreel._cli.durable.options import database_option, opened_runs, queue_option
from toolreel._cli.options.attachments import attach_option
from toolreel._cli.options.output_schema import output_schema_option
from toolreel._cli.options.presets import PresetChoice, preset_options
from toolreel._cli.options.settings import parse_settings, settings_option
from toolreel._cli.options.sources import SourceChoice, allow_option, deny_option, source_options
from toolreel._cli.output.console import labelled, out
from toolreel._cli.output.errors import EPILOG, json_option, reporting, say
from toolreel._cli.runs.run import prompt_text
from toolreel_core._conversation.chat_form import user_message
from toolreel_core._conversation.content.part import Media
from toolreel_core._conversation.message import SystemMessage
from toolreel_core._plan.output.spec import OutputSpec


@click.command("submit", epilog=EPILOG, short_help="Queue a durable run for a worker.")
@click.argument("prompt")
@click.option("--model", required=True, help="Model name, as the worker's server lists it.")
@click.option("--system", metavar="TEXT", help="System message.")
@attach_option
@source_options
@allow_option
@deny_option
@preset_options
@output_schema_option
@settings_option(
    "Set a loop setting (max_turns=5), a provider setting (id_style=openai), a request option "
    "(temperature=0) or any other key of the request body (body.cache_prompt=false). Repeatable.",
)
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
    system: str | None,
    attached: tuple[Media, ...],
    sources: SourceChoice,
    allow: tuple[str, ...],
    deny: tuple[str, ...],
    presets: PresetChoice,
    output: OutputSpec | None,
    settings: tuple[str, ...],
    database: str | None,
    queue: str,
    run_id: str | None,
    as_machine: bool,
) -> int:
    """Queue a durable run, and print its id.

    PROMPT is the user message; - reads it from stdin. Name the same tools as the worker: the model is shown
    them as they are here, and a worker whose tools differ refuses the run.

    \b
    toolreel submit "Order a pin." --model your-model \\
        --tools my_tools:TOOLS --run-id order-7
    toolreel runs show order-7
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    chosen, preset = parse_settings(settings), presets.preset(model)
    user = user_message([prompt_text(prompt), *attached])
    with redirect_stdout(sys.stderr), sources.open() as available:
        text = available.system_message(system)
        plan = preset.plan(
            model=model,
            messages=[SystemMessage(text), user] if text else [user],
            tools=available.surface(allow, deny),
            options=chosen.options,
            settings={**chosen.config, **chosen.provider},
            output=output,
        )
    with opened_runs(database) as runs:
        named = runs.submit(plan, run_id, queue=queue)
    if as_machine:
        return say({"run_id": named, "plan": plan.digest, "queue": queue})
    labelled(out, "submitted", named, "bold")
    labelled(out, "", f"next: toolreel runs show {named} (toolreel serve performs it)", "dim")
    return 0
