"""The rules of a run again, with servers that speak Responses or Messages."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import pytest

from tests.domain.loop import test_contract
from tests.domain.loop.output import test_final_output as output
from tests.wire_forms import OTHER_FORMS, ReducerIn

MODULES = (test_contract, output)

IN_WORDS_OF_CHAT = {
    "test_a_call_is_demanded_until_the_first_one_that_works",
    "test_a_history_that_no_provider_would_take_goes_out_mended",
    "test_a_history_goes_out_in_the_form_that_its_provider_wants_and_each_change_is_noted",
    "test_a_provider_that_knows_no_tools_is_sent_none_and_that_is_noted",
    "test_a_request_that_does_not_fit_the_window_is_not_sent",
    "test_a_response_format_goes_out_only_with_requests_without_tools",
    "test_a_run_without_tools_sends_its_response_format_and_nothing_that_is_about_tools",
    "test_an_approved_call_runs_byte_for_byte_as_it_was_shown",
    "test_an_id_that_a_provider_gives_again_is_told_apart_in_what_goes_out",
    "test_images_in_a_result_go_out_after_the_results_as_a_message_of_the_user",
    "test_all_calls_run_where_the_provider_cannot_be_told_to_make_one",
    "test_options_go_out_as_the_provider_takes_them",
    "test_overrides_are_merged_deeply_over_the_options_of_the_plan",
    "test_overrides_of_what_is_the_runs_own_are_ignored_and_noted",
    "test_replies_are_streamed_only_where_no_tools_are_sent",
    "test_what_no_policy_makes_fit_is_not_sent",
}
"""Conversations about the text or the size of a request, of which each form has its own, or about options and
settings of chat completions."""

NOT_ABOUT_FORMS = {
    "test_jitter_comes_from_the_seed",
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
