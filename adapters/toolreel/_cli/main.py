"""The commands: where each is, and what ``toolreel --help`` says of it."""

from __future__ import annotations

import io
import sys
from typing import Final

import click

from toolreel._cli.lazy import Later, LazyGroup
from toolreel._cli.output.errors import EPILOG

__all__ = ["toolreel"]

_COMMANDS: Final = (
    Later(
        "cassettes",
        "cassettes.group:cassettes_command",
        "Check recordings, import those of vcrpy, tell their journals.",
    ),
    Later("demo", "demo:demo_command", "Replay a recorded session of a real model: no network, no key."),
    Later("diff", "runs.diff:diff_command", "Show where two recorded runs part."),
    Later("eval", "evals.group:eval_command", "Measure how reliably models call tools."),
    Later("fork", "runs.fork:fork_command", "Go on from any event of a recorded run, with a change."),
    Later("normalize", "replies.normalize:normalize_command", "Show what replies of any shape mean."),
    Later("presets", "presets.group:presets_command", "Show what presets change, and why."),
    Later("replay", "runs.replay:replay_command", "Replay a recorded run, and check that it is the same."),
    Later("resume", "runs.resume:resume_command", "Go on with a recorded run that was killed."),
    Later("run", "runs.run:run_command", "Run a tool loop against a live server, and record it."),
    Later(
        "text-calls", "replies.text_calls:text_calls_command", "Find tool calls that a model wrote as text."
    ),
    Later("tools", "tools:tools_command", "Show the tools that a run would have."),
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
