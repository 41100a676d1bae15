"""Warning codes of a reply, each with a sentence: what was wrong, and what was done about it.

Nothing in a reply is repaired silently: ``Reply.warnings`` has every code. The codes are public and stored in
records; the sentences are for people and may change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

# fmt: off
WarningCode: TypeAlias = Literal[
    # the body and its choices
    "COMPLETION_NESTED", "CHOICES_NOT_LIST", "MULTIPLE_CHOICES", "TOP_LEVEL_MESSAGE",
    "MESSAGE_NOT_OBJECT", "DELTA_INSTEAD_OF_MESSAGE", "LEGACY_TEXT_CHOICE", "ROLE_UNEXPECTED",
    # calls
    "TOOL_CALLS_NOT_LIST", "TOOL_CALLS_MISPLACED", "CALL_ENTRY_INVALID", "MISSING_FUNCTION_WRAPPER",
    "LEGACY_FUNCTION_CALL", "CALLS_IN_CONTENT_PARTS", "CALL_WITHOUT_NAME", "UNSUPPORTED_CALL_TYPE",
    "MULTI_TOOL_USE_EXPANDED", "CALL_ID_MISSING", "CALL_ID_NOT_STRING", "CALL_ID_DUPLICATE",
    "CALL_ID_REPEATED", "NAME_NORMALIZED", "NAME_UNKNOWN",
    # arguments
    "ARGUMENTS_NOT_STRING", "ARGUMENTS_DOUBLE_ENCODED", "ARGUMENTS_FENCED", "ARGUMENTS_EMPTY_LIST",
    "ARGUMENTS_PYTHON_LITERAL", "ARGUMENTS_REPAIRED", "ARGUMENTS_TRAILING_TEXT", "ARGUMENTS_CONCATENATED",
    "ARGUMENTS_DUPLICATE_KEYS", "ARGUMENTS_MAYBE_WRAPPED", "ARGUMENTS_DECODED", "ARGUMENTS_UNWRAPPED",
    "NULL_ARGUMENT_DROPPED", "LONE_SURROGATE", "NON_FINITE_NUMBER",
    # text and finish
    "CONTENT_NOT_STRING", "NON_TEXT_PART", "THINK_TAGS_IN_CONTENT", "TEXT_CALL_SUSPECTED",
    "TEXT_CALL_IN_REASONING", "TEXT_CALL_READ", "TEXT_CALL_MALFORMED", "TEXT_CALL_TRUNCATED",
    "TEXT_CALL_TOO_LARGE", "TEXT_CALL_QUOTED", "TEXT_CALL_WITH_RESULT", "TEXT_CALL_BUILTIN",
    "END_MARKER_REMOVED", "FINISH_MISMATCH", "FINISH_UNKNOWN", "STREAM_FRAME_LOST", "FAILED_GENERATION_READ",
    # the final answer
    "OUTPUT_IN_TEXT", "OUTPUT_BARE", "ANSWER_BESIDE_CALLS",
]
WarningCodes: TypeAlias = tuple[WarningCode, ...]
UNREPAIRED: frozenset[WarningCode] = frozenset({
    "CALL_ENTRY_INVALID", "CALL_WITHOUT_NAME", "UNSUPPORTED_CALL_TYPE", "NAME_UNKNOWN",
    "ARGUMENTS_MAYBE_WRAPPED", "NON_TEXT_PART", "THINK_TAGS_IN_CONTENT", "TEXT_CALL_SUSPECTED",
    "TEXT_CALL_IN_REASONING", "TEXT_CALL_MALFORMED", "TEXT_CALL_TRUNCATED", "TEXT_CALL_TOO_LARGE",
    "TEXT_CALL_QUOTED", "TEXT_CALL_BUILTIN",
})
# fmt: on
"""Codes of what was noticed and left as it was, or skipped."""

WARNING_SENTENCES: Mapping[WarningCode, str] = {
    "COMPLETION_NESTED": "The completion was nested in another object; it was read from there.",
    "CHOICES_NOT_LIST": "The choices were an object instead of a list; its first choice was read.",
    "MULTIPLE_CHOICES": "There was more than one choice; one was read, and the calls that it announces.",
    "TOP_LEVEL_MESSAGE": "There were no choices, but a message at the top level; it was read.",
    "MESSAGE_NOT_OBJECT": "The message was text or a list instead of an object; its content was read.",
    "DELTA_INSTEAD_OF_MESSAGE": "The choice held a stream delta instead of a message; it was read.",
    "LEGACY_TEXT_CHOICE": "The choice held text, as the old completions did; it was read as the answer.",
    "ROLE_UNEXPECTED": "The role of the message is not assistant; it was read anyway.",
    "TOOL_CALLS_NOT_LIST": "The tool calls were not a flat list; the calls in it were read in order.",
    "TOOL_CALLS_MISPLACED": "The tool calls were outside the message; they were read from there.",
    "CALL_ENTRY_INVALID": "An entry of the tool calls was not a call; it was skipped.",
    "MISSING_FUNCTION_WRAPPER": "The name or the arguments of a call were not in its function object; "
    "they were read from where they were.",
    "LEGACY_FUNCTION_CALL": "There was a legacy function_call; it is used if there is no other call.",
    "CALLS_IN_CONTENT_PARTS": "There were calls among the parts of the content; they are used if there is "
    "no other call.",
    "CALL_WITHOUT_NAME": "A call had no name; it was skipped.",
    "UNSUPPORTED_CALL_TYPE": "A call had the type custom, whose input is not an object; it was skipped.",
    "MULTI_TOOL_USE_EXPANDED": "One call bundled several calls; each was read as a call of its own.",
    "CALL_ID_MISSING": "A call had no id; an id was generated.",
    "CALL_ID_NOT_STRING": "The id of a call was not a string; a number became text, else it was replaced.",
    "CALL_ID_DUPLICATE": "Two calls had the same id; both were kept, and the second has a new id.",
    "CALL_ID_REPEATED": "The id of a call was used earlier in the conversation; it is sent under a new id.",
    "NAME_NORMALIZED": "A tool's name came with blanks, a prefix, a control token or a dot; it was matched "
    "to the tool.",
    "NAME_UNKNOWN": "A call names a tool that does not exist; its name was not guessed.",
    "ARGUMENTS_NOT_STRING": "Arguments were a JSON value instead of its text; the value was used.",
    "ARGUMENTS_DOUBLE_ENCODED": "Arguments were JSON text inside a JSON string; they were decoded twice.",
    "ARGUMENTS_FENCED": "Arguments were in a code fence; the fence was removed.",
    "ARGUMENTS_EMPTY_LIST": "Arguments were an empty list; it was read as an empty object.",
    "ARGUMENTS_PYTHON_LITERAL": "Arguments were None or undefined; this was read as an empty object.",
    "ARGUMENTS_REPAIRED": "Arguments were complete but not strict JSON; their notation was repaired.",
    "ARGUMENTS_TRAILING_TEXT": "There was text after the arguments; it was ignored.",
    "ARGUMENTS_CONCATENATED": "Arguments were concatenated objects; equal objects count as one, different "
    "objects are an error.",
    "ARGUMENTS_DUPLICATE_KEYS": "Arguments had a duplicate key; the last value counts, or it is an error if "
    "repairs are strict.",
    "ARGUMENTS_MAYBE_WRAPPED": "Arguments are one object that looks like the arguments themselves; the "
    "tool's schema decides whether it is opened.",
    "ARGUMENTS_DECODED": "A value was JSON text where the tool's schema requires an array or an object; it "
    "was decoded, and is valid.",
    "ARGUMENTS_UNWRAPPED": "Arguments were in an envelope that the tool's schema does not mean; it was "
    "opened, and they are valid.",
    "NULL_ARGUMENT_DROPPED": "An optional argument was null where the tool's schema rejects null; it was "
    "dropped.",
    "LONE_SURROGATE": "There was a lone surrogate, which cannot be encoded in a request; it was replaced by "
    "U+FFFD.",
    "NON_FINITE_NUMBER": "There was a number that JSON does not allow, such as NaN; in arguments it is an "
    "error, elsewhere it is read as null.",
    "CONTENT_NOT_STRING": "The content was not a string; its text parts were joined, or its JSON was used.",
    "NON_TEXT_PART": "A part of the content was not text; it was skipped.",
    "THINK_TAGS_IN_CONTENT": "There was reasoning in the content; it was left in place.",
    "TEXT_CALL_SUSPECTED": "The content looks like a tool call written as text; it was not run.",
    "TEXT_CALL_IN_REASONING": "The reasoning looks like a tool call written as text; it was not run.",
    "TEXT_CALL_READ": "A tool call was written as text in an enabled dialect; it counts as a call.",
    "TEXT_CALL_MALFORMED": "A tool call written as text could not be parsed; it was not run.",
    "TEXT_CALL_TRUNCATED": "A tool call written as text was truncated; it was not run.",
    "TEXT_CALL_TOO_LARGE": "The content was too large to search for tool calls; it was left as text.",
    "TEXT_CALL_QUOTED": "A tool call written as text quotes a tool result or user message; it was not run.",
    "TEXT_CALL_WITH_RESULT": "The model invented the result of its call; the invented part was ignored.",
    "TEXT_CALL_BUILTIN": "A call was addressed to a built-in tool of the model; it was not run.",
    "END_MARKER_REMOVED": "A control token or a closing tag of a call was left at the end of the answer; it "
    "was removed.",
    "FINISH_MISMATCH": "The finish reason did not match the reply; the calls decided.",
    "FINISH_UNKNOWN": "The finish reason was missing or unknown; it was inferred from the reply.",
    "STREAM_FRAME_LOST": "A part of the stream could not be parsed; the text around it was kept.",
    "FAILED_GENERATION_READ": "The server rejected the call that the model wrote; its text was read anyway.",
    "OUTPUT_IN_TEXT": "There was other text around the JSON of the final answer; the JSON was taken.",
    "OUTPUT_BARE": "The value of the final answer was not in the object that was asked for; it was taken.",
    "ANSWER_BESIDE_CALLS": "The final answer came with calls of tools; they run first, and it was dropped.",
}
