from __future__ import annotations

from toolreel import Delta, LoopConfig, Plan, ReplyReceived, SendRequest
from toolreel.testing import Lost, ScriptedEndpoint, saying, streaming
from toolreel_core import start


def asked(*, streamed: bool) -> SendRequest:
    config = LoopConfig(stream="always" if streamed else "never")
    (effect,) = start(Plan.of(model="m", messages="hi", config=config)).effects
    assert isinstance(effect, SendRequest)
    return effect


def test_a_script_streams_its_replies_piece_by_piece() -> None:
    *pieces, event = ScriptedEndpoint([streaming("One, ", "two.")]).stream(asked(streamed=True))
    assert [piece.text for piece in pieces if isinstance(piece, Delta)] == ["One, ", "two."]
    assert isinstance(event, ReplyReceived)


def test_other_requests_and_failures_have_no_pieces() -> None:
    assert len([*ScriptedEndpoint([saying("One.")]).stream(asked(streamed=False))]) == 1
    assert len([*ScriptedEndpoint([Lost("connect", "down")]).stream(asked(streamed=True))]) == 1
