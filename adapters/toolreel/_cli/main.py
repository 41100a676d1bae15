"""The ``toolreel`` command group: the module of each command, and its line in ``toolreel --help``."""

from __future__ import annotations

import io
import sys
from typing import Final

import click

from toolreel._cli.errors import EPILOG
from toolreel._cli.lazy import LazyCommand, LazyGroup
from toolreel._internal import show_only_errors


@click.group(
    "cassettes",
    cls=LazyGroup,
    sections={
        "Check": (
            LazyCommand("check", "cassettes:check_command", "Look for leaks, orphans, age and drift."),
        ),
        "Convert": (
            LazyCommand("journal", "cassettes:journal_command", "Make the journal of any client's cassette."),
            LazyCommand("export", "cassettes:export_command", "Convert to stock vcrpy's format."),
            LazyCommand("import", "cassettes:import_command", "Convert stock vcrpy's cassettes."),
        ),
    },
    epilog=EPILOG,
    short_help="Check recordings, convert them, make their journals.",
)
def cassettes_command() -> None:
    """Look after recordings: cassettes and their journals.

    \b
    toolreel cassettes check cassettes --tests tests
    """


@click.group(
    "durable",
    cls=LazyGroup,
    sections={
        "Perform runs": (
            LazyCommand("submit", "durable_runs:submit_command", "Queue a run for a worker."),
            LazyCommand("worker", "durable_worker:worker_command", "Perform the runs of a queue."),
            LazyCommand("adopt", "durable_runs:adopt_command", "Queue abandoned or failed runs again."),
        ),
        "Look at them": (
            LazyCommand("list", "durable_runs:list_command", "List the runs, the newest first."),
            LazyCommand("show", "durable_runs:show_command", "Show what a run did, and what it waits for."),
            LazyCommand("watch", "durable_runs:watch_command", "Watch runs live: turn, age and cost."),
            LazyCommand("export", "durable_runs:export_command", "Write a run to a file."),
        ),
        "Speak with them": (
            LazyCommand("approve", "durable_runs:approve_command", "Approve or deny a call."),
            LazyCommand("say", "durable_runs:say_command", "Say something to a run."),
            LazyCommand("cancel", "durable_runs:cancel_command", "Cancel runs."),
        ),
    },
    epilog=EPILOG,
    short_help="Keep runs in a database: queue, workers, approval.",
)
def durable_command() -> None:
    """Run tool loops in a database: they survive crashes, wait for approvals, and share limits.

    `submit` queues a run and `worker` performs it. A run that waits needs no worker until somebody approves
    its call or says something. For runs recorded in files, see `toolreel resume`.

    \b
    toolreel durable submit "Order a pin." --model m --run-id order-7
    toolreel durable worker --base-url http://127.0.0.1:8080
    """


_SECTIONS: Final = {
    "Run": (
        LazyCommand(
            "demo", "replay:demo_command", "Replay a recorded session of a real model: no network, no key."
        ),
        LazyCommand("run", "run:run_command", "Run a tool loop against a live server, and record it."),
        LazyCommand("chat", "chat:chat_command", "Talk with a model and its tools, and record it."),
        LazyCommand("resume", "run:resume_command", "Finish a recorded run that was killed."),
    ),
    "Recordings": (
        LazyCommand(
            "replay", "replay:replay_command", "Replay a recorded run, and check that it is identical."
        ),
        LazyCommand(
            "explain", "explain:explain_command", "Say why a run ended as it did, or where two differ."
        ),
        LazyCommand("view", "view:view_command", "Show recordings as pages: all, one, or two side by side."),
        LazyCommand("fork", "fork:fork_command", "Continue a recorded run from any event, with a change."),
        cassettes_command,
        LazyCommand("export", "export:export_command", "Write a recorded run in the format of another tool."),
    ),
    "Tools and providers": (
        LazyCommand("tools", "tool_options:tools_command", "Show the tools of a run: names, sizes, flags."),
        LazyCommand("presets", "presets:presets_command", "Show what presets change, and why."),
        LazyCommand("probe", "probe:probe_command", "Find an endpoint's quirks, and write its preset."),
        LazyCommand(
            "normalize", "normalize:normalize_command", "Parse replies of models into calls and content."
        ),
    ),
    "For other programs": (
        LazyCommand(
            "proxy", "proxy:proxy_command", "Repair and record any client's traffic: a local server."
        ),
        durable_command,
    ),
    "Evaluations": (
        LazyCommand("eval", "evals.group:eval_command", "Measure how reliably models call tools."),
    ),
    "This installation": (
        LazyCommand("doctor", "doctor:doctor_command", "Check packages, keys, server and recordings."),
    ),
}
"""There is no `diff`: with two names, `explain` compares in the terminal and `view` on a page."""


@click.group(
    cls=LazyGroup,
    sections=_SECTIONS,
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
    show_only_errors()  # commands tell the rest themselves
    if log_level:
        from toolreel._cli.logs import log_to_stderr  # few commands log

        log_to_stderr(log_level, log_format)
