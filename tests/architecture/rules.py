"""The rules of a run, and the conversations that show each, in ``tests/domain/loop/test_contract.py``,
``output/test_final_output.py``, ``context/test_conversations_with_summaries.py``,
``checks/test_conversations_with_checks.py``, the one next to it about withheld tools, and
``endpoints/test_next_endpoint.py``.

``tests.architecture.document`` writes the table into docs/loop-rules.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["RULES", "table"]

RULES: Final[Mapping[str, tuple[str, ...]]] = {
    "relaxed mode: a run may complete without calling a tool, and even if its tools failed": (
        "test_relaxed_runs_may_do_without_tools",
        "test_relaxed_runs_complete_whatever_came_of_their_tools",
    ),
    "enforced mode: a run without a call ends as `no_tool_calls`": (
        "test_enforced_runs_without_a_call_end_as_no_tool_calls",
        "test_enforced_runs_with_a_call_that_worked_complete",
    ),
    "disabled mode: tools are never sent; calls in a reply are ignored, with a note": (
        "test_disabled_runs_never_send_tools_and_ignore_calls_that_come_anyway",
        "test_disabled_runs_take_no_text_for_a_call",
    ),
    "fatal policy: if the last tool result is a failure, the run ends as `tool_error`": (
        "test_fatal_policy_ends_an_enforced_run_whose_last_result_of_a_tool_is_a_failure",
        "test_fatal_policy_forgives_a_tool_that_worked_in_the_end",
    ),
    "tolerated policy: one successful call is enough": ("test_tolerated_policy_needs_one_success",),
    "`max_turns`; a retry is not a turn": (
        "test_a_run_has_no_more_turns_than_max_turns",
        "test_retries_are_no_turns",
    ),
    "`max_tool_calls_per_turn`, 1 with `parallel_tool_calls: false`; further calls are ignored": (
        "test_calls_of_a_turn_beyond_the_limit_are_ignored_counted_and_noted",
        "test_a_request_for_single_calls_has_the_first_run_alone",
    ),
    "`max_tool_args_bytes`, `max_argument_depth`": (
        "test_arguments_over_max_tool_args_bytes_never_reach_the_tool",
        "test_arguments_deeper_than_max_argument_depth_never_reach_the_tool",
    ),
    "`max_tool_output_bytes`": ("test_output_over_max_tool_output_bytes_becomes_a_compact_failure",),
    "`max_tool_parts_bytes`": ("test_images_over_max_tool_parts_bytes_become_a_compact_failure",),
    "images, audio and files in a result follow the results of the turn as a message of the user, unless the "
    "provider takes them there": (
        "test_images_in_a_result_go_out_after_the_results_as_a_message_of_the_user",
    ),
    "what the provider is known not to take is left out, and the model is told": (
        "test_images_that_the_provider_takes_not_are_left_out_and_the_model_is_told",
    ),
    "what cannot be used of a schema from outside is left out, and noted": (
        "test_what_was_left_out_of_a_schema_is_noted",
    ),
    "every call is checked in the same order, on one frozen value": (
        "test_calls_pass_mask_size_schema_and_approval_in_this_order",
    ),
    "`text_dialects`: calls in text with a marker run; where no tool is offered, a text is left as it is": (
        "test_a_call_in_text_with_a_marker_runs_by_default",
        "test_where_no_tool_is_offered_the_default_leaves_a_text_as_it_is",
    ),
    "`text_calls_for`: which tools a text call may run": (
        "test_a_call_in_text_runs_nothing_that_changes_things_where_text_may_only_read",
        "test_a_call_in_text_may_need_somebodys_word",
    ),
    "`special_token_guard`: control tokens in a result are broken in the copy that is sent": (
        "test_control_tokens_in_a_result_are_broken_where_it_goes_out_and_nowhere_else",
    ),
    "`untrusted_tools`: their results are marked as data for the model": (
        "test_results_of_tools_that_are_not_trusted_are_told_to_be_data",
    ),
    "context window: a request that does not fit is not sent": (
        "test_a_request_that_does_not_fit_the_window_is_not_sent",
    ),
    "history policies: a request is shortened until it fits; the stored history stays complete": (
        "test_a_conversation_that_does_not_fit_is_shortened_first_and_stays_stored",
        "test_a_shortened_conversation_has_room_to_grow",
        "test_what_no_policy_makes_fit_is_not_sent",
    ),
    "`summarize_old_turns`: before a request that does not fit, the model summarises old turns, which is "
    "not a turn; its tokens and cost count": (
        "test_a_conversation_that_outgrows_its_window_is_summarised_first",
        "test_an_earlier_summary_is_summarised_again",
        "test_old_turns_of_tools_are_quoted_with_their_calls_and_results",
        "test_its_tokens_and_cost_count_and_it_is_no_turn",
        "test_a_summary_is_not_asked_for_where_a_policy_before_it_suffices",
        "test_a_summary_that_cannot_help_is_not_asked_for",
    ),
    "the request for a summary has no tools and no form of an answer, and always fits the window": (
        "test_a_summary_is_asked_for_without_tools_and_without_the_form_of_an_answer",
        "test_nor_with_the_form_of_an_answer_in_the_words_of_another_form",
        "test_a_limit_of_the_reply_that_is_wide_enough_stays",
        "test_of_many_short_messages_the_oldest_are_left_out_of_the_request",
        "test_long_messages_are_cut_in_the_request",
        "test_a_summary_comes_from_the_upstream_that_the_run_is_pinned_to",
        "test_transforms_of_a_request_for_a_summary_and_of_its_reply_are_noted",
    ),
    "a reply that is not a complete summary is not taken: the policies that follow shorten the history": (
        "test_what_is_no_summary_is_not_taken_and_the_next_policy_shortens",
        "test_a_summary_that_uses_up_its_limit_counts_as_cut",
        "test_the_reasoning_before_a_summary_is_no_part_of_it",
        "test_a_summary_that_looks_like_a_call_is_taken_only_where_answers_are_too",
        "test_without_another_policy_a_run_ends_and_what_the_user_says_next_tries_again",
        "test_an_earlier_summary_stays_where_a_new_one_comes_to_nothing",
        "test_repairs_of_a_reply_with_a_summary_are_noted",
    ),
    "while a summary is awaited, a run is retried, cancelled, stored and spoken to as ever": (
        "test_a_summary_is_retried_like_any_request",
        "test_a_run_can_be_cancelled_while_it_waits_for_a_summary",
        "test_a_run_that_waits_for_a_summary_can_be_stored",
        "test_what_the_user_says_meanwhile_joins_the_next_request",
        "test_a_long_message_meanwhile_allows_another_summary",
    ),
    "a call that the model copies from a summary does not run; control tokens in a summary are broken": (
        "test_a_call_in_a_summary_does_not_run_where_the_model_repeats_it",
        "test_control_tokens_in_a_summary_are_broken_where_the_provider_wants_that",
    ),
    "conversations: what the user says after the end begins the next exchange, with limits of its own": (
        "test_after_an_end_the_user_begins_the_next_exchange_with_limits_of_its_own",
    ),
    "what the user says while tools run is sent after their results, before the next request": (
        "test_what_the_user_says_while_tools_run_is_sent_after_their_results",
    ),
    "what the user says while the answer is made begins the next exchange; after any other end it waits": (
        "test_what_the_user_says_while_the_answer_is_made_begins_the_next_exchange",
        "test_what_the_user_says_before_a_limit_waits_for_the_next_message",
    ),
    "`max_conversation_turns`, `_tokens`, `_cost` hold for all exchanges together": (
        "test_a_conversation_has_no_more_turns_than_max_conversation_turns",
    ),
    "where a cost is limited, a reply whose cost is neither reported nor priced allows no further request": (
        "test_a_limited_cost_that_nobody_knows_stops_the_next_request",
    ),
    "what a tool spends on models, such as an inner agent, counts in the budgets of tokens and cost": (
        "test_what_a_tool_spends_on_models_counts_in_the_budgets",
        "test_a_cost_of_a_tool_that_nobody_knows_stops_the_next_request",
        "test_of_tools_that_run_at_once_each_counts_what_it_spent",
    ),
    "budgets of tokens and cost": (
        "test_budgets_of_tokens_and_cost_stop_the_next_request",
        "test_an_answer_that_uses_up_a_budget_is_an_answer_all_the_same",
    ),
    "budget of wall time, measured by the times on events": (
        "test_the_budget_of_time_is_measured_by_the_times_on_events",
        "test_a_wait_can_use_up_the_budget_of_time",
    ),
    "budget of tool calls": ("test_the_budget_of_tool_calls_stops_the_next_call",),
    "`fix_empty_final`: the model is asked again, with tools off; an empty answer is never a success": (
        "test_an_empty_final_after_tools_is_asked_for_once_more_with_tools_off",
        "test_an_empty_final_twice_is_never_a_success",
        "test_calls_in_a_recovery_without_tools_are_ignored",
        "test_a_recovery_that_has_to_be_retried_keeps_its_tools_off",
        "test_an_empty_final_is_not_recovered_where_that_is_off_or_no_turn_is_left",
    ),
    "`fix_empty_final`: an empty first reply is asked for again too, with the tools that it had": (
        "test_an_empty_first_reply_is_asked_for_once_more_with_the_tools_it_had",
    ),
    "`fix_empty_final_disable_tools` and the sentence are settings": (
        "test_an_empty_final_may_be_recovered_with_tools_kept_on",
    ),
    "`nudge_no_tool_calls`: a final text before any successful call does not end the run": (
        "test_a_model_that_skips_its_tools_is_nudged_before_the_run_settles",
        "test_a_failed_call_is_no_reason_to_stop_nudging",
        "test_a_model_is_not_nudged_in_the_last_turn",
    ),
    "the same nudge follows a reply whose text calls were all rejected": (
        "test_text_calls_that_were_all_rejected_are_nudged_in_any_mode",
        "test_text_calls_that_nobody_can_read_are_never_a_final_answer",
        "test_a_text_call_of_a_tool_of_the_models_maker_is_nudged_too",
        "test_a_call_that_stands_in_a_tool_result_is_a_quotation",
        "test_a_call_that_stands_in_the_users_own_words_is_a_quotation",
    ),
    "a text that looks like a call in no enabled dialect is asked about once, then the run ends as "
    "`invalid_reply`; `accept_suspected_calls` switches that off": (
        "test_a_text_that_looks_like_a_call_in_no_dialect_that_is_read_never_completes_a_run",
        "test_a_call_in_the_text_after_an_empty_final_is_no_answer_either",
    ),
    "repetition: a warning at the 3rd identical call, `repeated_call` at the 5th; polling tools are exempt": (
        "test_the_same_call_with_the_same_result_is_warned_of_at_the_3rd_and_ends_the_run_at_the_5th",
        "test_a_rejected_call_that_comes_again_and_again_ends_the_run_too",
        "test_polling_tools_are_exempt_from_the_repetition_breaker",
        "test_a_different_result_resets_the_streak",
    ),
    "text next to calls is not sent back; a note has a sample of it": (
        "test_text_next_to_calls_is_not_written_back_and_a_sample_is_noted",
    ),
    "retries: transport failures and 408/429/5xx, exponential backoff, 3 attempts, a note for each": (
        "test_transport_failures_and_408_429_5xx_are_retried",
        "test_a_provider_error_in_http_200_with_a_passing_code_is_retried",
        "test_other_statuses_are_not_retried",
        "test_a_response_that_is_too_large_is_not_retried",
    ),
    "retries: `Retry-After`, `retry-after-ms` and `x-should-retry` are honoured; an account out of quota is "
    "not asked again": (
        "test_retry_after_is_honoured",
        "test_a_retry_after_that_is_too_long_ends_the_run",
        "test_the_servers_word_on_a_retry_counts_more_than_the_status",
        "test_an_account_without_money_is_not_asked_again",
    ),
    "retries: jitter comes from the seed": (
        "test_jitter_comes_from_the_seed_and_is_the_same_in_every_process",
    ),
    "a capability refusal is never retried": (
        "test_a_capability_refusal_ends_the_run_and_is_never_retried",
        "test_no_other_400_drops_the_tools",
    ),
    "`fallback_without_tools`: only in relaxed mode, and only after a capability refusal": (
        "test_a_relaxed_run_may_go_on_without_tools_after_a_capability_refusal",
        "test_tools_that_were_dropped_stay_dropped",
    ),
    "`withhold_repeated`: a tool whose call was repeated for nothing is not offered until another call": (
        "test_after_a_repetition_the_tool_is_not_offered_until_another_call",
        "test_a_note_names_them_and_the_tools_that_are_sent_stay_the_same",
        "test_it_waits_for_as_many_repetitions_as_were_set",
        "test_an_effect_that_runs_again_counts_as_well",
        "test_a_call_that_fails_has_one_repetition_more",
        "test_a_result_that_changes_is_no_repetition",
        "test_an_unknown_tool_brings_them_back",
        "test_a_model_that_repeats_although_it_is_not_offered_is_stopped",
        "test_where_every_tool_is_withheld_the_answer_is_left",
        "test_nothing_changes_where_it_is_off",
        "test_a_retry_and_a_stored_run_offer_the_same",
        "test_the_next_exchange_offers_all",
        "test_the_answer_and_what_was_not_repeated_are_always_offered",
    ),
    "`fallbacks`: where a run would end by its endpoint's fault, the next endpoint gets the same turn": (
        "test_where_an_endpoint_fails_the_next_one_gets_the_same_turn",
        "test_a_reason_leads_to_the_first_endpoint_that_takes_it",
        "test_what_is_not_the_endpoints_fault_ends_the_run",
        "test_an_endpoint_has_its_retries_before_the_next_one_is_asked",
        "test_a_run_never_goes_back_and_ends_after_the_last_endpoint",
        "test_outcomes_that_are_nobodys_fault_stay",
        "test_a_conversation_stays_with_the_endpoint_that_answered",
        "test_what_a_gateway_says_instead_of_a_reply_is_not_in_the_history",
        "test_where_no_further_request_is_allowed_the_outcome_is_that_of_the_endpoint",
    ),
    "`fallbacks`: a call that has run is never run again because of a change of endpoint": (
        "test_calls_that_have_run_are_in_the_history_of_the_next_endpoint_and_do_not_run_again",
        "test_idempotency_keys_are_those_of_the_plan_whichever_endpoint_asks",
        "test_effects_of_a_plan_without_fallbacks_keep_their_fingerprints",
    ),
    "`fallbacks`: each endpoint has settings of its own, and the limits of the run": (
        "test_each_endpoint_has_settings_of_its_own_and_the_limits_of_the_run",
        "test_replies_are_read_as_the_endpoint_that_gave_them_writes_them",
        "test_each_reply_costs_what_its_endpoint_takes",
        "test_after_an_empty_answer_the_next_endpoint_has_recoveries_of_its_own",
        "test_a_request_for_a_text_stays_one_without_tools",
        "test_an_endpoint_that_takes_tools_comes_before_a_run_without_them",
        "test_tools_that_one_server_rejected_go_to_the_next",
        "test_another_error_that_mentions_no_form_is_no_refusal",
        "test_a_form_of_the_answer_that_is_refused_is_asked_for_in_words_elsewhere",
    ),
    "`fallbacks`: signatures, and reasoning that must come back, go to no other endpoint": (
        "test_a_history_with_a_signature_stays_with_its_endpoint",
        "test_a_signature_is_dropped_where_the_plan_says_so_and_goes_to_nobody_else",
        "test_reasoning_that_nobody_demands_back_does_not_keep_a_run",
        "test_reasoning_that_must_come_back_keeps_a_run",
        "test_tools_are_dropped_where_the_run_is_pinned",
        "test_an_answer_of_a_signed_history_frees_it_where_only_the_current_turn_goes_back",
    ),
    "truncation: the calls of a truncated reply are not executed": (
        "test_calls_of_a_reply_that_ended_with_length_are_not_run_even_if_their_json_closes",
        "test_calls_of_a_reply_that_used_up_its_tokens_are_not_run",
        "test_a_final_text_that_was_cut_is_no_answer",
    ),
    "approval: the executed call is byte-identical to the approved one": (
        "test_an_approved_call_runs_byte_for_byte_as_it_was_shown",
        "test_a_denied_call_is_told_to_the_model_and_the_calls_behind_it_run",
        "test_approved_calls_and_those_behind_them_run_one_after_another",
    ),
    "calls run in sequence; with `parallel_tools`, read-only tools run concurrently, results in call order": (
        "test_calls_run_one_after_another_unless_parallel_is_wanted",
        "test_read_only_tools_run_together_and_their_results_are_written_in_call_order",
        "test_a_tool_that_is_not_read_only_waits_for_those_before_it",
    ),
    "`stream`: all turns are streamed, or final ones; a server may ignore `stream` or stream unasked": (
        "test_every_turn_is_streamed_where_the_plan_wants_that",
        "test_a_chat_is_streamed_where_the_plan_wants_that",
        "test_the_final_turn_after_tools_is_streamed_and_turns_with_tools_are_not",
        "test_a_server_may_ignore_stream_or_send_it_unasked",
    ),
    "a truncated stream, or an error in mid-stream, is never a complete reply": (
        "test_a_cut_stream_is_never_taken_for_done",
        "test_an_error_in_mid_stream_is_the_whole_reply_and_nothing_of_it_runs",
    ),
    "cancelling ends a run in any phase; every open call gets a result": (
        "test_a_run_can_be_cancelled_in_every_phase_and_leaves_a_valid_history",
        "test_answers_after_the_end_change_nothing",
    ),
    "sent history: one result for each call, ids unique in the conversation, no empty message": (
        "test_an_id_that_a_provider_gives_again_is_told_apart_in_what_goes_out",
        "test_a_history_that_no_provider_would_take_goes_out_mended",
    ),
    "sent history: in the form that the provider accepts": (
        "test_a_history_goes_out_in_the_form_that_its_provider_wants_and_each_change_is_noted",
    ),
    "requests: `overrides` are merged deeply over the options; reserved keys are ignored, with a note": (
        "test_overrides_are_merged_deeply_over_the_options_of_the_plan",
        "test_overrides_of_what_is_the_runs_own_are_ignored_and_noted",
    ),
    "requests: a `response_format` among the options is never sent with `tools`": (
        "test_a_response_format_goes_out_only_with_requests_without_tools",
        "test_a_run_without_tools_sends_its_response_format_and_nothing_that_is_about_tools",
    ),
    "requests: what a provider does not accept is omitted or rewritten, with a note": (
        "test_all_calls_run_where_the_provider_cannot_be_told_to_make_one",
        "test_options_go_out_as_the_provider_takes_them",
        "test_a_provider_that_knows_no_tools_is_sent_none_and_that_is_noted",
    ),
    "`require_first_call`: `tool_choice: required` until the first success, in enforced mode, if supported": (
        "test_a_call_is_demanded_until_the_first_one_that_works",
        "test_no_call_is_demanded_where_the_provider_is_not_known_to_take_that",
        "test_no_call_is_demanded_in_a_relaxed_run",
    ),
    '`stream="final"`: only requests without tools are streamed': (
        "test_replies_are_streamed_only_where_no_tools_are_sent",
    ),
    "output: an answer that fits its schema is the value, after the repairs that arguments get": (
        "test_json_in_the_text_is_the_value",
        "test_a_value_that_is_no_object_may_come_bare",
        "test_strictly_the_object_that_was_asked_for_counts",
        "test_the_arguments_may_be_the_value_itself",
        "test_an_answer_in_doubt_is_not_taken",
        "test_an_answer_with_two_values_is_ambiguous_and_equal_ones_are_one",
    ),
    "output: a wrong answer is told, at most `output_retries` times; then the run ends as `invalid_output`": (
        "test_a_wrong_answer_is_told_and_asked_for_again",
        "test_the_run_gives_up_after_output_retries",
        "test_the_whole_answer_may_be_wrong",
        "test_a_wrong_call_is_told_like_the_call_of_a_tool",
        "test_arguments_that_are_no_json_at_all_are_told",
    ),
    "output: the final tool is never run, and ends the run when it is called alone": (
        "test_a_call_of_the_final_tool_ends_the_run",
        "test_an_answer_beside_calls_of_tools_is_told_to_come_alone",
        "test_of_several_answers_the_first_that_fits_is_taken",
        "test_only_the_allowed_calls_of_a_turn_count",
        "test_a_call_by_a_polluted_name_is_the_answer_too",
        "test_a_call_of_the_final_tool_is_an_answer_in_any_notation",
        "test_a_tool_that_is_unknown_is_told_the_name_of_the_final_tool_as_well",
        "test_an_answer_in_text_is_taken_in_a_run_with_a_final_tool_too",
    ),
    "output: truncated, refused, empty answers, enforced runs, servers without tools keep their rules": (
        "test_a_truncated_call_is_never_the_answer",
        "test_truncated_and_refused_answers_keep_their_outcomes",
        "test_after_an_empty_answer_the_final_tool_is_still_there",
        "test_an_empty_first_reply_is_asked_for_the_answer",
        "test_an_enforced_run_needs_its_tools_first",
        "test_failed_tools_of_an_enforced_run_are_the_outcome_whatever_the_answer_is",
        "test_a_server_that_rejects_tools_is_asked_for_json_in_the_text",
    ),
    "output: JSON that was asked for is an answer, and a call written as text is a call": (
        "test_json_that_was_asked_for_is_an_answer_although_it_looks_like_a_call",
        "test_markup_of_a_call_in_a_string_of_the_answer_is_no_call",
        "test_a_call_written_as_text_is_one_still",
        "test_an_answer_as_a_call_in_text_is_read_by_its_dialect",
        "test_the_outcome_of_a_text_that_breaks_off_is_not_the_value",
    ),
    "`restate_task`: behind results, a request restates the task and what succeeded; nothing is stored": (
        "test_results_are_followed_by_the_task_and_what_has_been_done",
        "test_a_failed_call_is_not_among_what_has_been_done",
        "test_a_nudge_tells_the_task_too",
        "test_the_task_is_what_the_user_said_last",
        "test_a_message_of_the_user_behind_results_needs_no_reminder",
        "test_a_stored_run_reminds_of_the_same",
        "test_a_reminder_counts_in_the_window",
        "test_the_reminder_names_the_final_answer",
    ),
    "`repeated_effects`: a call with an effect that has succeeded in the exchange is not run again": (
        "test_a_call_with_an_effect_that_has_succeeded_is_not_run_again",
        "test_the_order_of_arguments_makes_no_other_call",
        "test_of_two_equal_calls_in_one_reply_one_runs",
        "test_a_call_that_failed_runs_again",
        "test_reading_and_polling_run_again",
        "test_the_next_exchange_may_do_it_again",
        "test_what_was_done_needs_no_approval_again",
        "test_a_model_that_goes_on_repeating_is_stopped",
        "test_an_envelope_of_a_tool_cannot_say_that_it_was_done_already",
    ),
    "`final_check`: before an answer is final, the model is asked what is still to be done": (
        "test_before_an_answer_is_final_the_model_is_asked_what_is_still_to_be_done",
        "test_after_a_check_the_model_may_go_on_and_is_asked_as_often_as_was_set",
        "test_nothing_is_checked_where_no_tool_is_offered_or_no_turn_is_left",
        "test_a_cut_answer_is_not_checked",
        "test_a_typed_answer_is_checked_as_a_call_and_as_text",
        "test_a_typed_answer_without_tools_or_turns_is_not_checked",
    ),
    "`claim_check`: an answer that claims what no call has done is asked about once": (
        "test_an_answer_that_claims_what_no_call_has_done_is_asked_about_once",
        "test_an_answer_that_a_call_supports_is_final",
    ),
    "`constrained_calls`: each reply to a request with tools is one call, and so is the answer": (
        "test_each_reply_is_one_call_and_the_answer_is_one_too",
        "test_a_structured_call_of_the_final_answer_is_the_answer_too",
        "test_calls_run_before_an_answer_that_comes_with_them",
        "test_an_answer_without_text_is_an_empty_one",
        "test_a_cut_answer_by_a_call_is_cut",
        "test_a_typed_answer_is_a_call_where_decoding_is_constrained",
        "test_a_first_call_is_demanded_by_leaving_the_answer_out",
        "test_where_the_tools_are_off_the_answer_is_a_text",
        "test_a_server_that_refuses_the_constraint_is_told_of_with_what_to_write",
        "test_other_errors_stay_what_they_are",
        "test_a_grammar_goes_out_without_tools_which_the_opening_describes",
    ),
    "a run can be stored at any step and continue from its stored state": (
        "test_a_run_may_rest_anywhere_and_go_on_from_its_stored_state",
    ),
}
"""Each rule of the loop that the core keeps, with the tests that show it."""


def table() -> str:
    """The rules and their tests, as a Markdown table."""
    rows = ["| rule | shown by |", "|---|---|"]
    for rule, tests in RULES.items():
        rows.append(f"| {rule} | {'<br>'.join(f'`{name}`' for name in tests)} |")
    return "\n".join(rows)
