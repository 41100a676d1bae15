"""``--output-schema``: a file with the JSON Schema that the final answer has to fit."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import either, read
from toolreel_core._plan.output.spec import OutputSpec

_NAME: Final = "--output-schema"


def _spec(_: click.Context, __: click.Parameter, path: Path | None) -> OutputSpec | None:
    if path is None:
        return None
    try:
        tree = either(read(path.read_text(encoding="utf-8-sig")))
    except (OSError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"{path} cannot be read: {error}", param_hint=_NAME) from None
    if not isinstance(tree, dict):
        why = tree if isinstance(tree, str) else "expected a JSON object"
        raise click.BadParameter(f"{path} is not a JSON Schema: {why}", param_hint=_NAME)
    try:
        return OutputSpec.of(tree)
    except ConfigError as error:
        raise click.BadParameter(f"{path}: {error}", param_hint=_NAME) from None


output_schema_option = click.option(
    _NAME,
    "output",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    callback=_spec,
    help="JSON Schema of the final answer: it is validated, and the model is asked again if it does not fit "
    "(output_retries). --set output_mode=tool, text or native says how it is asked for.",
)
