"""``--attach``: files that go with the prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from toolreel._driver.user.attachments import attach
from toolreel_core._conversation.content.part import Media
from toolreel_core._errors import ConfigError

_NAME: Final = "--attach"


def _attached(_: click.Context, __: click.Parameter, paths: tuple[Path, ...]) -> tuple[Media, ...]:
    try:
        return tuple([attach(path) for path in paths])
    except ConfigError as error:
        raise click.BadParameter(str(error).removeprefix("attach: "), param_hint=_NAME) from None


attach_option = click.option(
    _NAME,
    "attached",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    multiple=True,
    callback=_attached,
    help="Send a picture, sound or file with the prompt. Repeatable.",
)
