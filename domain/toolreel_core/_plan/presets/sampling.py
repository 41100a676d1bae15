"""Sampling profiles: named options of a request, and the models for which somebody recommends them."""

from __future__ import annotations

from dataclasses import dataclass

from toolreel_core._internal.tables import Table
from toolreel_core._jsontext.canonical import JsonText
from toolreel_core._plan.presets.model_names import means
from toolreel_core._plan.presets.preset import Preset, request_options


@dataclass(frozen=True, slots=True)
class SamplingProfile:
    """One profile."""

    name: str
    options: JsonText
    """A JSON object, such as ``{"temperature":0.6}``; empty: whatever the provider does by itself."""
    applies_to: tuple[str, ...] = ()
    """Patterns of the models that it is for; none: for all."""
    tags: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, tree: object) -> SamplingProfile:
        """A profile as a catalogue has it.

        :raises PlaceError: at the first thing that is wrong, such as ``sampling.mine.options``
        """
        table = Table.of(tree, "sampling", name).only("options", "applies_to", "tags")
        options = request_options(table.table("options"))
        return cls(name, options, table.names("applies_to"), table.names("tags"))

    def fits(self, model: str) -> bool:
        """Whether it is for a model.

        >>> from toolreel_core._jsontext.canonical import canonical
        >>> SamplingProfile("cool", canonical({"temperature": 0}), ("qwen/*",)).fits("z-ai/glm-4.7")
        False
        """
        return not self.applies_to or any(means(pattern, model) for pattern in self.applies_to)

    @property
    def preset(self) -> Preset:
        """The profile as a patch that can be merged over others."""
        return Preset(names=(self.name,), request=self.options)
