"""The commands."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from importlib.metadata import version
from pathlib import Path
from typing import ParamSpec

import click

from toolreel.errors import ReplayMismatch, ToolreelError
from toolreel.jsontext import Json
from toolreel.messages import Message, SystemMessage, UserMessage
from toolreel.plan import Plan
from toolreel.presets import PRESETS, configured
from toolreel_adapters.cli.console import complain, out
from toolreel_adapters.cli.render import as_json, show_outcome, show_plan, show_turns
from toolreel_adapters.finished import Run
from toolreel_adapters.hints import told
from toolreel_adapters.replay import DRIVERS, Driver, Replayed, replay
from toolreel_adapters.settings import parse_settings
from toolreel_adapters.tool_modules import load_tools

__all__ = ["toolreel"]

_Options = ParamSpec("_Options")

FAILED, USAGE, DRIFT = 1, 2, 3

_EPILOG = "Exit codes: 0 success, 1 the run failed, 2 usage, 3 a recording disagrees."


def _reporting(command: Callable[_Options, int]) -> Callable[_Options, None]:
    """A command that says what is wrong instead of raising, and exits with its number."""

    @wraps(command)
    def reporting(*args: _Options.args, **kwargs: _Options.kwargs) -> None:
        try:
            sys.exit(command(*args, **kwargs))
        except ReplayMismatch as drift:
            complain(str(drift))
            sys.exit(DRIFT)
        except ToolreelError as error:
            complain(str(error))
            sys.exit(USAGE)

    return reporting


_json_option = click.option("--json", "as_machine", is_flag=True, help="One JSON object instead of text.")
_tools_option = click.option(
    "--tools",
    "tool_names",
    multiple=True,
    metavar="MODULE:ATTR",
    help="A typed Python function, or a list of them; may be repeated.",
)


@click.group(epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("toolreel"), prog_name="toolreel")
def toolreel() -> None:
    """Tool loops that can be recorded, replayed and explained.

    Try `toolreel demo`: it replays a recorded session of a real model, without network or key.
    """


@toolreel.command(epilog=_EPILOG)
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
@_tools_option
@click.option(
    "--preset",
    "presets",
    multiple=True,
    type=click.Choice(list(PRESETS)),
    help="A named set of settings; may be repeated.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting of the loop (max_turns=5), an option of the request (temperature=0), "
    "or any other key of its body (body.cache_prompt=false); may be repeated.",
)
@click.option(
    "--record",
    metavar="NAME",
    help="Keep the session as NAME.yaml and NAME.journal.jsonl, for example cassettes/notes/local--qwen.",
)
@click.option("--overwrite", is_flag=True, help="Replace files of that name.")
@click.option("--driver", type=click.Choice(DRIVERS), default="sync", show_default=True)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    help="Seconds.",
)
@_json_option
@_reporting
def run(  # noqa: PLR0913, PLR0917 - click hands over every option by name
    prompt: str,
    model: str,
    base_url: str,
    api_key_env: str | None,
    system: str | None,
    tool_names: tuple[str, ...],
    presets: tuple[str, ...],
    settings: tuple[str, ...],
    record: str | None,
    overwrite: bool,
    driver: Driver,
    timeout: float,
    as_machine: bool,
) -> int:
    """Run a tool loop against a live server. PROMPT is the user's message; - reads it from stdin.

    \b
    toolreel run "Which status has the release? Call state_get." \\
        --model qwen2.5-coder-1.5b --base-url http://127.0.0.1:8080 \\
        --preset qwen2_5_coder --tools toolreel_adapters.demo.workspace:TOOLS \\
        --record cassettes/status/local--qwen
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    from toolreel_adapters.cli.progress import Watching
    from toolreel_adapters.live import Target, go_live
    from toolreel_adapters.python_tools import Toolbox

    tools = load_tools(tool_names)
    chosen = parse_settings(settings)
    text = sys.stdin.read() if prompt == "-" else prompt
    before: list[Message] = [SystemMessage(system)] if system else []
    plan = Plan.of(
        model=model,
        messages=[*before, UserMessage(text)],
        options=chosen.options,
        tools=Toolbox(tools).surface,
        config=configured(presets, chosen.config),
    )
    target = Target(base_url, api_key_env, timeout)
    path = Path(record.removesuffix(".yaml") + ".yaml") if record else None
    with Watching() as watching:
        live = go_live(plan, target, tools, driver=driver, record=path, overwrite=overwrite, observe=watching)
    saved: list[Json] = [str(path) for path in live.saved]
    _show(live.run, as_machine=as_machine, extra={"saved": saved})
    if not as_machine:
        for name in live.saved:
            out.print(f"saved       {name}")
    words, hint = told(live.run.outcome, base_url=base_url, api_key_env=api_key_env)
    if not live.run.completed:
        complain(words, hint=hint)
    if live.refused:
        complain(str(live.refused))
        return USAGE
    return 0 if live.run.completed else FAILED


@toolreel.command("replay", epilog=_EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--driver", type=click.Choice(DRIVERS), default="sync", show_default=True)
@click.option(
    "--tools",
    "tool_names",
    multiple=True,
    metavar="MODULE:ATTR",
    help="Run these tools for real; without it, the journal answers for them.",
)
@_json_option
@_reporting
def replay_command(file: Path, driver: Driver, tool_names: tuple[str, ...], as_machine: bool) -> int:
    """Replay a recorded run without network, and check that it is the same to the byte.

    FILE is a cassette (NAME.yaml, with NAME.journal.jsonl beside it) or a journal alone.
    """
    tools = load_tools(tool_names)
    replayed = replay(file, driver=driver, tools=(lambda: tools) if tools else None)
    _show(replayed.run, as_machine=as_machine, extra={"replay": {"driver": driver, "identical": True}})
    if not as_machine:
        out.print(f"replay      {_proof(replayed)}", style="green")
    return 0


@toolreel.command(epilog=_EPILOG)
@click.option(
    "--driver", type=click.Choice(DRIVERS), help="Only this driver; all that are installed by default."
)
@_json_option
@_reporting
def demo(driver: Driver | None, as_machine: bool) -> int:
    """Replay a recorded session of a real model: no network, no key.

    The session was recorded from Qwen2.5-Coder-1.5B on a local llama.cpp server. Its replies come
    from the cassette, its tools run for real, and the replay must equal the recorded journal.
    """
    from toolreel_adapters.demo.session import demo_cassette, demo_drivers
    from toolreel_adapters.demo.workspace import workspace

    cassette = demo_cassette()
    replays = [
        replay(cassette, driver=each, tools=workspace) for each in ([driver] if driver else demo_drivers())
    ]
    drivers: list[Json] = [each.driver for each in replays]
    _show(replays[0].run, as_machine=as_machine, extra={"replay": {"drivers": drivers, "identical": True}})
    if not as_machine:
        for replayed in replays:
            out.print(f"replay      {_proof(replayed)}", style="green")
        out.print("            next: toolreel run --help", style="dim")
    return 0


def _show(run: Run, *, as_machine: bool, extra: Mapping[str, Json]) -> None:
    if as_machine:
        click.echo(json.dumps(as_json(run, extra), ensure_ascii=False))
        return
    show_plan(out, run)
    show_turns(out, run)
    show_outcome(out, run)


def _proof(replayed: Replayed) -> str:
    events = len(replayed.recorded.records)
    return f"identical on {replayed.driver}: {events} events, journal {replayed.recorded.digest[:16]}"
