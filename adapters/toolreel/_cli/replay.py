"""``toolreel replay`` and ``toolreel demo``: replay a recorded run, and check that it is identical."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolreel._cli.console import labelled, out
from toolreel._cli.errors import EPILOG, json_option, reporting
from toolreel._cli.options import tools_option
from toolreel._cli.whole_run import show_run
from toolreel._internal import counted
from toolreel._replay import DRIVERS, Driver, replay

if TYPE_CHECKING:
    from toolreel.tools import ToolLike


@click.command("replay", epilog=EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--driver",
    type=click.Choice(DRIVERS),
    default="sync",
    show_default=True,
    help="Run the loop with blocking calls, or on an event loop.",
)
@tools_option("Run these tools instead of taking their results from the journal. Repeatable.")
@json_option
@reporting
def replay_command(file: Path, driver: Driver, tool_names: tuple[str, ...], as_machine: bool) -> int:
    """Replay a recorded run without network, and check that it is byte-identical.

    FILE is a cassette (NAME.yaml, or just NAME, with NAME.journal.jsonl next to it) or a journal, which
    then also supplies the model's replies. If a request or an event differs from the recording, the
    command prints the first difference and exits with 3.

    A replay of a record asks exactly what was recorded, so it needs no rules about what may vary; it lists
    those that the cassette has.

    \b
    toolreel run "Hello" --model m --base-url http://127.0.0.1:8080 --record hello
    toolreel replay hello
    """
    tools: list[ToolLike] = []
    if tool_names:
        # Most replays take their results from the journal.
        from toolreel.tools import load_tools

        tools = load_tools(tool_names)
    with redirect_stdout(sys.stderr):
        replayed = replay(file, driver=driver, tools=(lambda: tools) if tools else None)
    vary = _rules_in(replayed.cassette) if replayed.cassette else {}
    extra = {"driver": driver, "identical": True, **({"vary": vary} if vary else {})}
    show_run(replayed.run, as_machine=as_machine, extra={"replay": extra})
    if not as_machine:
        for rule, count in vary.items():
            labelled(out, "may vary", f"{rule}: {counted(count, 'request')}")
        out.print(f"replay      {replayed.proof}", style="green")
    return 0


def _rules_in(cassette: Path) -> dict[str, int]:
    """The rules in a cassette, each with the number of requests that it fits."""
    from toolreel.cassette import Recording

    tape = Recording.load(cassette)
    fits = tape.rules.fits_in(exchange.body for exchange in tape.exchanges)
    return {rule.text: count for rule, count in fits.items()}


@click.command("demo", epilog=EPILOG)
@click.option(
    "--driver",
    type=click.Choice(DRIVERS),
    help="Replay on this driver only; by default on all that are installed.",
)
@json_option
@reporting
def demo_command(driver: Driver | None, as_machine: bool) -> int:
    """Replay a recorded session of a real model: no network, no key.

    The session was recorded with Qwen2.5-Coder-1.5B on a local llama.cpp server. The replies come from
    the cassette, the tools are executed, and every event must equal the recorded journal.

    \b
    toolreel demo
    """
    from toolreel.demo import demo_cassette, demo_drivers, workspace

    cassette = demo_cassette()
    chosen: list[Driver] = [driver] if driver else demo_drivers()
    replays = [replay(cassette, driver=each, tools=workspace) for each in chosen]
    drivers = [each.driver for each in replays]
    show_run(replays[0].run, as_machine=as_machine, extra={"replay": {"drivers": drivers, "identical": True}})
    if not as_machine:
        for replayed in replays:
            out.print(f"replay      {replayed.proof}", style="green")
        out.print("            next: toolreel run --help", style="dim")
    return 0
