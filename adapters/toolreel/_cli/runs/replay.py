"""``toolreel replay``: replay a recorded run, and check that it is identical."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path

import click

from toolreel._cli.options.driver_and_approval import driver_option
from toolreel._cli.options.tools import tools_option
from toolreel._cli.output.console import out
from toolreel._cli.output.errors import EPILOG, json_option, reporting
from toolreel._cli.output.whole_run import show_run
from toolreel._replay.replay import Driver, replay
from toolreel.tools._python.tool import load_tools


@click.command("replay", epilog=EPILOG, short_help="Replay a recorded run, and check that it is identical.")
@click.argument("file", type=click.Path(path_type=Path))
@driver_option
@tools_option("Run these tools instead of taking their results from the journal. Repeatable.")
@json_option
@reporting
def replay_command(file: Path, driver: Driver, tool_names: tuple[str, ...], as_machine: bool) -> int:
    """Replay a recorded run without network, and check that it is byte-identical.

    FILE is a cassette (NAME.yaml, or just NAME, with NAME.journal.jsonl next to it) or a journal, which
    then also supplies the model's replies. If a request or an event differs from the recording, the
    command prints the first difference and exits with 3.

    \b
    toolreel run "Hello" --model m --base-url http://127.0.0.1:8080 --record hello
    toolreel replay hello
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    tools = load_tools(tool_names)
    with redirect_stdout(sys.stderr):
        replayed = replay(file, driver=driver, tools=(lambda: tools) if tools else None)
    show_run(replayed.run, as_machine=as_machine, extra={"replay": {"driver": driver, "identical": True}})
    if not as_machine:
        out.print(f"replay      {replayed.proof}", style="green")
    return 0
