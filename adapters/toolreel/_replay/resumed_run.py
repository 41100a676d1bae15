"""``resume``: continue a killed or paused run from its journal, or a conversation after its end.

Effects with a recorded event are not repeated. Those in progress when the process died are: the tool gets the
same idempotency key as the first time (:func:`~toolreel.tools._call_context.current_call`), and may act twice
if it ignores the key.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from toolreel._driver import (
    AsyncPerformer,
    Observer,
    Performer,
    Run,
    ago_on,
    aspeak,
    await_if_awaitable,
    go_on,
    immediately,
    speak,
)
from toolreel._journal import ReopenedJournal
from toolreel._replay.trace import join_runs, retrace

_Drive: TypeAlias = Callable[..., Run | Awaitable[Run]]


def resume(
    path: Path | str,
    performer: Performer,
    *,
    known_secrets: Mapping[str, str] | None = None,
    durable: bool = False,
    observe: Observer | None = None,
    say: str | None = None,
) -> Run:
    """Continue a recorded run until it ends or pauses; a run that has ended is returned as it is.

    A tool that was running when the process died runs again, with the same idempotency key.

    :param path: the journal, with or without the ``.part`` that a killed run leaves
    :param performer: performs the pending effects and all that follow
    :param known_secrets: secret values by name, which must not be written; by default, those in the
        environment variables. What the performer sends is not written either
    :param durable: whether each event is synced to disk (one ``fsync`` per event) before the run continues
    :param observe: called with each new note
    :param say: what the user says next: after the end of a run, it begins the next exchange in the same
        journal; otherwise it is sent with the next request
    :returns: the final state and the notes of the whole run
    :raises JournalError: if the journal is missing or unreadable, or another process is
        writing it
    :raises SecretFound: if an event contains a secret; it is not written
    :raises toolreel.ReplayMismatch: if a recorded event no longer fits the run; names its line
    """
    return immediately(_resume(path, performer, speak, go_on, known_secrets, durable, observe, say))


async def aresume(
    path: Path | str,
    performer: AsyncPerformer,
    *,
    known_secrets: Mapping[str, str] | None = None,
    durable: bool = False,
    observe: Observer | None = None,
    say: str | None = None,
) -> Run:
    """The async version of :func:`resume`, with the same parameters and errors."""
    return await _resume(path, performer, aspeak, ago_on, known_secrets, durable, observe, say)


async def _resume(
    path: Path | str,
    performer: Any,  # noqa: ANN401 - sync or async
    speak: _Drive,
    go_on: _Drive,
    known_secrets: Mapping[str, str] | None,
    durable: bool,
    observe: Observer | None,
    say: str | None,
) -> Run:
    named = Path(path)
    place = named.with_name(named.name.removesuffix(".part"))
    with ReopenedJournal(place, known_secrets=known_secrets, durable=durable) as journal:
        run = retrace(journal.recorded).run
        if say is not None:
            continued = speak(run, say, performer, journal=journal, observe=observe)
        elif run.state.outcome is None:
            continued = go_on(run.state, performer, journal=journal, observe=observe)
        else:
            return run
        return join_runs(run, await await_if_awaitable(continued))
