"""``toolreel replay``, ``demo``, ``explain``, ``view`` and ``export``: what is recorded, proved and shown."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import redirect_stdout, suppress
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolreel._cli.console import err, out, print_labelled, printable, show_columns
from toolreel._cli.errors import FAILED, command, current_project_settings, json_option
from toolreel._cli.options import (
    FILE_PATH,
    Decorator,
    Texts,
    overwrite_option,
    port_option,
    tools_option,
)
from toolreel._cli.whole_run import show_run
from toolreel._internal import AdapterError, count_with_noun, open_in_browser
from toolreel._journal import load_recorded_run
from toolreel._replay import (
    DRIVERS,
    EXPORT_SUFFIXES,
    Aspect,
    Difference,
    Driver,
    Format,
    NumberedItems,
    Traced,
    deciding_event,
    diff,
    explain_outcome,
    export_text,
    note_line,
    replay,
    retrace,
    run_warnings,
    shorten_line,
)
from toolreel.cassette import Change, changes, clip_around_difference
from toolreel_core._jsontext import JsonText, parse
from toolreel_core._protocol import SendRequest

if TYPE_CHECKING:
    from toolreel.tools import ToolLike
    from toolreel_core._conversation import Transcript
    from toolreel_core._plan import Request


@command("replay")
@click.argument("file", type=FILE_PATH)
@click.option(
    "--driver",
    type=click.Choice(DRIVERS),
    default="sync",
    help="Run the loop with blocking calls, or on an event loop.",
)
@tools_option("Run these tools instead of taking their results from the journal. Repeatable.")
@json_option
def replay_command(file: Path, driver: Driver, tool_names: Texts, as_machine: bool) -> int:
    """Replay a recorded run without network, and check that it is byte-identical.

    FILE is a cassette (NAME.yaml, or just NAME, with NAME.journal.jsonl next to it) or a journal, which
    then also supplies the model's replies. If a request or an event differs from the recording, the
    command prints the first difference and exits with 3.

    \b
    toolreel run "Hello" --model m --base-url http://127.0.0.1:8080 --record hello
    toolreel replay hello
    """
    tools: list[ToolLike] = []
    if tool_names:
        # Most replays take their results from the journal.
        from toolreel.tools import load_tools

        tools = load_tools(tool_names)
    with redirect_stdout(sys.stderr):
        replayed = replay(file, driver=driver, tools=(lambda: tools) if tools else None)
    extra = {"driver": driver, "identical": True}
    show_run(replayed.run, as_machine=as_machine, extra={"replay": extra})
    if not as_machine:
        print_labelled("replay", replayed.proof, "green")
    return 0


@command("demo")
@click.option(
    "--driver",
    type=click.Choice(DRIVERS),
    help="Replay on this driver only; by default on all that are installed.",
)
@json_option
def demo_command(driver: Driver | None, as_machine: bool) -> int:
    """Replay a recorded session of a real model: no network, no key.

    The session was recorded with Qwen2.5-Coder-1.5B on a local llama.cpp server. The replies come from
    the cassette, the tools are executed, and every event must equal the recorded journal.

    \b
    toolreel demo
    """
    from toolreel.demo import demo_cassette, demo_drivers, workspace

    cassette = demo_cassette()
    chosen: list[Driver] = [driver] if driver else demo_drivers()
    replays = [replay(cassette, driver=each, tools=workspace) for each in chosen]
    drivers = [each.driver for each in replays]
    show_run(replays[0].run, as_machine=as_machine, extra={"replay": {"drivers": drivers, "identical": True}})
    if not as_machine:
        for replayed in replays:
            print_labelled("replay", replayed.proof, "green")
        print_labelled("", "next: toolreel run --help", "dim")
    return 0


# ``toolreel explain``: why a recorded run ended as it did, or where two runs differ.


_MAX_CHANGES = 12
_MARGIN = 13
"""Of the columns of two runs: the number of a turn, and the gaps."""
_NARROWEST = 20
_WIDE = 60
"""Width of a column when the output is not a terminal."""
_ASPECTS: dict[Aspect, str] = {
    "wanted": "the runs request something different",
    "told": "same request, different answer",
    "end": "one run continues, the other ends",
}


@command("explain")
@click.argument("file", metavar="NAME")
@click.argument("other", metavar="[OTHER]", required=False)
@click.option(
    "--turn",
    type=click.IntRange(min=1),
    metavar="N",
    help="Show all of turn N: what was sent of the history, each event, and what the run decided upon it.",
)
def explain_command(file: str, other: str | None, turn: int | None) -> int:
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
        return _show_run_difference(diff(file, other))
    trace = retrace(load_recorded_run(file))
    if turn is not None:
        if turn > (last := max(1, trace.run.state.tally.turns)):
            raise click.BadParameter(f"the run has {count_with_noun(last, 'turn')}", param_hint="--turn")
        _show_turn(each for each in trace.events if each.turn == turn)
        return 0
    run, decided = trace.run, deciding_event(trace)
    words, settings = explain_outcome(run)
    print_labelled(
        "outcome", f"{run.outcome.name}: {words.sentence}", "bold green" if run.completed else "bold red"
    )
    print_labelled("rule", words.rule)
    for name, value in settings.items():
        print_labelled("", f"{name} = {value}", "dim")
    if decided:
        print_labelled("decided", f"upon event {decided.record.n}, turn {decided.turn}: {decided.summary}")
        for note in decided.notes:
            print_labelled("", note_line(note), "dim")
    if words.hint:
        print_labelled("hint", words.hint)
    for level, text, turns in run_warnings(run):
        where = f" (turn {', '.join(map(str, turns))})" if turns else ""
        print_labelled("warning", f"{text}{where}", "red" if level == "bad" else "yellow")
    for traced in trace.events:  # each in a line, so that --turn can be pointed at it
        print_labelled(f"turn {traced.turn}", traced.summary)
    return 0


def _show_turn(events: Iterable[Traced]) -> None:
    items = NumberedItems()
    for traced in events:
        if isinstance(traced.effect, SendRequest):
            _show_sent_messages(items, traced.effect.request, traced.before.messages)
        print_labelled(f"event {traced.record.n}", traced.summary, "bold")
        for note in traced.notes:
            print_labelled("", note_line(note), "dim")


_SENDINGS = {
    "added": "sent and not stored: {text}",
    "left_out": "message {number} is left out",
    "changed": "message {number} is sent otherwise than it is stored:",
}


def _show_sent_messages(items: NumberedItems, request: Request, stored: Transcript) -> None:
    ranges, at = items.sent_ranges(request, stored), 1
    texts = [*map(JsonText, items.texts)]
    of = sum(each.length for each in ranges if each.sending != "added")
    print_labelled(
        "sent",
        f"{count_with_noun(len(request.sent.texts), 'message')}, of {count_with_noun(of, 'stored message')}",
    )
    for sending, was, now, count, _ in ranges:
        for number in range(count) if sending != "same" else ():
            told = _SENDINGS[sending].format(number=at + number, text=texts[now + number])
            print_labelled("", told, "yellow")
            if sending == "changed":
                show_changes("", tuple(changes(parse(texts[was + number]), parse(texts[now + number]))))
        at += 0 if sending == "added" else count


def show_changes(label: str, found: tuple[Change, ...]) -> None:
    for change in found[:_MAX_CHANGES]:
        old, new = clip_around_difference(change.old, change.new)
        print_labelled(label, change.place or "everything")
        print_labelled("", old, "red", mark="- ")
        print_labelled("", new, "green", mark="+ ")
        label = ""
    if len(found) > _MAX_CHANGES:
        print_labelled("", f"and {len(found) - _MAX_CHANGES} more places", "dim")


def _show_run_difference(difference: Difference) -> int:
    a, b = difference.a, difference.b
    for name, side in (("a", a), ("b", b)):
        print_labelled(name, f"{side.source}: {count_with_noun(side.events, 'event')}, {side.outcome}")
    show_changes("plan", difference.plan)
    if first := difference.first:
        print_labelled("differs at", f"event {first.n}, turn {first.turn}: {_ASPECTS[first.aspect]}", "bold")
        print_labelled("", first.a, mark="a ")
        print_labelled("", first.b, mark="b ")
        show_changes("", first.changes)
    if difference.same:
        print_labelled("same", "no difference that the loop acts on", "bold green")
        return 0
    width = max(_NARROWEST, (out.width - _MARGIN) // 2) if out.is_terminal else _WIDE
    rows = []
    for turn in difference.turns:  # an identical one is printed once
        lines = zip_longest(turn.a, ("the same",) if turn.same else turn.b, fillvalue="")
        for index, pair in enumerate(lines):
            left, right = (shorten_line(printable(text), width) for text in pair)
            rows.append(("" if index else f"turn {turn.number}", left, right))
    show_columns(("turn", "a", "b"), rows)
    print_labelled("outcome", f"{a.outcome} | {b.outcome}", "bold" if a.outcome == b.outcome else "bold red")
    return FAILED


# ``toolreel view``: the list of recordings, a recorded run, or two of them side by side, as pages.


@command("view")
@click.argument("file", metavar="[NAME]", required=False)
@click.argument("other", metavar="[OTHER]", required=False)
@click.option(
    "-o",
    "--out",
    "page",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where the page goes.  [default: NAME.html in this folder]",
)
@click.option(
    "--open/--no-open",
    "opens",
    default=True,
    help="Open the page in the browser, where there is a display.",
)
@port_option("Port of the list on 127.0.0.1.  [default: any free one]")
def view_command(
    file: str | None, other: str | None, page: Path | None, opens: bool, port: int | None
) -> int:
    """Show a recorded run as a page: how it ended and why, then every turn.

    NAME is a recording, a journal, or a cassette of another client. The page is one self-contained HTML file:
    it has what was repaired, retried or refused, what was sent of the stored history, replies, calls, results
    and times. With OTHER, it shows both runs, and where they part.

    If NAME is a folder, a page lists the recordings below it, and opens each. Without NAME, the folder is
    `recordings` of [tool.toolreel] in pyproject.toml, or this one. Its server listens on 127.0.0.1
    alone, changes nothing, and answers anyone who has the token in the printed address. Ctrl-C ends it.

    \b
    toolreel view
    toolreel view hello
    toolreel view hello warmer -o both.html --no-open
    """
    if file is None or (other is None and Path(file).is_dir()):
        if page:
            raise click.UsageError("--out is for the page of a run: name one")
        from toolreel._replay import ListServer

        folder = file or next(iter(current_project_settings().texts("recordings")), ".")
        server = ListServer(Path(folder), port or 0)
        out.print(server.address)
        out.file.flush()
        err.print("Stop with Ctrl-C.")
        if opens:
            open_in_browser(server.address)
        with suppress(KeyboardInterrupt):  # the way to end it
            server.serve()
        return 0
    if port is not None:
        raise click.UsageError("--port is for the list of recordings: leave out NAME, or --port")
    from toolreel._replay import recording_name, recording_page, write_page

    text = recording_page(file, other)
    names = [Path(recording_name(each)).name for each in (file, other) if each]
    target = page or Path(f"{'--'.join(names)}.html")
    write_page(target, text)
    if opens:
        open_in_browser(target.resolve().as_uri())
    out.print(f"{target}  {len(text.encode()):,} bytes")
    return 0


# ``toolreel export``: a recorded run in the format of another tool.


def export_options(default: str) -> Decorator:
    place = click.option(
        "-o",
        "--out",
        "target",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help=f"Where it goes.  [default: {default}, in this folder]",
    )
    return lambda command: place(overwrite_option()(command))


@command("export")
@click.argument("file", metavar="NAME")
@click.option(
    "--format",
    "form",
    type=click.Choice([*EXPORT_SUFFIXES]),
    required=True,
    help="openai: the messages as JSON. markdown: a transcript. inspect: a log of Inspect with one sample.",
)
@export_options("the run's name with the suffix of the format")
def export_command(file: str, form: Format, target: Path | None, overwrite: bool) -> int:
    """Write a recorded run in the format of another tool: NAME is a recording, or a journal.

    `toolreel cassettes export` writes a cassette for stock vcrpy.

    \b
    toolreel export hello --format markdown
    toolreel export hello --format openai -o messages.json
    """
    name = Path(file).name.removesuffix(".journal.jsonl").removesuffix(".yaml")
    text = export_text(retrace(load_recorded_run(file)), form, name)
    return write_export(text, name, target or Path(f"{name}{EXPORT_SUFFIXES[form]}"), overwrite=overwrite)


def write_export(text: str, name: str, path: Path, *, overwrite: bool) -> int:
    try:
        with path.open(
            "w" if overwrite else "x", encoding="utf-8", errors="backslashreplace", newline="\n"
        ) as file:
            file.write(text)
    except FileExistsError:
        raise AdapterError(f"{path} exists already: name another, or overwrite it (--overwrite)") from None
    except OSError as error:
        raise AdapterError(f"{path}: it cannot be written there: {error.strerror}") from None
    print_labelled("exported", f"{name} → {path}")
    return 0
