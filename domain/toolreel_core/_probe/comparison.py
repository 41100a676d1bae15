"""A probe compared with a preset: which settings the findings confirm, contradict or say nothing about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolreel_core._jsontext import Json
from toolreel_core._plan import Preset
from toolreel_core._probe.fitting import PROBED, SECTIONS, Setting

Standing: TypeAlias = Literal["agrees", "differs", "added", "not_probed"]
"""``added``: found, and the preset leaves it at its default; ``not_probed``: set by the preset, and a probe
could decide it, but no finding does."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One setting in both."""

    key: str
    """With its section, such as ``provider.id_style``."""
    standing: Standing
    preset: Json
    """Its value in the preset, or the default."""
    probed: Json = None
    """Its value by the findings; null where there are none."""
    because: str = ""


def compared(decided: Sequence[Setting], preset: Preset) -> tuple[Compared, ...]:
    """The settings that the findings decide or could, those that differ first."""
    changes = preset.changes()
    rows = [_row(each, changes[each.section]) for each in decided]
    found = {(each.section, each.key) for each in decided}
    left = [
        Compared(f"{section}.{key}", "not_probed", value)
        for section in SECTIONS
        for key, value in changes[section].items()
        if (section, key) in PROBED and (section, key) not in found
    ]
    order: tuple[Standing, ...] = ("differs", "added", "agrees", "not_probed")
    return tuple(sorted((*(row for row in rows if row), *left), key=lambda row: order.index(row.standing)))


def _row(setting: Setting, section: dict[str, Json]) -> Compared | None:
    """The row of a decided setting; ``None`` where both leave it at the default."""
    key = f"{setting.section}.{setting.key}"
    if setting.key not in section:
        # One word stands for the dialects that are marked, which are the only list that is not empty.
        default = ["marked"] if isinstance(setting.default, tuple) else setting.default
        return None if setting.is_default else Compared(key, "added", default, setting.value, setting.because)
    given = section[setting.key]
    standing: Standing = "agrees" if given == setting.value else "differs"
    return Compared(key, standing, given, setting.value, setting.because)
