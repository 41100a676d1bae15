"""What a reply means: any provider's response, normalised into one ``Reply``.

``normalize`` is the entry point. ``reply`` finds the message in the body, ``tool_calls`` reads its
calls, ``wire_forms`` reads streams and the forms besides chat completions,
``classification`` decides what kind of answer it is, and ``warning_codes`` lists every repair that can be
reported.
"""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel_core._replies.arguments import (
        ERROR_WORDS,
        Answers,
        ArgumentError,
        ArgumentErrorCode,
        ArgumentsOrError,
        JsonReading,
        Unreadable,
        is_truncated_json,
        json_answers_in_text,
        parse_json_with_repairs,
        read_arguments,
        without_thoughts,
    )
    from toolreel_core._replies.chat_events import ChatEvents, choices_of
    from toolreel_core._replies.classification import (
        PROBLEM_WORDS,
        FinishReason,
        Problem,
        ProblemCode,
        failed_generation_text,
        finish_reason_of_word,
        html_page_description,
        is_out_of_quota,
        problem_from_error_field,
        top_level_error,
    )
    from toolreel_core._replies.coercion import Intended, coerce_arguments, decode_nested_json
    from toolreel_core._replies.deltas import joined_calls, joined_message
    from toolreel_core._replies.event_assembly import Delta, ReadAsChat, integer_field, type_of
    from toolreel_core._replies.normalize import FIELDS, is_stream, normalize_reply
    from toolreel_core._replies.other_forms import (
        MessageEvents,
        ResponseEvents,
        messages_body_as_chat,
        responses_body_as_chat,
        typed_content_blocks,
        typed_output_items,
    )
    from toolreel_core._replies.reply import (
        Reply,
        Usage,
        read_reply_metadata,
        usage_in,
    )
    from toolreel_core._replies.tool_calls import (
        ToolCall,
        call_fields_to_send_back,
        intended_tool_name,
        message_fields_to_send_back,
        structured_calls_in_message,
    )
    from toolreel_core._replies.warning_codes import UNREPAIRED, WARNING_SENTENCES, WarningCode
    from toolreel_core._replies.wire_forms import (
        Frame,
        Frames,
        Stream,
        as_chat,
        deltas_in,
        stream_for_form,
        wire_form_of_body,
    )
else:
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__)
