"""Presets for tests: one from a few keys, and random ones."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from toolreel_core._plan import Preset


def preset(name: str = "mine", **tree: Any) -> Preset:  # noqa: ANN401 - whatever a catalogue may hold
    return Preset.of(name, tree)


_names = st.lists(st.sampled_from(["hermes_json", "json_fenced"]), max_size=2, unique=True)
_config = st.fixed_dictionaries(
    {},
    optional={
        "max_turns": st.integers(1, 5),
        "max_cost": st.none() | st.integers(1, 5),
        "tool_use_mode": st.sampled_from(["relaxed", "enforced"]),
        "text_dialects": _names | _names.map(lambda names: {"only": names}),
        "history_policies": st.just([]),
    },
)
_numbers = st.dictionaries(st.sampled_from("abc"), st.integers(), max_size=2)
_request = st.fixed_dictionaries(
    {}, optional={"temperature": st.floats(0, 2), "stop": st.lists(st.text()), "extra": _numbers}
)


@st.composite
def _presets(draw: st.DrawFn) -> Preset:
    sections: dict[str, Any] = {
        "config": draw(_config),
        "provider": draw(st.fixed_dictionaries({}, optional={"id_style": st.sampled_from(["keep", "kimi"])})),
        "request": draw(_request),
        "request_overrides": draw(st.fixed_dictionaries({}, optional={"provider": _numbers})),
    }
    name = draw(st.sampled_from(["one", "two", "three"]))
    declared = [key for section in sections.values() for key in section]
    reasoned = draw(st.lists(st.sampled_from(declared), unique=True)) if declared else []
    return preset(
        name,
        about=draw(st.sampled_from(["", "About."])),
        evidence=draw(st.lists(st.sampled_from("abc"), max_size=2, unique=True)),
        verified_on=draw(st.sampled_from(["", "2026-02-08", "2026-11-22"])),
        because=dict.fromkeys(reasoned, f"as {name} says"),
        **sections,
    )


presets: st.SearchStrategy[Preset] = _presets()
