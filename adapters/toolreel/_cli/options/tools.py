"""``--tools``: modules with tools, as several commands take them."""

from __future__ import annotations

from collections.abc import Callable

import click

from toolreel._cli.options.option_bundle import Command


def tools_option(text: str) -> Callable[[Command], Command]:
    """``--tools``, with a help text; the command receives ``tool_names``."""
    return click.option("--tools", "tool_names", multiple=True, metavar="MODULE:ATTR", help=text)
