"""The rules of a run once more, with servers that speak Responses or Messages."""

from __future__ import annotations

from functools import partial
from typing import Final

import pytest

from tests.domain.loop import test_contract
from tests.domain.loop.checks import test_conversations_with_checks as checks
from tests.domain.loop.output import test_final_output as output
from tests.wire_forms import OTHER_FORMS, FormPlaybook
from toolreel_core._settings.wire_form import WireForm

MODULES: Final = (test_contract, output, checks)

IN_WORDS_OF_CHAT: Final = {
    "test_a_call_is_demanded_until_the_first_one_that_works",
    "test_a_first_call_is_demanded_by_leaving_the_answer_out",
    "test_a_grammar_goes_out_without_tools_which_the_opening_describes",
    "test_a_history_goes_out_in_the_form_that_its_provider_wants_and_each_change_is_noted",
    "test_a_message_of_the_user_behind_results_needs_no_reminder",
    "test_a_provider_that_knows_no_tools_is_sent_none_and_that_is_noted",
    "test_a_request_that_does_not_fit_the_window_is_not_sent",
    "test_a_response_format_goes_out_only_with_requests_without_tools",
    "test_a_run_without_tools_sends_its_response_format_and_nothing_that_is_about_tools",
    "test_a_stored_run_reminds_of_the_same",
    "test_an_approved_call_runs_byte_for_byte_as_it_was_shown",
    "test_an_id_that_a_provider_gives_again_is_told_apart_in_what_goes_out",
    "test_images_in_a_result_go_out_after_the_results_as_a_message_of_the_user",
    "test_one_call_a_turn_is_heard_where_the_provider_cannot_be_told_so",
    "test_options_go_out_as_the_provider_takes_them",
    "test_overrides_are_merged_deeply_over_the_options_of_the_plan",
    "test_overrides_of_what_is_the_runs_own_are_ignored_and_noted",
    "test_replies_are_streamed_only_where_no_tools_are_sent",
    "test_the_order_of_arguments_makes_no_other_call",
    "test_what_no_policy_makes_fit_is_not_sent",
    "test_where_the_tools_are_off_the_answer_is_a_text",
}
"""Conversations that are about the text of a request, which each form has of its own, or about options and
settings of chat completions."""

for module in MODULES:
    for name, value in vars(module).items():
        if name.startswith("test_") and callable(value) and name not in IN_WORDS_OF_CHAT:
            globals()[name] = value


@pytest.fixture(autouse=True, params=OTHER_FORMS)
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> WireForm:
    """The form that the server speaks."""
    spoken: WireForm = request.param
    for module in MODULES:
        monkeypatch.setattr(module, "Playbook", partial(FormPlaybook, form=spoken))
    return spoken
