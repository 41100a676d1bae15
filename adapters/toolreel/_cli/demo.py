"""``toolreel demo``: replay a recorded session of a real model."""

from __future__ import annotations

import click

from toolreel._cli.output.console import out
from toolreel._cli.output.errors import EPILOG, json_option, reporting
from toolreel._cli.output.whole_run import show_run
from toolreel._replay.replay import DRIVERS, Driver, replay
from toolreel.demo._recorded_session import demo_cassette, demo_drivers
from toolreel.demo._workspace import workspace
from toolreel_core._jsontext.canonical import Json


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
    """
    cassette = demo_cassette()
    chosen: list[Driver] = [driver] if driver else demo_drivers()
    replays = [replay(cassette, driver=each, tools=workspace) for each in chosen]
    drivers: list[Json] = [each.driver for each in replays]
    show_run(replays[0].run, as_machine=as_machine, extra={"replay": {"drivers": drivers, "identical": True}})
    if not as_machine:
        for replayed in replays:
            out.print(f"replay      {replayed.proof}", style="green")
        out.print("            next: toolreel run --help", style="dim")
    return 0
