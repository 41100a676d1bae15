"""``toolreel explain``: why a recorded run ended as it did, and what happened in one of its turns."""

from __future__ import annotations

from collections.abc import Iterable

import click

from toolreel._cli.output.console import counted, labelled, out
from toolreel._cli.output.errors import EPILOG, json_option, reporting, say
from toolreel._cli.runs.diff import show_changes
from toolreel._journal.format import opened
from toolreel._replay.explain.outcome import describe_outcome
from toolreel._replay.explain.sent_history import SentHistory, sent_history
from toolreel._replay.explain.why import Why, note_words, why
from toolreel._replay.retrace import Trace, Traced, retrace
from toolreel_core._jsontext.canonical import Json
from toolreel_core._protocol.effects import SendRequest
from toolreel_core._protocol.events import ReplyReceived


@click.command("explain", epilog=EPILOG, short_help="Say why a recorded run ended as it did.")
@click.argument("file", metavar="NAME")
@click.option(
    "--turn",
    type=click.IntRange(min=1),
    metavar="N",
    help="Show all of turn N: what was sent of the history, each event, and what the run decided upon it.",
)
@json_option
@reporting
def explain_command(file: str, turn: int | None, as_machine: bool) -> int:
    """Say why a recorded run ended as it did: the rule, the settings it reads, and what it judged.

    NAME is a recording, or a journal. Nothing is sent, and no tool runs.

    \b
    toolreel explain hello
    toolreel explain hello --turn 1
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    trace = retrace(opened(file))
    if turn is not None and turn > (last := max(1, trace.run.state.tally.turns)):
        raise click.BadParameter(f"the run has {counted(last, 'turn')}", param_hint="--turn")
    shown = [each for each in trace.events if turn is None or _turn_of(each) == turn]
    if as_machine:
        return say({**_why_tree(trace, why(trace)), "events": [_event_tree(each) for each in shown]})
    if turn is None:
        _show_why(trace, why(trace))
        _show_decisions(shown)
    else:
        _show_turn(shown)
    return 0


def _turn_of(traced: Traced) -> int:
    return max(1, traced.before.tally.turns)


def _show_why(trace: Trace, found: Why) -> None:
    outcome = trace.run.outcome
    words, hint = describe_outcome(outcome)
    labelled(out, "outcome", f"{outcome.name}: {words}", "bold green" if trace.run.completed else "bold red")
    labelled(out, "rule", found.rule.words)
    for name, value in found.values.items():
        labelled(out, "", f"{name} = {value!r}", "dim")
    if found.event:
        number, turn = found.event.record.n, _turn_of(found.event)
        labelled(out, "decided", f"upon event {number}, turn {turn}: {found.event.summary}")
        for note in found.event.notes:
            labelled(out, "", note_words(note), "dim")
    if hint:
        labelled(out, "hint", hint)


def _show_decisions(events: Iterable[Traced]) -> None:
    """Print each event in a line, so that ``--turn`` can be pointed at it."""
    for traced in events:
        labelled(out, f"turn {_turn_of(traced)}", traced.summary)


def _show_turn(events: Iterable[Traced]) -> None:
    for traced in events:
        if isinstance(traced.effect, SendRequest):
            _show_sent(sent_history(traced.before.messages.messages, traced.effect.request))
        labelled(out, f"event {traced.record.n}", traced.summary, "bold")
        for note in traced.notes:
            labelled(out, "", note_words(note), "dim")


def _show_sent(history: SentHistory) -> None:
    stored = counted(history.stored, "stored message")
    labelled(out, "sent", f"{counted(history.sent, 'message')}, of {stored}")
    if history.left_out:
        labelled(out, "", f"left out: {', '.join(map(str, history.left_out))}", "yellow")
    for number, changed in history.changed:
        labelled(out, "", f"message {number} is sent otherwise than it is stored:", "yellow")
        show_changes("", changed)
    for message in history.added:
        labelled(out, "", f"sent and not stored: {message}", "yellow")


def _why_tree(trace: Trace, found: Why) -> dict[str, Json]:
    words, hint = describe_outcome(trace.run.outcome)
    return {
        "outcome": trace.run.outcome.name,
        "words": words,
        "hint": hint,
        "rule": found.rule.words,
        "settings": {name: repr(value) for name, value in found.values.items()},
        "decided_at": found.event.record.n if found.event else None,
    }


def _event_tree(traced: Traced) -> Json:
    event = traced.record.event
    tree: dict[str, Json] = {
        "n": traced.record.n,
        "turn": _turn_of(traced),
        "kind": traced.record.kind,
        "summary": traced.summary,
        "notes": [note_words(note) for note in traced.notes],
    }
    if isinstance(traced.effect, SendRequest):
        tree |= {"sent": _sent_tree(sent_history(traced.before.messages.messages, traced.effect.request))}
    if isinstance(event, ReplyReceived):
        tree |= {"reply": str(event.body)}
    return tree


def _sent_tree(history: SentHistory) -> Json:
    return {
        "stored": history.stored,
        "sent": history.sent,
        "left_out": [*history.left_out],
        "changed": [
            {"message": number, "places": [[each.place, each.old, each.new] for each in changed]}
            for number, changed in history.changed
        ],
        "added": [*history.added],
    }
