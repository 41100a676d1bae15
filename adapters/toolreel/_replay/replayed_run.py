"""``replay``: run a recorded run again on any driver, and check that it is byte-identical."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from toolreel._driver import Run
from toolreel._internal import MissingExtra, count_with_noun
from toolreel._journal import (
    MemoryJournal,
    Recorded,
    journal_paths_of_cassette,
    read_journal,
    recording_files,
)
from toolreel._replay.journal_performer import AsyncRehearsal, Rehearsal
from toolreel.cassette import Change, changed_lines, first_change
from toolreel.tools import AsyncPythonTools, PythonTools, Toolbox, ToolLike
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import JsonText, parse
from toolreel_core._tools import ToolSurface

if TYPE_CHECKING:
    from toolreel.cassette import Session

Driver: TypeAlias = Literal["sync", "asyncio", "trio"]
DRIVERS: tuple[Driver, ...] = ("sync", "asyncio", "trio")

BEHIND_PROXY = "proxy"
"""The preset in the journals that the proxy makes of the conversations of other clients."""

Toolset: TypeAlias = Callable[[], Iterable[ToolLike]]
"""Makes new tools for a replay, since tools may keep state."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """The result of a replay that was byte-identical to its record."""

    run: Run
    recorded: Recorded
    cassette: Path | None
    """The cassette that answered the requests; ``None`` if the journal did."""
    driver: Driver

    @property
    def proof(self) -> str:
        """The result in one line: driver, number of events, digest of the journal."""
        events = count_with_noun(len(self.recorded.records), "event")
        return f"identical on {self.driver}: {events}, journal {self.recorded.digest[:16]}"


def replay(path: Path | str, *, driver: Driver = "sync", tools: Toolset | None = None) -> Replayed:
    """Replay a recorded run, without a network, and check that it makes the same journal again.

    :param path: a cassette, ``<name>.yaml`` or ``<name>``, with its journal ``<name>.journal.jsonl`` in the
        same folder; or a journal alone. Of a conversation behind the proxy, the journal is made from the
        cassette again, which must give the same one, and then replayed alone.
    :param tools: a function that returns the tools, which then run; by default, the journal has their results
    :raises toolreel.ReplayMismatch: if anything differs from the record; names the line and the difference
    :raises AdapterError: if a file is missing or unreadable, or an extra is not installed
    """
    cassette, journal_path = recording_files(Path(path))
    recorded = read_journal(journal_path)
    if cassette and BEHIND_PROXY in recorded.plan.presets:
        check_recovered_journals(cassette)
        cassette = None  # its requests are another client's, in words of its own
    journal, plan, sync = MemoryJournal(recorded.plan), recorded.plan, driver == "sync"
    host: Any = None
    if tools:
        given = [*tools()]
        check_tools_unchanged(recorded, Toolbox(given).surface)
        host = PythonTools(given) if sync else AsyncPythonTools(given)
    with ExitStack() as stack:
        endpoint: Any = None
        tape: Session | None = None
        if cassette:  # imported late: a journal alone is replayed without HTTP
            from toolreel._replay.recovered_runs import TapedEndpoint
            from toolreel.cassette import use_cassette

            tape = stack.enter_context(use_cassette(cassette))
            endpoint = TapedEndpoint(tape)
        playing = Rehearsal if sync else AsyncRehearsal
        rehearsal: Any = playing(recorded, endpoint=endpoint, tape=tape, tools=host)
        play = partial(rehearsal.play, plan, journal=journal)
        done = play() if sync else _run_async(driver, play)
        rehearsal.finish()
    check_same_lines(recorded.source, _lines_of_journal_text(recorded), journal.lines)
    return Replayed(done, recorded, cassette, driver)


def check_recovered_journals(cassette: Path) -> None:
    """Check that the cassette of another client still gives the journals that were made of it."""
    from toolreel._replay.recovered_runs import recover_runs
    from toolreel.cassette import Session

    recorded = [read_journal(path) for path in journal_paths_of_cassette(cassette)]
    plans = [each.plan for each in recorded]
    runs = recover_runs(Session(cassette), plans=plans, exact=False)
    if len(runs) < len(recorded):
        raise ReplayMismatch(
            f"{recorded[len(runs)].source}: its run is not in {cassette.name}; delete the journal"
        )
    for was, now in zip(recorded, runs, strict=True):
        check_same_lines(was.source, _lines_of_journal_text(was), _lines_of_journal_text(now.recorded))


def _run_async(driver: Driver, play: Callable[[], Coroutine[Any, Any, Run]]) -> Run:
    if driver == "asyncio":
        import asyncio

        return asyncio.run(play())
    try:
        import trio
    except ImportError:
        raise MissingExtra.of("trio", "trio") from None
    return trio.run(play)


def check_tools_unchanged(recorded: Recorded, given: ToolSurface) -> None:
    was, now = (
        {tool.name: {"description": tool.description, "parameters": parse(tool.parameters)} for tool in tools}
        for tools in (recorded.plan.tools.definitions, given.definitions)
    )
    for name, shown in was.items():
        if name not in now:
            there = f"there are: {', '.join(now)}" if now else "there are none"
            raise ReplayMismatch(f"{recorded.source}: the run had a tool {name!r}; {there}")
        if change := first_change(shown, now[name]):
            lines = "\n".join(changed_lines(change, "now:    "))
            raise ReplayMismatch(
                f"{recorded.source}: the tool {name!r} is not what the model was shown; {lines}\n"
                "If the change is meant, record the session again."
            )


def _lines_of_journal_text(recorded: Recorded) -> list[str]:
    return recorded.text.split("\n")[:-1]  # not splitlines(), which also breaks what a model wrote


def check_same_lines(
    source: object, was: Sequence[str], now: Sequence[str], allows: Callable[[int], bool] | None = None
) -> None:
    """:param allows: whether the event of this number may differ; the plan is number 0

    :raises toolreel.ReplayMismatch: names the first event that differs, and its first change
    """
    for number, (old, new) in enumerate(zip_longest(was, now)):
        if old == new or (allows and allows(number)):
            continue
        if old is None:
            why = f"the run continued after the {number - 1} recorded events"
        elif new is None:
            why = f"the run ended before recorded event {number}"
        else:
            first = first_change(parse(JsonText(old)), parse(JsonText(new))) or Change("", old, new)
            lines = "\n".join(changed_lines(first, "now:    "))
            why = f"event {number} is not the recorded one; {lines}"
        raise ReplayMismatch(f"{source}: {why}")
