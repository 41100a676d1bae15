"""``--driver`` of a command that runs a loop, recorded or live."""

from __future__ import annotations

import click

from toolreel._replay.replay import DRIVERS

__all__ = ["driver_option"]

driver_option = click.option(
    "--driver",
    type=click.Choice(DRIVERS),
    default="sync",
    show_default=True,
    help="What drives the loop: plain calls, or an event loop.",
)
