"""The result of a probe."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from toolreel._internal import CatalogueError, read_toml
from toolreel.probe._toml import catalogue_text
from toolreel_core._plan import Preset, Presets
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
        chosen = name or self.name

        def build(tree: dict[str, object]) -> Preset:
            return Presets.of(tree).get(chosen)

        return read_toml("the probed preset", self.toml(chosen), build, CatalogueError)

    def toml(self, name: str = "") -> str:
        """The preset as a catalogue, for ``--preset FILE``."""
        evidence = [f"toolreel probe of {self.model}{f': {self.record.name}' if self.record else ''}"]
        about = f"{self.model}, as probed."
        tree = preset_tree(self.settings, about, self.day, evidence)
        if not self.day:
            tree = {key: value for key, value in tree.items() if key != "verified_on"}
        return catalogue_text(name or self.name, tree, _comments(self))

    def compare(self, preset: Preset) -> tuple[Compared, ...]:
        """The findings compared with another preset, differences first."""
        return compared(self.settings, preset)


def _comments(probed: Probed) -> Sequence[str]:
    lines = ["Made by `toolreel probe`. Use it with --preset and the name of this file."]
    lines += [f"Stopped early: {' '.join(probed.stopped.message.split())}"] if probed.stopped else []
    lines += [
        f"Not stable, so not set: {each.name}: {', '.join(f'{word} {n} times' for word, n in each.words)}."
        for each in probed.unstable
    ]
    return lines


def day_of(probing: Probing) -> str:
    """The day of the last answer, by the server's clock; empty if none says when it was created."""
    bodies = [each.observation.body for each in probing.tries if isinstance(each.observation, Answered)]
    created = [value for body in bodies if isinstance(value := body.get("created"), int)]
    sane = [value for value in created if _EARLIEST < value < _LATEST]
    return datetime.fromtimestamp(max(sane), UTC).date().isoformat() if sane else ""
