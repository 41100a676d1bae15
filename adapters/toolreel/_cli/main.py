"""The ``toolreel`` command group, which imports a command when it is invoked.

A group knows the name, the module and one line of help of each command. That is enough for its own
``--help``, for completion and for suggestions after a typo, so ``toolreel --help`` imports no command.
"""

from __future__ import annotations

import io
import sys
from importlib import import_module
from itertools import chain
from typing import Any

import click

from toolreel._cli.errors import EPILOG
from toolreel._internal import show_only_errors


class LazyCommand(click.Command):
    def __init__(self, name: str, module: str, short_help: str) -> None:
        super().__init__(name, short_help=short_help)
        self._module = module

    def load(self) -> click.Command:
        """Import the command.

        :raises ImportError: if it needs a package that is not installed
        """
        module = import_module(f"{__package__}.{self._module}")
        command: click.Command = getattr(module, f"{self.name}_command")
        return command


class LazyGroup(click.Group):
    """A group that imports a command when it is invoked, and lists its commands by purpose.

    :param table: the sections of the group's ``--help`` in their order, with a blank line between: a heading,
        then a line for each command with its name, its module and what it does
    """

    def __init__(self, *args: Any, table: str, **options: Any) -> None:  # noqa: ANN401 - passed on to click
        self._sections = dict[str, list[LazyCommand]]()
        for section in table.strip().split("\n\n"):
            heading, *lines = section.splitlines()
            self._sections[heading] = [LazyCommand(*line.split(maxsplit=2)) for line in lines]
        options["commands"] = [*chain.from_iterable(self._sections.values())]
        super().__init__(*args, **options)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, self.list_commands(ctx)))
        for title, commands in self._sections.items():
            with formatter.section(title):
                # Names are padded by hand, so that the columns of all sections are aligned.
                rows = [(str(each.name).ljust(widest), each.get_short_help_str(80)) for each in commands]
                formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, LazyCommand) else command, rest


@click.group(
    "cassettes",
    cls=LazyGroup,
    table="""
Check
    check    cassettes  Look for leaks, orphans, age and drift.

Convert
    journal  cassettes  Make the journal of any client's cassette.
    export   cassettes  Convert to stock vcrpy's format.
    import   cassettes  Convert stock vcrpy's cassettes.
""",
    epilog=EPILOG,
)
def cassettes_command() -> None:
    """Look after recordings: cassettes and their journals.

    \b
    toolreel cassettes check cassettes --tests tests
    """


@click.group(
    "durable",
    cls=LazyGroup,
    table="""
Perform runs
    submit   durable  Queue a run for a worker.
    worker   durable  Perform the runs of a queue.
    adopt    durable  Queue abandoned or failed runs again.

Look at them
    list     durable  List the runs, the newest first.
    show     durable  Show what a run did, and what it waits for.
    watch    durable  Watch runs live: turn, age and cost.
    export   durable  Write a run to a file.

Speak with them
    approve  durable  Approve or deny a call.
    say      durable  Say something to a run.
    cancel   durable  Cancel runs.
""",
    epilog=EPILOG,
)
def durable_command() -> None:
    """Run tool loops in a database: they survive crashes, wait for approvals, and share limits.

    `submit` queues a run and `worker` performs it. A run that waits needs no worker until somebody approves
    its call or says something. For runs recorded in files, see `toolreel resume`.

    \b
    toolreel durable submit "Order a pin." --model m --run-id order-7
    toolreel durable worker --base-url http://127.0.0.1:8080
    """


# There is no `diff`: with two names, `explain` compares in the terminal and `view` on a page.
_COMMANDS = """
Run
    demo       recordings   Replay a recorded session of a real model: no network, no key.
    run        run          Run a tool loop against a live server, and record it.
    chat       run          Talk with a model and its tools, and record it.
    resume     run          Finish a recorded run that was killed.

Recordings
    replay     recordings   Replay a recorded run, and check that it is identical.
    explain    recordings   Say why a run ended as it did, or where two differ.
    view       recordings   Show recordings as pages: all, one, or two side by side.
    fork       run          Continue a recorded run from any event, with a change.
    cassettes  main         Check recordings, convert them, make their journals.
    export     recordings   Write a recorded run in the format of another tool.

Tools and providers
    tools      run_options  Show the tools of a run: names, sizes, flags.
    presets    presets      Show what presets change, and why.
    probe      presets      Find an endpoint's quirks, and write its preset.
    normalize  normalize    Parse replies of models into calls and content.

For other programs
    proxy      proxy        Repair and record any client's traffic: a local server.
    durable    main         Keep runs in a database: queue, workers, approval.

Evaluations
    eval       evals.group  Measure how reliably models call tools.

This installation
    doctor     doctor       Check packages, keys, server and recordings.
"""


@click.group(
    cls=LazyGroup,
    table=_COMMANDS,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="toolreel", prog_name="toolreel")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    envvar="TOOLREEL_LOG",
    help="Log to stderr from this level on.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    envvar="TOOLREEL_LOG_FORMAT",
    help="One line of text or of JSON for each record.",
)
def toolreel(log_level: str | None, log_format: str) -> None:
    """Record, replay and explain the tool loops of language models.

    Start with `toolreel demo`, which replays a recorded session of a real model, without network or key.
    `toolreel run` runs a loop against your own server. Each command's --help has an example.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Escape characters that the terminal's encoding lacks, instead of raising UnicodeEncodeError.
            stream.reconfigure(errors="backslashreplace")
    show_only_errors()  # commands tell the rest themselves
    if log_level:
        from toolreel._cli.logs import log_to_stderr  # few commands log

        log_to_stderr(log_level, log_format)
