"""``toolreel explain``: why a recorded run ended as it did, or where two runs differ."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import Final

import click

from toolreel._cli.console import labelled, out, printable
from toolreel._cli.errors import EPILOG, FAILED, json_option, reporting, say
from toolreel._driver import describe_outcome
from toolreel._internal import counted
from toolreel._journal import opened
from toolreel._replay import (
    Aspect,
    Difference,
    Trace,
    Traced,
    cut,
    deciding_event,
    diff,
    note_line,
    retrace,
    rule_of,
    sent_history,
    warnings_of,
)
from toolreel.cassette import Change, clipped
from toolreel_core._jsontext import Json
from toolreel_core._protocol import ReplyReceived, SendRequest

_MAX_CHANGES: Final = 12
"""Changed places shown per event."""
_MARGIN: Final = 12
_GAP: Final = "  "
_NARROWEST: Final = 20
_WIDE: Final = 60
"""Width of a column when the output is not a terminal."""
_ASPECTS: Final[dict[Aspect, str]] = {
    "wanted": "the runs request something different",
    "told": "same request, different answer",
    "end": "one run continues, the other ends",
}


@click.command("explain", epilog=EPILOG)
@click.argument("file", metavar="NAME")
@click.argument("other", metavar="[OTHER]", required=False)
@click.option(
    "--turn",
    type=click.IntRange(min=1),
    metavar="N",
    help="Show all of turn N: what was sent of the history, each event, and what the run decided upon it.",
)
@json_option
@reporting
def explain_command(file: str, other: str | None, turn: int | None, as_machine: bool) -> int:
    """Say why a recorded run ended as it did: the rule, the settings it reads, and what it judged.

    NAME is a recording, or a journal. With OTHER, it shows where the two runs differ: in their plans, in the
    first event, and turn by turn. Differences that the loop does not act on (call ids, times, token counts)
    are ignored; it exits with 1 if the runs differ. Nothing is sent, and no tool runs.

    \b
    toolreel explain hello
    toolreel explain hello --turn 1
    toolreel fork hello --at 0 --set temperature=1 --recorded --record warmer
    toolreel explain hello warmer
    """
    if other is not None:
        if turn is not None:
            raise click.UsageError("--turn shows a turn of one run: leave out OTHER, or --turn")
        return _explain_two(diff(file, other), as_machine=as_machine)
    trace = retrace(opened(file))
    if turn is not None and turn > (last := max(1, trace.run.state.tally.turns)):
        raise click.BadParameter(f"the run has {counted(last, 'turn')}", param_hint="--turn")
    events = [each for each in trace.events if turn is None or _turn_of(each) == turn]
    if as_machine:
        return say({**_outcome_tree(trace), "events": [_event_tree(each) for each in events]})
    if turn is not None:
        _show_turn(events)
        return 0
    _show_outcome(trace)
    for traced in events:  # each in a line, so that --turn can be pointed at it
        labelled(out, f"turn {_turn_of(traced)}", traced.summary)
    return 0


def _turn_of(traced: Traced) -> int:
    return max(1, traced.before.tally.turns)


def _show_outcome(trace: Trace) -> None:
    outcome, config = trace.run.outcome, trace.run.state.plan.config
    words, hint = describe_outcome(outcome)
    rule = rule_of(outcome, config)
    labelled(out, "outcome", f"{outcome.name}: {words}", "bold green" if trace.run.completed else "bold red")
    labelled(out, "rule", rule.words)
    for name, value in rule.values(config).items():
        labelled(out, "", f"{name} = {value}", "dim")
    if decided := deciding_event(trace):
        where = f"upon event {decided.record.n}, turn {_turn_of(decided)}"
        labelled(out, "decided", f"{where}: {decided.summary}")
        for note in decided.notes:
            labelled(out, "", note_line(note), "dim")
    if advice := rule.advice(hint):
        labelled(out, "hint", advice)
    for level, text, turns in warnings_of(trace.run):
        where = f" (turn {', '.join(map(str, turns))})" if turns else ""
        labelled(out, "warning", f"{text}{where}", "red" if level == "bad" else "yellow")


def _outcome_tree(trace: Trace) -> dict[str, Json]:
    outcome, config = trace.run.outcome, trace.run.state.plan.config
    words, hint = describe_outcome(outcome)
    rule, decided = rule_of(outcome, config), deciding_event(trace)
    warnings = warnings_of(trace.run)
    return {
        "outcome": outcome.name,
        "words": words,
        "hint": rule.advice(hint),
        "rule": rule.words,
        "settings": {**rule.values(config)},
        "warnings": [{"level": level, "words": text, "turns": [*turns]} for level, text, turns in warnings],
        "decided_at": decided.record.n if decided else None,
    }


def _show_turn(events: Iterable[Traced]) -> None:
    for traced in events:
        if isinstance(traced.effect, SendRequest):
            history = sent_history(traced.before.messages, traced.effect.request)
            stored = counted(history.stored, "stored message")
            labelled(out, "sent", f"{counted(history.sent, 'message')}, of {stored}")
            if history.left_out:
                labelled(out, "", f"left out: {', '.join(map(str, history.left_out))}", "yellow")
            for number, changed in history.changed:
                labelled(out, "", f"message {number} is sent otherwise than it is stored:", "yellow")
                show_changes("", changed)
            for message in history.added:
                labelled(out, "", f"sent and not stored: {message}", "yellow")
        labelled(out, f"event {traced.record.n}", traced.summary, "bold")
        for note in traced.notes:
            labelled(out, "", note_line(note), "dim")


def _event_tree(traced: Traced) -> Json:
    event = traced.record.event
    tree: dict[str, Json] = {
        "n": traced.record.n,
        "turn": _turn_of(traced),
        "kind": traced.record.kind,
        "summary": traced.summary,
        "notes": [note_line(note) for note in traced.notes],
    }
    if isinstance(traced.effect, SendRequest):
        history = sent_history(traced.before.messages, traced.effect.request)
        tree["sent"] = {
            "stored": history.stored,
            "sent": history.sent,
            "left_out": [*history.left_out],
            "changed": [
                {"message": number, "places": [[each.place, each.old, each.new] for each in changed]}
                for number, changed in history.changed
            ],
            "added": [*history.added],
        }
    if isinstance(event, ReplyReceived):
        tree["reply"] = str(event.body)
    return tree


def show_changes(label: str, changes: tuple[Change, ...]) -> None:
    """Print each changed place with its old and new value."""
    for change in changes[:_MAX_CHANGES]:
        old, new = clipped(change.old, change.new)
        labelled(out, label, change.place or "everything")
        labelled(out, "", old, "red", mark="- ")
        labelled(out, "", new, "green", mark="+ ")
        label = ""
    if len(changes) > _MAX_CHANGES:
        labelled(out, "", f"and {len(changes) - _MAX_CHANGES} more places", "dim")


def _explain_two(difference: Difference, *, as_machine: bool) -> int:
    if as_machine:
        say(difference.tree())
        return 0 if difference.same else FAILED
    a, b = difference.a, difference.b
    for name, side in (("a", a), ("b", b)):
        labelled(out, name, f"{side.source}: {counted(side.events, 'event')}, {side.outcome}")
    show_changes("plan", difference.plan)
    if first := difference.first:
        labelled(out, "differs at", f"event {first.n}, turn {first.turn}: {_ASPECTS[first.aspect]}", "bold")
        labelled(out, "", first.a, mark="a ")
        labelled(out, "", first.b, mark="b ")
        show_changes("", first.changes)
    if difference.same:
        labelled(out, "same", "no difference that the loop acts on", "bold green")
    if difference.other_bytes:
        numbers = ", ".join(map(str, difference.other_bytes))
        labelled(out, "", f"ignored differences in events {numbers}: ids, times, token counts", "dim")
    if difference.same:
        return 0
    width = max(_NARROWEST, (out.width - _MARGIN - len(_GAP)) // 2) if out.is_terminal else _WIDE

    def show_row(label: str, a: str, b: str, style: str) -> None:
        left, right = (cut(printable(text), width) for text in (a, b))
        out.print(f"{label:<{_MARGIN}}{left:<{width}}{_GAP}{right}".rstrip(), style=style)

    show_row("turn", "a", "b", "bold blue")
    for turn in difference.turns:  # an identical one is printed once
        lines = zip_longest(turn.a, ("the same",) if turn.same else turn.b, fillvalue="")
        for index, (left, right) in enumerate(lines):
            show_row("" if index else f"turn {turn.number}", left, right, "dim" if turn.same else "")
    if changed := [
        f"{key} {a.tally[key]} | {b.tally[key]}" for key in a.tally if a.tally[key] != b.tally[key]
    ]:
        labelled(out, "tally", ", ".join(changed), "dim")
    labelled(out, "outcome", f"{a.outcome} | {b.outcome}", "bold" if a.outcome == b.outcome else "bold red")
    return FAILED
