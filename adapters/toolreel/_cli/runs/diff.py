"""``toolreel diff``: show the first difference between two recorded runs, and what followed."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import Final

import click

from toolreel._cli.output.console import counted, labelled, out, printable
from toolreel._cli.output.errors import EPILOG, json_option, reporting, say
from toolreel._replay.explain.run_diff import Aspect, Difference, Divergence, Side, TurnPair, diff
from toolreel._replay.retrace import cut
from toolreel.cassette._request_diff import Change, clipped

_DIFFERENT: Final = 1
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


@click.command("diff", epilog=EPILOG, short_help="Show where two recorded runs differ.")
@click.argument("a")
@click.argument("b")
@json_option
@reporting
def diff_command(a: str, b: str, as_machine: bool) -> int:
    """Show where two recorded runs differ: in their plans, in the first event, and turn by turn.

    A and B are journals, or cassettes with their journals next to them. Differences that the loop does
    not act on (call ids, times, token counts) are ignored. Exits with 1 if the runs differ.

    \b
    toolreel fork hello --at 0 --set temperature=1 --recorded --record warmer
    toolreel diff hello warmer
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    difference = diff(a, b)
    if as_machine:
        say(difference.tree())
    else:
        _show(difference)
    return 0 if difference.same else _DIFFERENT


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


def _show(difference: Difference) -> None:
    for name, side in (("a", difference.a), ("b", difference.b)):
        labelled(out, name, f"{side.source}: {counted(side.events, 'event')}, {side.outcome}")
    show_changes("plan", difference.plan)
    if difference.first:
        _show_first(difference.first)
    if difference.same:
        labelled(out, "same", "no difference that the loop acts on", "bold green")
    if difference.other_bytes:
        numbers = ", ".join(map(str, difference.other_bytes))
        labelled(out, "", f"ignored differences in events {numbers}: ids, times, token counts", "dim")
    if not difference.same:
        _show_turns(difference.turns)
        _show_tally(difference.a, difference.b)
        style = "bold" if difference.a.outcome == difference.b.outcome else "bold red"
        labelled(out, "outcome", f"{difference.a.outcome} | {difference.b.outcome}", style)


def _show_first(first: Divergence) -> None:
    labelled(out, "differs at", f"event {first.n}, turn {first.turn}: {_ASPECTS[first.aspect]}", "bold")
    labelled(out, "", first.a, mark="a ")
    labelled(out, "", first.b, mark="b ")
    show_changes("", first.changes)


def _show_turns(turns: Iterable[TurnPair]) -> None:
    """Print calls and results side by side; an identical turn is printed once."""
    width = max(_NARROWEST, (out.width - _MARGIN - len(_GAP)) // 2) if out.is_terminal else _WIDE
    _show_row("turn", "a", "b", width, "bold blue")
    for turn in turns:
        other = ("the same",) if turn.same else turn.b
        for index, (a, b) in enumerate(zip_longest(turn.a, other, fillvalue="")):
            label = "" if index else f"turn {turn.number}"
            _show_row(label, a, b, width, "dim" if turn.same else "")


def _show_row(label: str, a: str, b: str, width: int, style: str) -> None:
    left, right = (cut(printable(text), width) for text in (a, b))
    out.print(f"{label:<{_MARGIN}}{left:<{width}}{_GAP}{right}".rstrip(), style=style)


def _show_tally(a: Side, b: Side) -> None:
    changed = [f"{key} {a.tally[key]} | {b.tally[key]}" for key in a.tally if a.tally[key] != b.tally[key]]
    if changed:
        labelled(out, "tally", ", ".join(changed), "dim")
