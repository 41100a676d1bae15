"""What a reply means: any provider's response, normalised into one ``Reply``.

``normalize`` is the entry point. ``message_location`` finds the message in the body, ``calls/`` reads its
tool calls, ``streaming/`` joins the chunks of a stream, ``classification`` decides what kind of answer it
is, and ``warning_codes`` lists every repair that can be reported.
"""

# mypy: implicit-reexport

from toolreel_core._replies.answers import Answers, answers_in, without_thoughts
from toolreel_core._replies.calls.argument_repairs import (
    Reading,
    Unreadable,
    is_cut,
    read_text,
    without_fence,
    without_tokens,
    without_tokens_behind_fence,
)
from toolreel_core._replies.calls.arguments import (
    ERROR_WORDS,
    ArgumentError,
    ArgumentErrorCode,
    Arguments,
    ArgumentsRead,
    read_arguments,
)
from toolreel_core._replies.calls.bundles import unbundled
from toolreel_core._replies.calls.call_ids import identified
from toolreel_core._replies.calls.call_location import CallEntry, EntriesFound, Oddity, entries_in
from toolreel_core._replies.calls.call_names import meant_name
from toolreel_core._replies.calls.coercion import Coercion, Intended, coerced, decoded
from toolreel_core._replies.calls.in_text import Said, WrittenCalls
from toolreel_core._replies.calls.tool_call import CallReader, CallsRead, ToolCall
from toolreel_core._replies.classification import (
    Finish,
    Heard,
    Verdict,
    finish_of,
    judged,
    problem_of,
    says_what_went_wrong,
)
from toolreel_core._replies.content import Content, content_of, visible
from toolreel_core._replies.message_location import FoundMessage, as_documented, find_message
from toolreel_core._replies.normalize import normalize_reply
from toolreel_core._replies.provider_errors import (
    PROBLEM_WORDS,
    Problem,
    ProblemCode,
    bare_error,
    error_in,
    failed_generation,
    html_page,
    in_list,
    is_out_of_quota,
)
from toolreel_core._replies.provider_fields import of_call, of_message, reasoning_in
from toolreel_core._replies.reply import Reply, Served, Usage, served_in, usage_in
from toolreel_core._replies.streaming.call_fragments import joined_calls, joined_function
from toolreel_core._replies.streaming.deltas import joined
from toolreel_core._replies.streaming.sse import FIELDS, Frame, Frames
from toolreel_core._replies.streaming.stream import Delta, Stream, chat_deltas_in, deltas_of, unstreamed
from toolreel_core._replies.warning_codes import UNREPAIRED, WORDS, WarningCode
from toolreel_core._replies.wire_forms.as_chat import ReadAsChat, as_chat, deltas_in, form_in
from toolreel_core._replies.wire_forms.assembly import Assembly, number_in
from toolreel_core._replies.wire_forms.event_stream import EventStream, stream_in
from toolreel_core._replies.wire_forms.messages import carried_in_messages, chat_of_message, whole_blocks
from toolreel_core._replies.wire_forms.responses import carried_in_responses, chat_of_response, whole_items
from toolreel_core._replies.wire_forms.translated import type_of
