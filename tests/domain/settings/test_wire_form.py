from __future__ import annotations

import pytest

from toolreel_core._settings import Provider, WireForm, form_of


@pytest.mark.parametrize(
    ("url", "form"),
    [
        ("https://api.anthropic.com/v1/messages?beta=true", "messages"),
        ("http://127.0.0.1:8080/v1/responses/", "responses"),
        ("http://127.0.0.1:8080/v1/chat/completions", "chat_completions"),
        ("http://127.0.0.1:8080/v1/models", "chat_completions"),
    ],
)
def test_the_path_says_the_form(url: str, form: WireForm) -> None:
    assert form_of(url) == form


def test_a_form_sets_what_it_decides_and_leaves_what_was_given() -> None:
    assert Provider(wire_form="messages").single_leading_system
    assert Provider(wire_form="messages").images_in_tool_results == "yes"
    assert Provider(wire_form="messages", images_in_tool_results="no").images_in_tool_results == "no"
    assert Provider() == Provider(wire_form="chat_completions")
    assert Provider.of(Provider(wire_form="messages").changes()) == Provider(wire_form="messages")
