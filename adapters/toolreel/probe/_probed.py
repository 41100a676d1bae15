"""The result of a probe."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from toolreel_core._jsontext import Json, Tree
from toolreel_core._plan import Preset
from toolreel_core._probe import (
    Answered,
    Compared,
    Finding,
    Probing,
    Setting,
    Stopped,
    compared,
    findings,
    preset_tree,
    settings,
)

_BARE = re.compile(r"[A-Za-z0-9_-]+")
"""A key that TOML takes without quotes."""


def catalogue_text(name: str, preset: Tree, comments: Iterable[str] = ()) -> str:
    """A catalogue with one preset.

    >>> print(catalogue_text("mine", {"about": "Fast.", "provider": {"id_style": "kimi"}}, ["Made."]), end="")
    # Made.
    [preset.mine]
    about = "Fast."
    <BLANKLINE>
    [preset.mine.provider]
    id_style = "kimi"
    """
    return "\n".join([*(f"# {line}" for line in comments), *_table(f"preset.{_key(name)}", preset)]) + "\n"


def _table(place: str, table: Tree) -> Iterator[str]:
    yield f"[{place}]"
    for key, value in table.items():
        if not isinstance(value, Mapping):
            yield f"{_key(key)} = {_value(value)}"
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield ""
            yield from _table(f"{place}.{_key(key)}", value)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)


def _value(value: Json) -> str:
    """A value; TOML takes the strings of JSON, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


_EARLIEST: Final = 1_577_836_800
"""The year 2020: before, a server's clock is wrong."""
_LATEST: Final = 4_102_444_800


@dataclass(frozen=True, slots=True)
class Probed:
    """What a probe has found; every finding names its requests in the recording."""

    probing: Probing
    record: Path | None = None
    """The recording."""
    day: str = ""
    """The day of the answers, as ``YYYY-MM-DD``."""

    @property
    def model(self) -> str:
        """The model that was asked for."""
        return self.probing.model

    @property
    def stopped(self) -> Stopped | None:
        """Why it ended early; ``None`` if it did not."""
        return self.probing.stopped

    @property
    def findings(self) -> tuple[Finding, ...]:
        """One for each question that was answered, then what was observed in all answers."""
        return findings(self.probing)

    @property
    def unstable(self) -> tuple[Finding, ...]:
        """The findings about which repeated answers disagree; no setting hangs on them."""
        return tuple(each for each in self.findings if not each.stable)

    @property
    def settings(self) -> tuple[Setting, ...]:
        """What the findings decide, also where it is the default."""
        return settings(self.findings)

    @property
    def is_stable(self) -> bool:
        """Whether all answers agree on which a setting hangs."""
        return not any(each.decides for each in self.unstable)

    @property
    def name(self) -> str:
        """A name for the preset, from that of the model."""
        return re.sub(r"[^a-z0-9]+", "_", self.model.lower()).strip("_") or "probed"

    def preset(self, name: str = "") -> Preset:
        """The preset that fits: the settings that differ from the defaults."""
        return Preset.of(name or self.name, self._tree)

    def toml(self, name: str = "") -> str:
        """The preset as a catalogue, for ``--preset FILE``."""
        lines = ["Made by `toolreel probe`. Use it with --preset and the name of this file."]
        if self.stopped:
            lines.append(f"Stopped early: {' '.join(self.stopped.message.split())}")
        for each in self.unstable:
            words = ", ".join(f"{word} {n} times" for word, n in each.words)
            lines.append(f"Not stable, so not set: {each.name}: {words}.")
        return catalogue_text(name or self.name, self._tree, lines)

    @property
    def _tree(self) -> Tree:
        evidence = f"toolreel probe of {self.model}{f': {self.record.name}' if self.record else ''}"
        return preset_tree(self.settings, f"{self.model}, as probed.", self.day, [evidence])

    def compare(self, preset: Preset) -> tuple[Compared, ...]:
        """The findings compared with another preset, differences first."""
        return compared(self.settings, preset)


def day_of(probing: Probing) -> str:
    """The day of the last answer, by the server's clock; empty if none says when it was created."""
    bodies = [each.observation.body for each in probing.tries if isinstance(each.observation, Answered)]
    created = [value for body in bodies if isinstance(value := body.get("created"), int)]
    sane = [value for value in created if _EARLIEST < value < _LATEST]
    return datetime.fromtimestamp(max(sane), UTC).date().isoformat() if sane else ""
