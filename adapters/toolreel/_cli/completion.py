"""``toolreel completion``: the script that completes commands and options in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from toolreel._cli.errors import EPILOG

_SHELLS = ("bash", "fish", "zsh")


@click.command("completion", epilog=EPILOG)
@click.argument("shell", metavar="SHELL", type=click.Choice(_SHELLS))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print the script that completes `toolreel` in SHELL: bash, fish or zsh.

    \b
    eval "$(toolreel completion bash)"                            # in ~/.bashrc
    eval "$(toolreel completion zsh)"                             # in ~/.zshrc
    toolreel completion fish > ~/.config/fish/completions/toolreel.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"click has no completion for {shell}")
    root = context.find_root()
    click.echo(kind(root.command, {}, "toolreel", "_TOOLREEL_COMPLETE").source())
