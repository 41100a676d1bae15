"""The rules of a run again, with servers that speak Responses or Messages."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Final

import pytest

from tests.domain.loop import test_contract
from tests.domain.loop.checks import test_conversations_with_checks as checks
from tests.domain.loop.context import test_conversations_with_summaries as summaries
from tests.domain.loop.output import test_final_output as output
from tests.wire_forms import OTHER_FORMS, ReducerIn

MODULES: Final = (test_contract, output, checks, summaries)

IN_WORDS_OF_CHAT: Final = {
    "test_a_call_is_demanded_until_the_first_one_that_works",
    "test_a_conversation_that_outgrows_its_window_is_summarised_first",
    "test_a_first_call_is_demanded_by_leaving_the_answer_out",
    "test_a_history_that_no_provider_would_take_goes_out_mended",
    "test_a_summary_is_asked_for_without_tools_and_without_the_form_of_an_answer",
    "test_a_history_goes_out_in_the_form_that_its_provider_wants_and_each_change_is_noted",
    "test_a_long_message_meanwhile_allows_another_summary",
    "test_a_message_of_the_user_behind_results_needs_no_reminder",
    "test_a_provider_that_knows_no_tools_is_sent_none_and_that_is_noted",
    "test_a_request_that_does_not_fit_the_window_is_not_sent",
    "test_a_response_format_goes_out_only_with_requests_without_tools",
    "test_a_run_can_be_cancelled_while_it_waits_for_a_summary",
    "test_a_run_without_tools_sends_its_response_format_and_nothing_that_is_about_tools",
    "test_a_stored_run_reminds_of_the_same",
    "test_a_summary_is_retried_like_any_request",
    "test_an_approved_call_runs_byte_for_byte_as_it_was_shown",
    "test_an_earlier_summary_is_summarised_again",
    "test_an_id_that_a_provider_gives_again_is_told_apart_in_what_goes_out",
    "test_images_in_a_result_go_out_after_the_results_as_a_message_of_the_user",
    "test_its_tokens_and_cost_count_and_it_is_no_turn",
    "test_old_turns_of_tools_are_quoted_with_their_calls_and_results",
    "test_all_calls_run_where_the_provider_cannot_be_told_to_make_one",
    "test_options_go_out_as_the_provider_takes_them",
    "test_overrides_are_merged_deeply_over_the_options_of_the_plan",
    "test_overrides_of_what_is_the_runs_own_are_ignored_and_noted",
    "test_replies_are_streamed_only_where_no_tools_are_sent",
    "test_the_order_of_arguments_makes_no_other_call",
    "test_what_is_no_summary_is_not_taken_and_the_next_policy_shortens",
    "test_what_no_policy_makes_fit_is_not_sent",
    "test_what_the_user_says_meanwhile_joins_the_next_request",
    "test_where_the_tools_are_off_the_answer_is_a_text",
}
"""Conversations about the text or the size of a request, of which each form has its own, or about options and
settings of chat completions."""

NOT_ABOUT_FORMS: Final = {
    "test_jitter_comes_from_the_seed",
    "test_nor_with_the_form_of_an_answer_in_the_words_of_another_form",
    "test_of_many_short_messages_the_oldest_are_left_out_of_the_request",
    "test_other_statuses_are_not_retried",
    "test_transport_failures_and_408_429_5xx_are_retried",
}
"""Conversations that are in other forms anyway, or in which no reply is read, and which take time."""


def in_each_form(conversation: Callable[..., object]) -> Callable[..., None]:
    """A test that plays a conversation once a form; each would cost pytest as much as its run."""

    @wraps(conversation)
    def played(*args: object, **given: object) -> None:
        for form in OTHER_FORMS:
            spoken = ReducerIn(form)
            with pytest.MonkeyPatch.context() as patch:
                spoken.patch(patch, *MODULES)
                try:
                    conversation(*args, **given)
                except (Exception, pytest.fail.Exception) as failed:
                    failed.add_note(f"with a server that speaks {form}")
                    raise
            assert spoken.reached, "nothing of it is in another form"

    return played


for module in MODULES:
    for name, value in vars(module).items():
        if name.startswith("test_") and callable(value) and name not in IN_WORDS_OF_CHAT | NOT_ABOUT_FORMS:
            globals()[name] = in_each_form(value)
