"""Makes the journals of conversations from their cassettes, as ``toolreel cassettes journal`` does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, NamedTuple, TypeAlias

from toolreel._internal import AdapterError
from toolreel._journal import sealed
from toolreel._replay import BEHIND_PROXY, recover_runs
from toolreel._secrets import known_secrets, leaks
from toolreel.cassette import Recording
from toolreel_core._errors import ToolreelError
from toolreel_core._jsontext import Json, canonical
from toolreel_core._plan import Preset, exact_config
from toolreel_core._proxy import Profile

Tell: TypeAlias = Callable[[Mapping[str, Json]], None]
"""Takes one entry of the log."""

_SECRET = "the journal would hold what looks like a secret"  # noqa: S105 - a sentence
_STOPPED: Final = "stopped before; the cassettes are whole, toolreel cassettes journal makes journals"
_EVERY: Final = 2.0
"""Seconds between two entries of the log that say how far it is."""
_LOOK: Final = 0.05
"""Seconds between two looks whether it is done."""


class JournalJob(NamedTuple):
    """A cassette that gets its journals, with the settings under which its replies were read."""

    name: str
    """Of the conversation."""
    path: Path
    """The cassette."""
    profile: Profile
    settings: Mapping[str, Any]
    """Of the loop; they take precedence."""

    def perform(self) -> str:
        """Write the journals next to the cassette, one a run; returns why there are none, or nothing."""
        config, provider = exact_config(self.profile.config), canonical(self.profile.provider.changes())
        preset = Preset((BEHIND_PROXY,), config=config, provider=provider)
        try:
            runs = recover_runs(Recording.load(self.path), preset=preset, settings=self.settings)
            secrets = known_secrets(os.environ)
            if any(leaks(one.recorded.text, secrets) for one in runs):
                return _SECRET
            for number, one in enumerate(runs, 1):
                self._write(number, sealed(one.recorded.text))
        except (ToolreelError, AdapterError, OSError) as error:
            return str(error)
        return ""

    def _write(self, number: int, content: bytes) -> None:
        """Write one journal whole or not at all, wherever the process ends."""
        plus = "" if number == 1 else f"+{number}"
        path = self.path.with_name(f"{self.name}{plus}.journal.jsonl")
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            draft.write_bytes(content)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


class JournalQueue:
    """Makes journals in a thread, in the order in which conversations end."""

    def __init__(self, tell: Tell) -> None:
        self._tell: Final = tell
        self._jobs: Final[SimpleQueue[JournalJob | None]] = SimpleQueue()
        self._thread: Thread | None = None
        self._hurried = False
        self._left = 0
        """Conversations that went without, since there was no time."""

    def add(self, job: JournalJob) -> None:
        """Make the journals of a conversation soon."""
        self._jobs.put(job)
        if self._thread is None:
            # A daemon: where nobody closes the queue, the cassettes are all that has to be there.
            self._thread = Thread(target=self._run, name="toolreel-journals", daemon=True)
            self._thread.start()

    def hurry(self) -> None:
        """Leave out the journals that are not made yet. It takes no lock: handlers of signals call it."""
        self._hurried = True

    def close(self) -> None:
        """Make what is left, and say now and then how far it is; then nothing more may come."""
        total, told_at = self._jobs.qsize(), time.monotonic()
        self._jobs.put(None)
        while self._thread is not None and self._thread.is_alive():
            self._thread.join(_LOOK)
            if time.monotonic() - told_at > _EVERY:
                told_at, done = time.monotonic(), max(0, total - self._jobs.qsize())
                self._tell({"is": "making journals", "done": done, "of": total})
        if self._left:
            self._tell({"is": "without a journal", "conversations": self._left, "why": _STOPPED})

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            if self._hurried:
                self._left += 1
            elif why := job.perform():
                self._tell({"conversation": job.name, "is": "without a journal", "why": why})
