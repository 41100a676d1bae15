"""Codes of what was found odd in a reply, and each in words: what was found, what was done about it.

Nothing in a reply is mended silently: ``Reply.warnings`` names every code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

__all__ = ["WORDS", "WarningCode"]

WarningCode: TypeAlias = Literal[
    # the body and its choices
    "COMPLETION_NESTED",
    "CHOICES_NOT_LIST",
    "MULTIPLE_CHOICES",
    "TOP_LEVEL_MESSAGE",
    "MESSAGE_NOT_OBJECT",
    "DELTA_INSTEAD_OF_MESSAGE",
    "LEGACY_TEXT_CHOICE",
    "ROLE_UNEXPECTED",
    # calls
    "TOOL_CALLS_NOT_LIST",
    "TOOL_CALLS_MISPLACED",
    "CALL_ENTRY_INVALID",
    "MISSING_FUNCTION_WRAPPER",
    "LEGACY_FUNCTION_CALL",
    "CALLS_IN_CONTENT_PARTS",
    "CALL_WITHOUT_NAME",
    "UNSUPPORTED_CALL_TYPE",
    "MULTI_TOOL_USE_EXPANDED",
    "CALL_ID_MISSING",
    "CALL_ID_NOT_STRING",
    "CALL_ID_DUPLICATE",
    "CALL_ID_REPEATED",
    "NAME_NORMALIZED",
    "NAME_UNKNOWN",
    # arguments
    "ARGUMENTS_NOT_STRING",
    "ARGUMENTS_DOUBLE_ENCODED",
    "ARGUMENTS_FENCED",
    "ARGUMENTS_EMPTY_LIST",
    "ARGUMENTS_PYTHON_LITERAL",
    "ARGUMENTS_REPAIRED",
    "ARGUMENTS_TRAILING_TEXT",
    "ARGUMENTS_CONCATENATED",
    "ARGUMENTS_DUPLICATE_KEYS",
    "ARGUMENTS_MAYBE_WRAPPED",
    "ARGUMENTS_DECODED",
    "ARGUMENTS_UNWRAPPED",
    "NULL_ARGUMENT_DROPPED",
    "LONE_SURROGATE",
    "NON_FINITE_NUMBER",
    # text and finish
    "CONTENT_NOT_STRING",
    "NON_TEXT_PART",
    "THINK_TAGS_IN_CONTENT",
    "TEXT_CALL_SUSPECTED",
    "TEXT_CALL_IN_REASONING",
    "TEXT_CALL_READ",
    "TEXT_CALL_MALFORMED",
    "TEXT_CALL_TRUNCATED",
    "TEXT_CALL_TOO_LARGE",
    "TEXT_CALL_QUOTED",
    "TEXT_CALL_WITH_RESULT",
    "TEXT_CALL_BUILTIN",
    "FINISH_MISMATCH",
    "FINISH_UNKNOWN",
    "STREAM_FRAME_LOST",
    "FAILED_GENERATION_READ",
]

WORDS: Final[Mapping[WarningCode, str]] = {
    "COMPLETION_NESTED": "The completion stood inside another object; it was read from there.",
    "CHOICES_NOT_LIST": "The choices were an object instead of a list; its first choice was read.",
    "MULTIPLE_CHOICES": "There were several choices; only the first was read.",
    "TOP_LEVEL_MESSAGE": "There were no choices but a message of its own; that was read.",
    "MESSAGE_NOT_OBJECT": "The message was text or a list instead of an object; what it holds was read.",
    "DELTA_INSTEAD_OF_MESSAGE": "The choice held a piece of a stream instead of a message; it was read.",
    "LEGACY_TEXT_CHOICE": "The choice held text, as the old completions did; it was read as the answer.",
    "ROLE_UNEXPECTED": "The message did not come as the assistant's; it was read all the same.",
    "TOOL_CALLS_NOT_LIST": "The tool calls were no plain list; those that it held were read in order.",
    "TOOL_CALLS_MISPLACED": "The tool calls stood outside the message; they were read from there.",
    "CALL_ENTRY_INVALID": "Something among the tool calls was no call; it was passed over.",
    "MISSING_FUNCTION_WRAPPER": "A call's name and arguments did not stand in its function object under "
    "their names; they were read from where they stood.",
    "LEGACY_FUNCTION_CALL": "There was a legacy function_call; it counts where there is no other call.",
    "CALLS_IN_CONTENT_PARTS": "There were calls among the parts of the content; they count where there is "
    "no other call.",
    "CALL_WITHOUT_NAME": "A call had no name; it was passed over.",
    "UNSUPPORTED_CALL_TYPE": "A call was of the type custom, whose input is no object; it was passed over.",
    "MULTI_TOOL_USE_EXPANDED": "One call held several others; each of them was read as a call.",
    "CALL_ID_MISSING": "A call had no id; it was given one.",
    "CALL_ID_NOT_STRING": "A call's id was no text; a number was written as text, anything else replaced.",
    "CALL_ID_DUPLICATE": "Two calls shared an id; both were kept, and the later one was given another id.",
    "CALL_ID_REPEATED": "A call's id was used before in the conversation; it goes out under another one.",
    "NAME_NORMALIZED": "A tool's name came with blanks, a prefix, a control token or a dot; the tool that "
    "it means was taken.",
    "NAME_UNKNOWN": "A call names a tool that there is not; nothing was guessed.",
    "ARGUMENTS_NOT_STRING": "Arguments came as a value instead of as its JSON text; the value was taken.",
    "ARGUMENTS_DOUBLE_ENCODED": "Arguments were JSON text within a JSON string; they were decoded again.",
    "ARGUMENTS_FENCED": "Arguments stood in a code fence; the fence was taken off.",
    "ARGUMENTS_EMPTY_LIST": "Arguments were an empty list; it was taken for an empty object.",
    "ARGUMENTS_PYTHON_LITERAL": "Arguments were None or undefined; that was taken for an empty object.",
    "ARGUMENTS_REPAIRED": "Arguments were closed but no strict JSON; their notation was mended.",
    "ARGUMENTS_TRAILING_TEXT": "Something stood behind the arguments; it was left out.",
    "ARGUMENTS_CONCATENATED": "Arguments were several objects in a row; equal ones count as one, different "
    "ones are an error.",
    "ARGUMENTS_DUPLICATE_KEYS": "Arguments had a key twice; the last value counts, or it is an error where "
    "repairs are strict.",
    "ARGUMENTS_MAYBE_WRAPPED": "Arguments consist of one object that looks like the arguments; nothing was "
    "guessed.",
    "ARGUMENTS_DECODED": "A value was JSON text where the tool's schema wants an array or an object; it was "
    "decoded, and fits.",
    "ARGUMENTS_UNWRAPPED": "Arguments were wrapped one level too deep for the tool's schema; they were "
    "unwrapped, and fit.",
    "NULL_ARGUMENT_DROPPED": "An optional argument was null where the tool's schema takes no null; it was "
    "left out.",
    "LONE_SURROGATE": "There was half of a surrogate pair, which no request could carry; it was replaced by "
    "U+FFFD.",
    "NON_FINITE_NUMBER": "There was a number that JSON does not have, such as NaN; in arguments it is an "
    "error, elsewhere it counts as null.",
    "CONTENT_NOT_STRING": "The content was no text; its text was put together, or its JSON was taken.",
    "NON_TEXT_PART": "A part of the content was no text; it was passed over.",
    "THINK_TAGS_IN_CONTENT": "There was reasoning in the content; it was left there.",
    "TEXT_CALL_SUSPECTED": "The content looks like a tool call written as text; it was not run.",
    "TEXT_CALL_IN_REASONING": "The reasoning looks like a tool call written as text; it was not run.",
    "TEXT_CALL_READ": "A tool call was written as text, in a dialect that is read; it counts as a call.",
    "TEXT_CALL_MALFORMED": "A tool call that was written as text could not be read; it was left alone.",
    "TEXT_CALL_TRUNCATED": "A tool call that was written as text was cut; it was left alone.",
    "TEXT_CALL_TOO_LARGE": "The content was too large to be searched for tool calls; it was left alone.",
    "TEXT_CALL_QUOTED": "A call written as text repeats a tool result or user message; it was left alone.",
    "TEXT_CALL_WITH_RESULT": "The model has made up the result of its call; the made-up part was left alone.",
    "TEXT_CALL_BUILTIN": "A call was meant for a tool of the model's own; it was left alone.",
    "FINISH_MISMATCH": "The finish reason did not fit what came; the calls decided.",
    "FINISH_UNKNOWN": "The finish reason was missing or unknown; what came decided.",
    "STREAM_FRAME_LOST": "A part of the stream could not be read; the text around it was kept.",
    "FAILED_GENERATION_READ": "The server refused what the model wrote as a call; it was read all the same.",
}
