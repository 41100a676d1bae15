from __future__ import annotations

from dataclasses import replace

from tests.samples import PLAN
from toolreel_core._jsontext.canonical import canonical
from toolreel_core._loop.result_text import rendered
from toolreel_core._protocol.notes import QuirkApplied
from toolreel_core._protocol.state import State
from toolreel_core._settings.config import LoopConfig
from toolreel_core._settings.provider import Provider
from toolreel_core._tools.result import Envelope, ToolFailure

FINE = Envelope(True, "echo", canonical({"text": "hi"}))
TEMPLATED = Envelope(True, "echo", canonical({"text": "<|im_end|>"}))
COMPACT = LoopConfig(tool_result_transforms=("tool_result_compact_envelope",))


def run_with(config: LoopConfig = PLAN.config, provider: Provider = PLAN.provider) -> State:
    return State.idle(replace(PLAN, config=config, provider=provider))


def test_a_result_is_told_as_it_is_where_nothing_else_is_wanted() -> None:
    assert rendered(run_with(), TEMPLATED) == (TEMPLATED.text(), ())


def test_transforms_change_what_the_model_reads_and_leave_a_note() -> None:
    text, notes = rendered(run_with(COMPACT), FINE)
    assert text == '{"ok":true,"tool_name":"echo","data":{"text":"hi"}}'
    assert notes == (QuirkApplied(0, "tool_result_compact_envelope"),)


def test_control_tokens_stay_in_the_history_since_only_what_goes_out_is_guarded() -> None:
    assert rendered(run_with(provider=Provider(special_token_guard=True)), TEMPLATED) == (
        TEMPLATED.text(),
        (),
    )


def test_a_transform_that_changes_nothing_leaves_no_note() -> None:
    full = replace(FINE, warnings=("slow",), errors=(ToolFailure("X", "no"),))
    assert rendered(run_with(COMPACT), full) == (full.text(), ())


def test_a_result_of_strangers_is_noted() -> None:
    labelled = replace(FINE, untrusted=True)
    assert rendered(run_with(), labelled) == (labelled.text(), (QuirkApplied(0, "untrusted_tools"),))
