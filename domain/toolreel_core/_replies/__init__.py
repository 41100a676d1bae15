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
        Arguments,
        Reading,
        Unreadable,
        answers_in,
        is_cut,
        read_arguments,
        read_text,
        without_thoughts,
    )
    from toolreel_core._replies.chat_events import ChatEvents, choices_of
    from toolreel_core._replies.classification import (
        PROBLEM_WORDS,
        Finish,
        Problem,
        ProblemCode,
        bare_error,
        error_in,
        failed_generation,
        finish_of,
        html_page,
        is_out_of_quota,
    )
    from toolreel_core._replies.coercion import Intended, coerced, decoded
    from toolreel_core._replies.deltas import joined, joined_calls
    from toolreel_core._replies.event_assembly import Delta, ReadAsChat, number_in, type_of
    from toolreel_core._replies.normalize import FIELDS, is_stream, normalize_reply
    from toolreel_core._replies.other_forms import (
        MessageEvents,
        ResponseEvents,
        chat_of_message,
        chat_of_response,
        whole_blocks,
        whole_items,
    )
    from toolreel_core._replies.reply import (
        Reply,
        Usage,
        served_in,
        usage_in,
    )
    from toolreel_core._replies.tool_calls import (
        ToolCall,
        call_fields_to_return,
        calls_in,
        meant_name,
        message_fields_to_return,
    )
    from toolreel_core._replies.warning_codes import UNREPAIRED, WORDS, WarningCode
    from toolreel_core._replies.wire_forms import (
        Frame,
        Frames,
        Stream,
        as_chat,
        deltas_in,
        form_in,
        stream_in,
    )
else:
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__)
