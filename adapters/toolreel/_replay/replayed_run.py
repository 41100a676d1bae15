"""``replay``: run a recorded run again on any driver, and check that it is byte-identical."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import count, takewhile, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from toolreel._driver import ImmediateEndpoint, Run
from toolreel._internal import MissingExtra
from toolreel._journal import MemoryJournal, Recorded, journal_path, read_journal, recording_files
from toolreel._replay.journal_performer import AsyncRehearsal, Rehearsal
from toolreel.cassette import first_change
from toolreel.tools import AsyncPythonTools, PythonTools, Toolbox, ToolLike
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import parse
from toolreel_core._tools import ToolSurface

if TYPE_CHECKING:
    from toolreel._replay.recovered_runs import TapedEndpoint
    from toolreel.cassette import Session

Driver: TypeAlias = Literal["sync", "asyncio", "trio"]
DRIVERS: Final[tuple[Driver, ...]] = ("sync", "asyncio", "trio")

BEHIND_PROXY: Final = "proxy"
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
        count = len(self.recorded.records)
        events = "1 event" if count == 1 else f"{count} events"
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
    journal, plan = MemoryJournal(recorded.plan), recorded.plan
    with ExitStack() as stack:
        taped, tape = _open_taped_endpoint(cassette, stack)
        given = [*tools()] if tools else None
        check_tools_unchanged(recorded, plan.tools if given is None else Toolbox(given).surface)
        if driver == "sync":
            host = None if given is None else PythonTools(given)
            rehearsal = Rehearsal(recorded, endpoint=taped, tape=tape, tools=host)
            done = rehearsal.play(plan, journal=journal)
            rehearsal.finish()
        else:
            ahost = None if given is None else AsyncPythonTools(given)
            endpoint = ImmediateEndpoint(taped) if taped else None
            arehearsal = AsyncRehearsal(recorded, endpoint=endpoint, tape=tape, tools=ahost)
            done = _run_async(driver, partial(arehearsal.play, plan, journal=journal))
            arehearsal.finish()
    _check_same_lines(recorded, journal.lines)
    return Replayed(done, recorded, cassette, driver)


def check_recovered_journals(cassette: Path) -> None:
    """Check that the cassette of another client still gives the journals that were made of it.

    :raises toolreel.ReplayMismatch: names the line and the difference
    """
    from toolreel._replay.recovered_runs import recover_runs
    from toolreel.cassette import Session

    first = journal_path(cassette)
    name = first.name.removesuffix(".journal.jsonl")
    # A conversation has several journals if its client has begun again.
    further = (first.with_name(f"{name}+{number}.journal.jsonl") for number in count(2))
    recorded = [read_journal(path) for path in (first, *takewhile(Path.exists, further))]
    plans = [each.plan for each in recorded]
    runs = recover_runs(Session(cassette), plans=plans, exact=False)
    if len(runs) < len(recorded):
        raise ReplayMismatch(
            f"{recorded[len(runs)].source}: its run is not in {cassette.name}; delete the journal"
        )
    for was, now in zip(recorded, runs, strict=True):
        _check_same_lines(was, _journal_lines(now.recorded))


def _run_async(driver: Literal["asyncio", "trio"], play: Callable[[], Coroutine[Any, Any, Run]]) -> Run:
    """The result of an async function on an event loop.

    :raises MissingExtra: if trio is not installed
    """
    if driver == "asyncio":
        import asyncio

        return asyncio.run(play())
    try:
        import trio
    except ImportError:
        raise MissingExtra.of("trio", "trio") from None
    return trio.run(play)


def _open_taped_endpoint(
    cassette: Path | None, stack: ExitStack
) -> tuple[TapedEndpoint, Session] | tuple[None, None]:
    """An endpoint that answers from a cassette, which has to be played to its end."""
    if cassette is None:
        return None, None
    from toolreel._replay.recovered_runs import TapedEndpoint
    from toolreel.cassette import use_cassette

    tape = stack.enter_context(use_cassette(cassette))
    return TapedEndpoint(tape), tape


def check_tools_unchanged(recorded: Recorded, given: ToolSurface) -> None:
    """Check that every recorded tool is unchanged; additional tools are allowed.

    :raises toolreel.ReplayMismatch: names the tool and its first change
    """
    now = {tool.name: tool for tool in given.definitions}
    for was in recorded.plan.tools.definitions:
        if was.name not in now:
            there = f"there are: {', '.join(now)}" if now else "there are none"
            raise ReplayMismatch(f"{recorded.source}: the run had a tool {was.name!r}; {there}")
        then, today = (
            {"description": tool.description, "parameters": parse(tool.parameters)}
            for tool in (was, now[was.name])
        )
        change = first_change(then, today)
        if change:
            raise ReplayMismatch(
                f"{recorded.source}: the tool {was.name!r} is not what the model was shown; first change: "
                f"{change.place}\n  recorded: {change.old}\n  now:      {change.new}\n"
                "If the change is meant, record the session again."
            )


def _journal_lines(recorded: Recorded) -> list[str]:
    return recorded.text.split("\n")[:-1]  # not splitlines(), which also breaks what a model wrote


def _check_same_lines(recorded: Recorded, lines: Sequence[str]) -> None:
    for number, (was, now) in enumerate(zip_longest(_journal_lines(recorded), lines), 1):
        if was == now:
            continue
        if was is None:
            what = "the replay has more events than the record"
        elif now is None:
            what = "the replay lacks this event"
        else:
            at = next(index for index, (old, new) in enumerate(zip_longest(was, now)) if old != new)
            around = slice(max(0, at - 40), at + 60)
            what = f"the replay differs from character {at + 1} on"
            what += f"\n  recorded …{was[around]}\n  replayed …{now[around]}"
        raise ReplayMismatch(f"{recorded.source}, line {number}: {what}")
