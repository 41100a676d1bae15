"""The commands: where each is, and what ``toolreel --help`` says of it."""

from __future__ import annotations

import io
import sys
from typing import Final

import click

from toolreel._cli.lazy import LazyCommand, LazyGroup
from toolreel._cli.output.errors import EPILOG

__all__ = ["toolreel"]

_COMMANDS: Final = (
    LazyCommand(
        "cassettes",
        "cassettes.group:cassettes_command",
        "Check recordings, import those of vcrpy, tell their journals.",
    ),
    LazyCommand(
        "demo", "demo:demo_command", "Replay a recorded session of a real model: no network, no key."
    ),
    LazyCommand("diff", "runs.diff:diff_command", "Show where two recorded runs part."),
    LazyCommand("eval", "evals.group:eval_command", "Measure how reliably models call tools."),
    LazyCommand("fork", "runs.fork:fork_command", "Go on from any event of a recorded run, with a change."),
    LazyCommand("normalize", "replies.normalize:normalize_command", "Show what replies of any shape mean."),
    LazyCommand("presets", "presets.group:presets_command", "Show what presets change, and why."),
    LazyCommand(
        "replay", "runs.replay:replay_command", "Replay a recorded run, and check that it is the same."
    ),
    LazyCommand("resume", "runs.resume:resume_command", "Go on with a recorded run that was killed."),
    LazyCommand("run", "runs.run:run_command", "Run a tool loop against a live server, and record it."),
    LazyCommand(
        "text-calls", "replies.text_calls:text_calls_command", "Find tool calls that a model wrote as text."
    ),
    LazyCommand("tools", "tools:tools_command", "Show the tools that a run would have."),
)
"""Each line is that of the command itself, which a test compares."""


@click.group(
    cls=LazyGroup,
    commands=_COMMANDS,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="toolreel", prog_name="toolreel")
def toolreel() -> None:
    """Tool loops that can be recorded, replayed and explained.

    Try `toolreel demo`: it replays a recorded session of a real model, without network or key.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # What an encoding cannot write is spelt out, instead of failing on it.
            stream.reconfigure(errors="backslashreplace")
