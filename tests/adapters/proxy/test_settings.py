from __future__ import annotations

import pytest

from toolreel._internal.errors import ProxyConfigError
from toolreel.proxy import Route
from toolreel.proxy._settings import Routes


def test_a_preset_of_another_wire_form_is_refused() -> None:
    route = Route("http://nowhere.invalid", settings={"wire_form": "responses"})
    with pytest.raises(ProxyConfigError, match="speaks chat_completions, but the preset says responses"):
        Routes((route,)).profile(route, "m")
