"""The ``toolreel`` command group: the module of each command, and its line in ``toolreel --help``."""

from __future__ import annotations

import io
import sys
from typing import IO, Any, Final

import click

from toolreel._cli.lazy import LazyCommand, LazyGroup
from toolreel._cli.output.errors import EPILOG, FAILED, USAGE

_COMMANDS: Final = (
    LazyCommand(
        "cassettes",
        "cassettes.group:cassettes_command",
        "Check recordings, convert them from and to vcrpy, make their journals.",
    ),
    LazyCommand("chat", "runs.chat:chat_command", "Talk with a model and its tools, and record it."),
    LazyCommand(
        "demo", "demo:demo_command", "Replay a recorded session of a real model: no network, no key."
    ),
    LazyCommand("diff", "runs.diff:diff_command", "Show where two recorded runs differ."),
    LazyCommand("eval", "evals.group:eval_command", "Measure how reliably models call tools."),
    LazyCommand("explain", "runs.explain:explain_command", "Say why a recorded run ended as it did."),
    LazyCommand(
        "export", "runs.export:export_command", "Write a recorded run in the format of another tool."
    ),
    LazyCommand("fork", "runs.fork:fork_command", "Continue a recorded run from any event, with a change."),
    LazyCommand(
        "normalize", "replies.normalize:normalize_command", "Parse replies of models into calls and content."
    ),
    LazyCommand("presets", "presets:presets_command", "Show what presets change, and why."),
    LazyCommand("probe", "probe.command:probe_command", "Find an endpoint's quirks, and write its preset."),
    LazyCommand("proxy", "proxy:proxy_command", "Repair and record any client's traffic: a local server."),
    LazyCommand(
        "replay", "runs.replay:replay_command", "Replay a recorded run, and check that it is identical."
    ),
    LazyCommand("resume", "runs.resume:resume_command", "Finish a recorded run that was killed."),
    LazyCommand("run", "runs.run:run_command", "Run a tool loop against a live server, and record it."),
    LazyCommand("runs", "durable.group:runs_command", "Look at durable runs, approve, cancel, speak."),
    LazyCommand("serve", "durable.serve:serve_command", "Perform durable runs: a worker for a queue."),
    LazyCommand("submit", "durable.submit:submit_command", "Queue a durable run for a worker."),
    LazyCommand(
        "text-calls", "replies.text_calls:text_calls_command", "Find tool calls that a model wrote as text."
    ),
    LazyCommand("tools", "tools:tools_command", "Show the tools of a run: names, sizes, flags."),
    LazyCommand("ui", "ui:ui_command", "Open a local page that lists recordings and runs."),
    LazyCommand("view", "runs.view:view_command", "Show a recorded run as a page, or two side by side."),
    LazyCommand("watch", "durable.watch:watch_command", "Watch durable runs live: turn, age and cost."),
)
"""A test checks that each line equals the short help of the command itself."""


class _Root(LazyGroup):
    """A group that ends as it would have if the reader of its output leaves, as ``head`` does.

    What commands print goes on unread (``output.errors``). What click prints itself, help and mistakes, does
    not: it ends with 1 then, which would say that a gate or a run failed.
    """

    def main(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - passed on to click
        """Run a command and exit."""
        before = sys.stdout
        try:
            return super().main(*args, **options)
        except BrokenPipeError:  # while click explained a mistake
            _go_unread(sys.stderr)
            sys.exit(USAGE)
        except SystemExit as ended:
            # Click puts another stream there if and only if it found the pipe closed.
            if sys.stdout is before:
                raise
            _go_unread(before)
            sys.exit(0 if ended.code == FAILED else ended.code)


def _go_unread(stream: IO[str]) -> None:
    from toolreel._cli.output.console import go_unread  # few readers leave

    go_unread(stream)


@click.group(
    cls=_Root,
    commands=_COMMANDS,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="toolreel", prog_name="toolreel")
@click.option(
    "--log-level",
    metavar="LEVEL",
    envvar="TOOLREEL_LOG",
    help="Log to stderr: debug, info, warning or error; or LOGGER=LEVEL, as in info,http=debug.",
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
    if log_level:
        from toolreel._cli.output.logs import log_to_stderr  # few commands log

        log_to_stderr(log_level, log_format)
