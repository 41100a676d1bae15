"""Work on recordings that no request waits for: done in a thread, once for all that has come in a while."""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition, Thread
from typing import Final

from toolreel.proxy._recording.conversations import Conversation

_PAUSE: Final = 1.0
"""Seconds in which what comes is gathered: a cassette is written as a whole, so a session of ten fast turns
is written once or twice instead of ten times."""


class Writer:
    """Saves conversations soon, and ends those that are over.

    :param save: writes the cassette of one
    :param end: writes what is left to do for one that is saved
    """

    def __init__(self, save: Callable[[Conversation], None], end: Callable[[Conversation], None]) -> None:
        self._save: Final = save
        self._end: Final = end
        self._changed: Final = Condition()
        self._due: dict[str, Conversation] = {}
        self._over: dict[str, Conversation] = {}
        self._closing = False
        self._closed = False
        self._thread: Thread | None = None

    def save(self, conversation: Conversation) -> None:
        """Save it soon; after the end at once, for a request that was not given the time to end before."""
        if self._closed:
            self._save(conversation)
            return
        with self._changed:
            first = self._idle
            self._due[conversation.name] = conversation
            self._wake(first=first)

    def end(self, conversation: Conversation) -> None:
        """End it, after it has been saved."""
        with self._changed:
            first = self._idle
            self._over[conversation.name] = conversation
            self._wake(first=first)

    def close(self) -> None:
        """Do all that is left; then nothing more is ended."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()
        self._closed = True

    @property
    def _idle(self) -> bool:
        return not self._due and not self._over

    def _wake(self, *, first: bool) -> None:
        """Wake the thread for the first of what comes; woken for each, it would hold up requests."""
        if self._thread is None:
            # A daemon: the writer closes it, at exit at the latest.
            self._thread = Thread(target=self._run, name="toolreel-recordings", daemon=True)
            self._thread.start()
        if first:
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._due or self._over or self._closing)
                self._changed.wait_for(lambda: self._closing, _PAUSE)
                due, self._due = self._due, {}
                over, self._over = self._over, {}
            if not due and not over:
                return
            for conversation in due.values():
                self._save(conversation)
            for conversation in over.values():
                self._end(conversation)
