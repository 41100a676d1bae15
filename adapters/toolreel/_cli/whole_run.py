"""Print a whole run, once it has ended or rests, as text or JSON; ``progress`` shows one that goes on."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from toolreel._cli.console import complain, out, print_labelled
from toolreel._cli.errors import FAILED, INTERRUPTED, STOPPED, USAGE, print_json
from toolreel._driver import (
    Run,
    ServerAddress,
    outcome_in_words,
    run_statistics_as_text,
)
from toolreel._internal import AdapterError, count_with_noun
from toolreel._replay import MARKS, TurnLine, story, turn_lines
from toolreel._secrets import url_safe_to_log
from toolreel_core._conversation import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolMessage,
    UserMessage,
    readable_content,
)
from toolreel_core._jsontext import parse
from toolreel_core._protocol import Cancelled, Completed, encode

if TYPE_CHECKING:
    from toolreel._cli.options import LiveTarget

_ROLES: Mapping[type[Message], str] = {
    SystemMessage: "system",
    UserMessage: "user",
    AssistantMessage: "assistant",
    ToolMessage: "tool",
}


@dataclass(frozen=True, slots=True)
class EndedRun:
    run: Run
    saved: tuple[Path, ...] = ()
    refused: AdapterError | None = None
    """Why an event or the recording could not be written."""
    left: Path | None = None
    """The unfinished journal that was left, if something could not be written."""
    before: int = 0
    """Number of events that were recorded before it was continued."""
    new: int = 0
    """Number of events since then; 0 if the run had already ended."""
    cut: Path | None = None
    """Where an incomplete last line of the journal was moved, if there was one."""


def show_run(run: Run, *, as_machine: bool = False, extra: Mapping[str, object] | None = None) -> None:
    if as_machine:
        print_json(run_as_json(run, extra or {}))
        return
    show_plan(run)
    show_turns(run)
    show_outcome(run)


def show_plan(run: Run) -> None:
    plan = run.state.plan
    print_labelled("model", plan.model, "bold")
    print_labelled("plan", plan.digest[:16], "dim")
    if plan.tools.definitions:
        print_labelled("tools", ", ".join(plan.tools.names))
    for message in plan.messages:
        print_labelled(_ROLES[type(message)], readable_content(message))


_STYLES: Mapping[TurnLine, str] = {
    "call": "cyan",
    "result": "green",
    "failure": "red",
    "remark": "yellow",
    "answer": "bold",
}


def show_turns(run: Run) -> None:
    for turn in story(run):
        request = f"{count_with_noun(turn.messages, 'message')}, request {turn.digest[:16]}"
        print_labelled(f"turn {turn.number}", request, "dim")
        for kind, text in turn_lines(turn):
            label = kind if kind in {"user", "answer"} else ""
            print_labelled(label, text, _STYLES.get(kind, ""), mark=MARKS.get(kind, ""))


def show_outcome(run: Run) -> None:
    outcome = run.outcome
    if isinstance(outcome, Completed):
        print_labelled("answer", outcome.content, "bold")
        if outcome.value is not None:
            print_labelled("value", outcome.value, "bold")
    words = outcome_in_words(outcome).sentence
    print_labelled("outcome", f"{outcome.name}: {words}", "bold green" if run.completed else "bold red")
    print_labelled(
        "", ", ".join(f"{name} {text}" for name, text in run_statistics_as_text(run).items()), "dim"
    )


def show_saved_files(saved: Sequence[Path], console: Console = out) -> None:
    for path in saved:
        print_labelled("saved", str(path), console=console)
    if saved:
        print_labelled("", f"next: toolreel replay {shlex.quote(str(saved[0]))}", "dim", console=console)


def report_run_failure(run: Run, server: LiveTarget) -> int:
    if run.completed:
        return 0
    servers, name = server.servers, run.state.endpoint_name
    at = servers.get(name, servers[""])
    there = ServerAddress(url_safe_to_log(at.base_url or ""), at.api_key_env or "")
    words, hint, *_ = outcome_in_words(run.outcome, there)
    complain(words, hint=hint)
    return INTERRUPTED if run.outcome == Cancelled(STOPPED) else FAILED


def report_recorded_run_failure(live: EndedRun, server: LiveTarget) -> int:
    code = report_run_failure(live.run, server)
    return print_recording_error(live) if live.refused else code


def print_recording_error(live: EndedRun) -> int:
    """Say why a recording was not saved, and what continues an unfinished one; the exit code."""
    left, hint = live.left, ""
    if left:
        hint = f"what was recorded is in {left}: toolreel resume {shlex.quote(str(left))} continues the run"
    complain(f"the recording was not saved: {live.refused}", hint=hint)
    return USAGE


def run_as_json(run: Run, extra: Mapping[str, object]) -> Mapping[str, object]:
    """The run as a JSON object; ``outcome`` and ``detail`` are null while it waits."""
    outcome = run.state.outcome
    value = outcome.value if isinstance(outcome, Completed) else None
    return {
        "outcome": outcome.name if outcome else None,
        "completed": isinstance(outcome, Completed),
        "detail": encode(outcome),
        **({} if value is None else {"value": parse(value)}),
        "model": run.state.plan.model,
        "plan": run.state.plan.digest,
        "tally": {**asdict(run.state.tally), "cost": run.cost},
        "timing": {
            "total_ms": run.timing.total_ms,
            "model_ms": run.timing.model_ms,
            "tools_ms": run.timing.tools_ms,
            "waiting_ms": run.timing.waiting_ms,
            "took": [took._asdict() for took in run.timing.took],
        },
        "turns": story(run),
        **extra,
    }
