"""The ``toolreel`` command group: the module of each command, and its line in ``toolreel --help``."""

from __future__ import annotations

import io
import sys
from typing import Any, Final

import click

from toolreel._cli.errors import EPILOG, FAILED, USAGE, go_unread
from toolreel._cli.lazy import LazyCommand, LazyGroup

_CASSETTES: Final = (
    LazyCommand("check", "cassettes:check_command", "Look over recordings: leaks, orphans, age, drift."),
    LazyCommand("export", "cassettes_vcrpy:export_command", "Convert a cassette to stock vcrpy's format."),
    LazyCommand("import", "cassettes_vcrpy:import_command", "Convert stock vcrpy's cassettes to toolreel's."),
    LazyCommand("journal", "cassettes:journal_command", "Make the journal of any client's cassette."),
)


@click.group(
    "cassettes",
    cls=LazyGroup,
    commands=_CASSETTES,
    epilog=EPILOG,
    short_help="Check recordings, convert them from and to vcrpy, make their journals.",
)
def cassettes_command() -> None:
    """Look after recordings: cassettes and their journals."""


_RUNS: Final = (
    LazyCommand("adopt", "durable_runs:adopt_command", "Take over the runs of a worker that is gone."),
    LazyCommand("approve", "durable_runs:approve_command", "Approve the call that a run waits for."),
    LazyCommand("cancel", "durable_runs:cancel_command", "Cancel runs."),
    LazyCommand("deny", "durable_runs:deny_command", "Deny the call that a run waits for."),
    LazyCommand("export", "durable_runs:export_command", "Write a run as a journal, to replay or fork."),
    LazyCommand("health", "durable_runs:health_command", "Say whether database and queue are well."),
    LazyCommand("list", "durable_runs:list_command", "List the runs, the newest first."),
    LazyCommand("prune", "durable_runs:prune_command", "Delete runs that ended long ago."),
    LazyCommand("resume", "durable_runs:resume_command", "Queue a failed or refused run again."),
    LazyCommand("show", "durable_runs:show_command", "Show what a run did, and what it waits for."),
    LazyCommand("speak", "durable_runs:speak_command", "Say something to a run."),
    LazyCommand("wait", "durable_runs:wait_command", "Wait until a run has ended or waits for you."),
)


@click.group(
    "runs",
    cls=LazyGroup,
    commands=_RUNS,
    epilog=EPILOG,
    short_help="Look at durable runs, approve, cancel, speak.",
)
def runs_command() -> None:
    """Look at the durable runs of a database, and speak with them from any process.

    `toolreel submit` queues a run and `toolreel serve` performs it. A run that waits needs no worker until
    somebody approves its call or speaks. For runs recorded in files, see `toolreel resume`.
    """


_COMMANDS: Final = (
    cassettes_command,
    LazyCommand("chat", "chat:chat_command", "Talk with a model and its tools, and record it."),
    LazyCommand(
        "demo", "replay:demo_command", "Replay a recorded session of a real model: no network, no key."
    ),
    LazyCommand("diff", "explain:diff_command", "Show where two recorded runs differ."),
    LazyCommand("eval", "evals.group:eval_command", "Measure how reliably models call tools."),
    LazyCommand("explain", "explain:explain_command", "Say why a recorded run ended as it did."),
    LazyCommand("export", "export:export_command", "Write a recorded run in the format of another tool."),
    LazyCommand("fork", "fork:fork_command", "Continue a recorded run from any event, with a change."),
    LazyCommand(
        "normalize", "normalize:normalize_command", "Parse replies of models into calls and content."
    ),
    LazyCommand("presets", "presets:presets_command", "Show what presets change, and why."),
    LazyCommand("probe", "probe:probe_command", "Find an endpoint's quirks, and write its preset."),
    LazyCommand("proxy", "proxy:proxy_command", "Repair and record any client's traffic: a local server."),
    LazyCommand("replay", "replay:replay_command", "Replay a recorded run, and check that it is identical."),
    LazyCommand("resume", "run:resume_command", "Finish a recorded run that was killed."),
    LazyCommand("run", "run:run_command", "Run a tool loop against a live server, and record it."),
    runs_command,
    LazyCommand("serve", "durable_worker:serve_command", "Perform durable runs: a worker for a queue."),
    LazyCommand("submit", "durable_runs:submit_command", "Queue a durable run for a worker."),
    LazyCommand("text-calls", "text_calls:text_calls_command", "Find tool calls that a model wrote as text."),
    LazyCommand("tools", "tools:tools_command", "Show the tools of a run: names, sizes, flags."),
    LazyCommand("ui", "ui:ui_command", "Open a local page that lists recordings and runs."),
    LazyCommand("view", "view:view_command", "Show a recorded run as a page, or two side by side."),
    LazyCommand("watch", "durable_watch:watch_command", "Watch durable runs live: turn, age and cost."),
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
            go_unread(sys.stderr)
            sys.exit(USAGE)
        except SystemExit as ended:
            # Click puts another stream there if and only if it found the pipe closed.
            if sys.stdout is before:
                raise
            go_unread(before)
            sys.exit(0 if ended.code == FAILED else ended.code)


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
        from toolreel._cli.logs import log_to_stderr  # few commands log

        log_to_stderr(log_level, log_format)
