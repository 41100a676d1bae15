from __future__ import annotations

import pytest

from toolreel.presets import shipped
from toolreel.proxy import Route, Routes
from toolreel_core._settings import WireForm


@pytest.mark.parametrize(
    ("name", "form", "url"),
    [
        ("openai_responses", "responses", "http://nowhere.invalid/v1/responses"),
        ("anthropic_messages", "messages", "http://nowhere.invalid/v1/messages"),
    ],
)
def test_a_preset_of_another_wire_form_decides_where_requests_go(name: str, form: WireForm, url: str) -> None:
    route = Route("http://nowhere.invalid", preset=lambda _: shipped().get(name))
    assert Routes((route,)).profile(route, "m").provider.wire_form == form
    assert route.url(form) == url
