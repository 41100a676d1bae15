from __future__ import annotations

import json

import pytest

from toolreel_core._conversation import AssistantMessage, encoded
from toolreel_core._jsontext import canonical


@pytest.mark.parametrize("signature", [{}, {"signature": ""}, {"signature": "c2ln"}])
def test_a_thought_goes_back_with_its_signature_alone(signature: dict[str, str]) -> None:
    thought = {"type": "thinking", "thinking": "Hm.", **signature}
    text = {"type": "text", "text": "Ho."}
    said = AssistantMessage("Ho.", (), canonical({"messages_blocks": [thought, text]}))
    sent = json.loads(encoded(said))["content"]
    assert sent == ([thought, text] if signature.get("signature") else [text])
