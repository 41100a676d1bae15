"""Options whose defaults a project sets for several commands: ``[tool.toolreel]`` in ``pyproject.toml``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from toolreel_core._errors import ToolreelError

if TYPE_CHECKING:
    from toolreel._internal import ProjectSettings

_INSTEAD: Final = ("recorded", "other", "replayed", "goes_on")
"""Parameters of `fork`, `probe` and `chat` that say that a recording answers, or has the model."""


def shared_settings() -> ProjectSettings:
    """What the project around this folder says for all commands.

    :raises ProjectSettingsError: if it cannot be used
    """
    from toolreel._internal import project_settings  # --help does not need it

    return project_settings(Path.cwd())


class SharedOption(click.Option):
    """An option whose default is the key of its name in ``[tool.toolreel]``."""

    def get_default(self, ctx: click.Context, call: bool = True) -> Any:  # noqa: ANN401 - as click has it
        """What the project says, if the key is for this command; else the option's own default."""
        own = super().get_default(ctx, call)
        if not call or ctx.resilient_parsing:  # for --help and completion
            return own
        from toolreel._internal import EVERY, SERVER_KEYS, SHARED_KEYS

        key = max(self.opts, key=len).lstrip("-").replace("-", "_")
        if not {ctx.info_name, EVERY} & {*SHARED_KEYS[key].commands}:
            return own
        # Click asks for defaults in the order of declaration, after all that the command line gives.
        if key in {"base_url", "model"} and any(map(ctx.params.get, _INSTEAD)):
            return own
        try:
            values = shared_settings().values
        except ToolreelError as error:
            raise click.UsageError(str(error), ctx) from None
        if key in SERVER_KEYS and ctx.params.get("base_url") != values.get("base_url"):
            return own  # the command line names another server, which gets no key of this one
        return values.get(key, own)
