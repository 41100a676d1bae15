"""Makes the journals of a conversation from its cassette, as ``toolreel cassettes journal`` does.

A journal takes tens of milliseconds of nothing but Python, in which a thread would hold up every request that
is under way, so another process makes them. Each line that it reads is a job as JSON, each that it writes is
how it went: why there is no journal, an empty text if there is one, or ``null`` if it does not know a setting
of the job.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

from toolreel._internal import AdapterError
from toolreel._journal import sealed
from toolreel._replay import BEHIND_PROXY, recover_runs
from toolreel._secrets import known_secrets, leaks
from toolreel.cassette import Recording
from toolreel_core._errors import ConfigError, ToolreelError
from toolreel_core._jsontext import JsonText, canonical
from toolreel_core._plan import Preset, exact_config
from toolreel_core._proxy import Profile

_SECRET = "the journal would hold what looks like a secret"  # noqa: S105 - a sentence


@dataclass(frozen=True, slots=True)
class JournalJob:
    """A cassette that gets its journals, with the settings under which its replies were read.

    All of it is text, so that another process can do it.
    """

    name: str
    """Of the conversation."""
    path: Path
    """The cassette, from the root of the file system."""
    config: JsonText
    provider: JsonText
    settings: Mapping[str, Any]
    """Of the loop; they take precedence."""

    @classmethod
    def of(cls, name: str, path: Path, profile: Profile, settings: Mapping[str, Any]) -> Self:
        """The job for a conversation."""
        config, provider = exact_config(profile.config), canonical(profile.provider.changes())
        return cls(name, path.absolute(), config, provider, settings)

    @property
    def line(self) -> str:
        """It as JSON, for another process."""
        return f"{json.dumps({**asdict(self), 'path': str(self.path)})}\n"

    @classmethod
    def read(cls, line: str) -> Self:
        """Read :attr:`line`."""
        tree = json.loads(line)
        return cls(**{**tree, "path": Path(tree["path"])})

    @property
    def is_known(self) -> bool:
        """Whether this process has all that the settings name: programs register transforms of their own."""
        try:
            Profile.of(self._preset, self.settings)
        except ConfigError:
            return False
        return True

    def perform(self) -> str:
        """Write the journals next to the cassette, one a run; returns why there are none, or nothing."""
        try:
            runs = recover_runs(Recording.load(self.path), preset=self._preset, settings=self.settings)
            secrets = known_secrets(os.environ)
            if any(leaks(one.recorded.text, secrets) for one in runs):
                return _SECRET
            for number, one in enumerate(runs, 1):
                self._write(number, sealed(one.recorded.text))
        except (ToolreelError, AdapterError, OSError) as error:
            return str(error)
        return ""

    def _write(self, number: int, content: bytes) -> None:
        """Write one journal whole or not at all: a proxy that is stopped twice ends in the middle."""
        plus = "" if number == 1 else f"+{number}"
        path = self.path.with_name(f"{self.name}{plus}.journal.jsonl")
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            draft.write_bytes(content)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)

    @property
    def _preset(self) -> Preset:
        return Preset((BEHIND_PROXY,), config=self.config, provider=self.provider)


_NICE: Final = 10
"""How far it stands back while requests are served."""


class JournalProcess:
    """The process, which starts with its first job and ends with the context.

    :param stands_back: whether requests are being served, which come first
    """

    def __init__(self, *, stands_back: bool = False) -> None:
        self._nice: Final = _NICE if stands_back else 0
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_why: object) -> None:
        self._end()

    def perform(self, job: JournalJob) -> str | None:
        """Why there is no journal, empty if there is one; ``None`` if the process can't tell.

        That is so if it cannot be started, has ended, or lacks what only this process has registered.
        """
        try:
            process = self._process = self._process or _started(self._nice)
            if process.stdin is None or process.stdout is None:
                raise OSError("it has no pipes")
            process.stdin.write(job.line)
            process.stdin.flush()
            line = process.stdout.readline()
        except (OSError, ValueError):
            line = ""
        if not line.endswith("\n"):  # it has ended; the next job gets another
            self._end()
            return None
        said = json.loads(line)
        return said if isinstance(said, str) else None

    def kill(self) -> None:
        """End it at once; a journal that is being made is left out."""
        if self._process is not None:
            self._process.kill()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(OSError), process:  # closes its input, which ends it, and waits
                pass


def _started(nice: int) -> subprocess.Popen[str]:
    if getattr(sys, "frozen", False):  # the program would start itself instead of Python
        raise OSError("there is no Python to start")
    # The modules of this process, wherever it found them, but none of the folder that it happens to be in.
    paths = os.pathsep.join(path for path in sys.path if path)
    return subprocess.Popen(  # noqa: S603 - this program itself
        [sys.executable, "-P", "-m", __name__, str(nice)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths},
        encoding="utf-8",
    )


def main() -> None:
    """Do one job a line, until there are no more."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C goes to the whole group; the one that serves decides
    if hasattr(os, "nice"):
        os.nice(int(sys.argv[1]))
    for line in sys.stdin:
        job = JournalJob.read(line)
        sys.stdout.write(f"{json.dumps(job.perform() if job.is_known else None)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
