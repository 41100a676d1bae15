"""``toolreel run``: a tool loop against a live server, recorded if that is wanted."""

from __future__ import annotations

import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Final

import click

from toolreel._cli.live.set_options import parse_settings
from toolreel._cli.options.approval import APPROVALS, Approval, approver
from toolreel._cli.options.driver import driver_option
from toolreel._cli.options.presets import (
    catalogue_option,
    composed_preset,
    preset_option,
    provider_option,
    sampling_option,
)
from toolreel._cli.options.recording import RecordMode, cassette_path, durable_option, keeping_of, mode_option
from toolreel._cli.options.sources import SourceChoice, Sources, source_options
from toolreel._cli.output.console import complain, labelled, out
from toolreel._cli.output.errors import EPILOG, USAGE, json_option, reporting
from toolreel._cli.output.render import show_run
from toolreel._cli.tools import allow_option, deny_option
from toolreel._driver.run import outcome_of
from toolreel._journal.record import read_journal
from toolreel._replay.explain.advice import told
from toolreel._replay.replay import Driver, companion
from toolreel.presets._catalogues import with_files
from toolreel.testing._files import ReelFiles
from toolreel_core._conversation.message import SystemMessage, UserMessage
from toolreel_core._jsontext.canonical import Json
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.outcome import Completed

__all__ = ["run_command"]

_FAILED: Final = 1


@click.command("run", epilog=EPILOG, short_help="Run a tool loop against a live server, and record it.")
@click.argument("prompt")
@click.option("--model", required=True, help="The model's name, as the server knows it.")
@click.option(
    "--base-url",
    required=True,
    metavar="URL",
    help="An OpenAI-compatible server, with or without /v1, for example http://127.0.0.1:8080.",
)
@click.option("--api-key-env", metavar="VAR", help="The environment variable that holds the API key.")
@click.option("--system", metavar="TEXT", help="A system message.")
@source_options
@allow_option
@deny_option
@provider_option
@preset_option
@sampling_option
@catalogue_option
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting of the loop (max_turns=5) or of the provider (id_style=openai), an option of the "
    "request (temperature=0), or any other key of its body (body.cache_prompt=false); may be repeated.",
)
@click.option(
    "--record",
    metavar="NAME",
    help="Keep the session as NAME.yaml and NAME.journal.jsonl, to be replayed with `toolreel replay NAME`.",
)
@click.option("--overwrite", is_flag=True, help="Replace files of that name, whatever comes of the run.")
@mode_option
@durable_option
@click.option(
    "--approve",
    type=click.Choice(APPROVALS),
    default="ask",
    show_default=True,
    help="Who decides about tools that need approval: you, or nobody.",
)
@click.option(
    "--stream",
    is_flag=True,
    help="Have replies streamed where the model can call no tools, and show them on a terminal as they come.",
)
@driver_option
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for a reply, or for the next piece of a streamed one.",
)
@json_option
@reporting
def run_command(  # noqa: PLR0913, PLR0917 - click hands over every option by name
    prompt: str,
    model: str,
    base_url: str,
    api_key_env: str | None,
    system: str | None,
    sources: SourceChoice,
    allow: tuple[str, ...],
    deny: tuple[str, ...],
    provider: str | None,
    presets: tuple[str, ...],
    sampling: str | None,
    catalogues: tuple[Path, ...],
    settings: tuple[str, ...],
    record: str | None,
    overwrite: bool,
    mode: RecordMode | None,
    durable: bool,
    approve: Approval,
    stream: bool,
    driver: Driver,
    timeout: float,
    as_machine: bool,
) -> int:
    """Run a tool loop against a live server. PROMPT is the user's message; - reads it from stdin.

    \b
    toolreel run "Which status has the release? Call state_get." \\
        --model qwen2.5-coder-1.5b --base-url http://127.0.0.1:8080 \\
        --preset qwen2_5_coder --tools toolreel.demo:TOOLS \\
        --record cassettes/status/local--qwen
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    from toolreel._cli.live.session import LiveTarget, run_live
    from toolreel._cli.output.progress import RunProgress

    chosen = parse_settings(settings)
    preset = composed_preset(
        with_files(catalogues), provider=provider, model=model, names=presets, sampling=sampling
    )
    path = cassette_path(record)
    keeping = keeping_of(mode, path, overwrite=overwrite)
    user = UserMessage(_words(prompt))

    def planned(given: Sources) -> Plan:
        first = given.after(system)
        return preset.plan(
            model=model,
            messages=[SystemMessage(first), user] if first else [user],
            tools=given.surface(allow, deny),
            options=chosen.options,
            settings={**chosen.config, **chosen.provider, **({"final_stream": True} if stream else {})},
        )

    if isinstance(keeping, Path):
        journal = companion(keeping)
        were = read_journal(journal).plan.tools.definitions if journal.exists() else ()
        return _rerun(planned(sources.recorded(were)), keeping, driver, as_machine=as_machine)
    with redirect_stdout(sys.stderr), RunProgress() as watching, sources.open(watching.learn) as given:
        live = run_live(
            planned(given),
            LiveTarget(base_url, api_key_env, timeout, given.secrets),
            given.tools,
            hosts=given.hosts,
            driver=driver,
            approver=approver(approve, watching),
            record=path,
            keeping=keeping,
            durable=durable,
            observe=watching,
            on_delta=watching.hear,
        )
    saved: list[Json] = [str(path) for path in live.saved]
    show_run(live.run, as_machine=as_machine, extra={"saved": saved})
    if live.saved and not as_machine:
        _show_saved(live.saved)
    words, hint = told(live.run.outcome, base_url=base_url, api_key_env=api_key_env)
    if not live.run.completed:
        complain(words, hint=hint)
    if live.refused:
        complain(f"the session was not saved: {live.refused}")
        return USAGE
    if live.dropped:
        complain(f"the session was not saved, since it did not complete (--mode {mode})")
    return 0 if live.run.completed else _FAILED


def _rerun(plan: Plan, path: Path, driver: Driver, *, as_machine: bool) -> int:
    """The run as it was recorded; nobody is asked again."""
    from toolreel._cli.output.progress import RunProgress
    from toolreel.testing._reel import rerun

    with redirect_stdout(sys.stderr), RunProgress() as watching:
        done = rerun(plan, ReelFiles(path), driver=driver, observe=watching)
    show_run(done, as_machine=as_machine, extra={"saved": [], "replayed": str(path)})
    if not as_machine:
        labelled(out, "replayed", str(path), "green")
    ended = outcome_of(done)
    return 0 if isinstance(ended, Completed | None) else _FAILED


def _show_saved(saved: tuple[Path, ...]) -> None:
    for name in saved:
        labelled(out, "saved", str(name))
    labelled(out, "", f"next: toolreel replay {shlex.quote(str(saved[0]))}", "dim")


def _words(prompt: str) -> str:
    """The prompt, from stdin if it says so; the line break that ends it there is not part of it."""
    try:
        text = sys.stdin.buffer.read().decode().rstrip("\r\n") if prompt == "-" else prompt
    except UnicodeDecodeError as error:
        raise click.BadParameter(f"stdin is not UTF-8 at byte {error.start}", param_hint="PROMPT") from None
    if not text.strip():
        raise click.BadParameter("it is empty; say what the model shall do", param_hint="PROMPT")
    return text
