from __future__ import annotations

import pytest

from toolreel_core._replies import failed_generation


def test_what_a_model_wrote_is_taken_from_the_refusal_of_its_server() -> None:
    refused = '{"error": {"code": "tool_use_failed", "failed_generation": "<function=ping>{}"}}'
    assert failed_generation(refused) == "<function=ping>{}"


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<html>",
        "[]",
        '{"error": "tool_use_failed"}',
        '{"error": {"code": "tool_use_failed"}}',
        '{"error": {"failed_generation": 7}}',
    ],
)
def test_any_other_refusal_holds_no_turn_of_the_model(body: str) -> None:
    assert failed_generation(body) is None
