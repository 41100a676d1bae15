"""``toolreel eval scenario``: write scenarios of your own, and prove that their checks hold."""

from __future__ import annotations

from typing import Final

import click

from toolreel._cli.lazy import LazyCommand, LazyGroup

_COMMANDS: Final = (
    LazyCommand(
        "check", "evals.scenarios.check:check_command", "Run the scripts of scenarios, to prove their checks."
    ),
    LazyCommand(
        "from", "evals.scenarios.from_recording:from_command", "Make a scenario of a recorded session."
    ),
    LazyCommand("new", "evals.scenarios.new:new_command", "Write a commented scenario to start from."),
)

_EPILOG: Final = "Exit codes: 0 success, 1 a script got another verdict than it has to, 2 usage."


@click.group(
    "scenario",
    cls=LazyGroup,
    commands=_COMMANDS,
    epilog=_EPILOG,
    short_help="Write scenarios of your own, prove them, make them of recordings.",
)
def scenario_command() -> None:
    """Write scenarios of your own: a TOML file with texts, tools, checks, and scripts that prove the checks.

    toolreel eval scenario new refund, then: toolreel eval scenario check refund.toml
    """
