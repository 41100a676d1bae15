from __future__ import annotations

import pytest

from toolreel_core._errors import ConfigError
from toolreel_core._plan.presets.preset import Preset
from toolreel_core._proxy.profile import Profile


def test_a_preset_of_another_wire_form_is_refused() -> None:
    preset = Preset.of("mine", {"provider": {"wire_form": "responses"}})
    with pytest.raises(ConfigError, match="speaks chat_completions, but the preset says responses"):
        Profile.of(preset)
