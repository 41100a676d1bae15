from __future__ import annotations

from typing import Any, get_args

from toolreel_core._jsontext import JsonText
from toolreel_core._protocol import Completed, Outcome

KINDS: tuple[type[Any], ...] = get_args(Outcome)


def test_every_way_to_end_has_a_name_of_its_own() -> None:
    assert {kind.__name__: kind.name for kind in KINDS} == {
        "Completed": "completed",
        "InvalidOutput": "invalid_output",
        "EmptyFinal": "empty_final",
        "MaxTurns": "max_turns",
        "NoToolCalls": "no_tool_calls",
        "ToolFailed": "tool_error",
        "RepeatedCall": "repeated_call",
        "BudgetSpent": "budget",
        "ConversationSpent": "conversation_budget",
        "CostUnknown": "cost_unknown",
        "ContextOverflow": "context_overflow",
        "CapabilityRefused": "capability",
        "Truncated": "truncated",
        "Refused": "refused",
        "ContentFiltered": "content_filter",
        "InvalidReply": "invalid_reply",
        "TransformFailed": "transform_failed",
        "TransportFailed": "transport",
        "Cancelled": "cancelled",
    }


def test_a_value_is_shown_where_there_is_one() -> None:
    assert repr(Completed("x")) == "Completed(content='x')"
    assert repr(Completed("x", JsonText("1"))) == "Completed(content='x', value='1')"
