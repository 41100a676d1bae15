"""Makes the journals of one conversation from its cassette, as ``toolreel cassettes journal`` does."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from toolreel._internal import AdapterError
from toolreel._journal import sealed
from toolreel._replay import BEHIND_PROXY, recover_runs
from toolreel._secrets import known_secrets, leaks
from toolreel.cassette import Recording
from toolreel_core._errors import ConfigError, ToolreelError
from toolreel_core._jsontext import Json, JsonText, Tree, canonical
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

    @classmethod
    def of_tree(cls, tree: Mapping[str, Any]) -> Self:
        """Read :meth:`tree`."""
        return cls(tree["name"], Path(tree["path"]), tree["config"], tree["provider"], tree["settings"])

    @property
    def tree(self) -> Tree:
        """It as JSON."""
        settings: dict[str, Json] = {**self.settings}
        return {
            "name": self.name,
            "path": str(self.path),
            "config": self.config,
            "provider": self.provider,
            "settings": settings,
        }

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
