"""Going on with a run that was killed, or that rests, from its journal.

The events in it are folded, which says what the run still waits for; just that is performed, and the
answers go to the same journal, which ends as it would have without the interruption. Nothing whose
event was written is done again. What was under way when the process died is: a tool is told the same
idempotency key as the first time (:func:`~toolreel.tools._call_context.current_call`), and one that
makes no use of it may act twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from toolreel._driver.aio import ago_on
from toolreel._driver.ports import AsyncPerformer, Observer, Performer
from toolreel._driver.run import Run, outcome_of
from toolreel._driver.sync import go_on
from toolreel._journal.file import ReopenedJournal
from toolreel._replay.trace import retrace

__all__ = ["aresume", "resume"]


def resume(
    path: Path | str,
    performer: Performer,
    *,
    known_secrets: Mapping[str, str] | None = None,
    durable: bool = False,
    observe: Observer | None = None,
) -> Run:
    """Take a run to its end, or to where it has to rest; one that has ended is given back as it is.

    :param path: of its journal, with or without the ``.part`` that a killed run leaves it with
    :param performer: performs what the run still waits for, and all that follows
    :param known_secrets: values by name that must not be written
    :param durable: whether each event is on the disk before the run goes on
    :param observe: is shown what is decided from now on
    :raises JournalError: if the journal cannot be read or gone on with, or another process does so
    :raises toolreel.ReplayMismatch: if an event answers something else than it did; names its line
    """
    with ReopenedJournal(_named(path), known_secrets=known_secrets, durable=durable) as journal:
        begun = retrace(journal.recorded).run
        if outcome_of(begun) is not None:
            return begun
        gone = go_on(begun.state, performer, journal=journal, observe=observe)
        return Run(gone.state, begun.notes + gone.notes)


async def aresume(
    path: Path | str,
    performer: AsyncPerformer,
    *,
    known_secrets: Mapping[str, str] | None = None,
    durable: bool = False,
    observe: Observer | None = None,
) -> Run:
    """The same as :func:`resume`, awaited."""
    with ReopenedJournal(_named(path), known_secrets=known_secrets, durable=durable) as journal:
        begun = retrace(journal.recorded).run
        if outcome_of(begun) is not None:
            return begun
        gone = await ago_on(begun.state, performer, journal=journal, observe=observe)
        return Run(gone.state, begun.notes + gone.notes)


def _named(path: Path | str) -> Path:
    named = Path(path)
    return named.with_name(named.name.removesuffix(".part"))
