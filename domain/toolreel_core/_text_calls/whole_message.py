"""Messages that are a tool call as a whole: JSON, Python, or a name in a line of its own.

The bare dialects. A message is one of them only if nothing is around the call but a paragraph before it, and
only for tools that exist.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from toolreel_core._jsontext import BLANK, Flaw, Json, as_tree, end_of, parse, value_at
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._text_calls.decoder_interface import Rejection, Source, TextCall, TextCalls, found
from toolreel_core._text_calls.formats.function_notation import expression, expressions
from toolreel_core._text_calls.markers import SPECIAL
from toolreel_core._text_calls.payloads import (
    bare_calls,
    mentions,
    one_line_break_less,
    skip_blanks,
    typed,
    wrapped_calls,
)

_HEAD: Final = lazy_pattern(rf"(?:\s|\ufeff|{SPECIAL.pattern})*", re.IGNORECASE)
"""Blanks and special tokens before a message."""
_LAST: Final = lazy_pattern(rf"(?:{SPECIAL.pattern})\Z", re.IGNORECASE)
"""A special token at its end."""
_LONGEST_TOKEN: Final = 80
_FENCE: Final = lazy_pattern(r"^[ \t]*+```[ \t]*+(?P<info>[\w-]{0,40}+)[ \t]*+\n", re.MULTILINE)
"""The opening line of a code block."""


WholeReader: TypeAlias = Callable[[Source], "TextCalls | None"]


def fenced(text: str) -> tuple[str, str, str]:
    """What is before a message's code fence, which ends it, its info string, and its body."""
    opening = _FENCE.search(text) if text.endswith("```") else None
    if opening is None:
        return "", "", ""
    return text[: opening.start()].strip(), opening["info"], text[opening.end() : -3]


def is_plain_lead(text: str) -> bool:
    """Whether a text is at most one paragraph, without an unclosed quotation."""
    lines = text.strip().splitlines()
    code = "```" in text or "~~~" in text or "<!--" in text or text.count("`") % 2 == 1
    return not code and all(line.strip() for line in lines)


def without_tokens(text: str) -> str:
    """A message without the control tokens and blanks around it."""
    text = text[end_of(_HEAD, text, 0) :].rstrip()
    while last := _LAST.search(text, max(0, len(text) - _LONGEST_TOKEN)):
        text = text[: last.start()].rstrip()
    return text


# Surplus closers count as separators: models that double the outer braces lose count of them.
_BETWEEN: Final = lazy_pattern(f"[{BLANK}}}\\];,]*")
_INFOS: Final = {"json", "tool_call", "tool_calls"}
# Command-R: `Action:` at the head of a line, directly before its fence.
_ACTION_FENCE: Final = lazy_pattern(r"(?:\A|\n)[ \t]*Action:\s*(?=```json\b)", re.IGNORECASE)
# Only the beginning of a truncated message is there, so the name is searched instead of parsed.
_JSON_NAME: Final = lazy_pattern(
    r"""["'](?:name|tool|tool_name|recipient_name)["']\s*:\s*["'](?P<name>[^"']{1,200})["']"""
)


def json_message(source: Source) -> TextCalls | None:
    """A message of Llama, xLAM, Ollama and others: an object, a few of them, a list, or a wrapper."""
    trees = _json_values(source)
    dialect = "json_array"
    if trees and isinstance(trees[0], Mapping):
        wrapped = any(isinstance(tree, Mapping) and wrapped_calls(tree) is not None for tree in trees)
        dialect = "json_envelope" if wrapped else "llama_json"
    calls = _json_calls(source, trees, dialect) if trees and dialect in source.enabled else None
    return TextCalls(calls) if calls else None


def json_fence(source: Source) -> TextCalls | None:
    """A message that is one code fence around such JSON; Command-R writes ``Action:`` before it."""
    action = _ACTION_FENCE.search(source.text) if "cohere_action_fence" in source.enabled else None
    lead, info, body = fenced(source.text[action.end() :] if action else source.text)
    dialect = "cohere_action_fence" if action else "json_fenced"
    if action:
        lead = source.text[: action.start()].strip() + lead
    if info.lower() not in _INFOS or dialect not in source.enabled or not is_plain_lead(lead):
        return None
    inner = source.of(body)
    calls = _json_calls(inner, _json_values(inner), dialect)
    return TextCalls(calls, lead) if calls else None


def begins_a_call(source: Source) -> bool:
    """Whether a truncated message is JSON that names a known tool."""
    name = _JSON_NAME.search(source.text) if source.text.startswith(("{", "[", "```")) else None
    return name is not None and source.offered.named(name["name"]) in source.offered.names


def _json_values(source: Source) -> list[Json]:
    """The JSON values of a message; empty if there is anything else in it, or a value that is empty itself.

    Qwen2.5-Coder doubles the outer braces, as its own chat template shows them (``{{"name": …}}``),
    and loses count of the closers.
    """
    text = source.text
    trees: list[Json] = []
    at = 0
    while at < len(text):
        doubled = text.startswith("{{", at)
        value = value_at(source, at + doubled)
        if isinstance(value, Flaw) or not value.tree or not text.startswith(("{", "["), at):
            return []
        trees.append(value.tree)
        at = end_of(_BETWEEN, text, value.end)
    return trees


def _json_calls(source: Source, trees: Sequence[Json], dialect: str) -> tuple[TextCall, ...] | None:
    calls: list[TextCall] = []
    for tree in trees:
        read = bare_calls(tree, source.offered, dialect)
        if read is None:
            return None
        calls.extend(read)
    return tuple(calls)


# Gemini prints the result of a call: `print(default_api.f(a=1))`.
_PRINT: Final = lazy_pattern(r"\s*print\(")
# Gemini 2.5 leaks control tokens instead of the fence: `<ctrl42>call`, then the code.
_LEAKED: Final = lazy_pattern(
    r"^<ctrl\d{1,3}>call[ \t]*\n(?P<body>.*?)(?:<ctrl\d{1,3}>\s*)?\Z", re.MULTILINE | re.DOTALL
)
_LINE_END: Final = lazy_pattern(r"[ \t]*(?:\r?\n\s*|\Z)")
"""The end of a line with a call, and the blank lines after it."""
_CODE_END: Final = lazy_pattern(r"\s*;?\s*(?:#[^\n]*(?:\n|\Z)\s*)*")
"""What may follow a call in code: a semicolon, as in JavaScript, and comments."""
_REMARKS: Final = lazy_pattern(r"(?:\s*#[^\n]*(?:\n|\Z))*\s*")
"""Comments before the first call."""


def python_list(source: Source) -> TextCalls | None:
    """A message of Llama 3.2 and others that is one list of calls, or Granite's of lines with a call each."""
    if not source.text.startswith("["):
        calls = _calls_in_lines(source, 0, "pythonic_list", _LINE_END)
        given = [(call.name, as_tree(parse(call.arguments))) for call in calls]
        declared = (tree and tree.keys() <= source.offered.parameters(name).keys() for name, tree in given)
        return _whole_of_known_tools(source, calls if all(declared) else (), "")
    read = expressions(source, 0, "pythonic_list")
    if isinstance(read, Flaw) or read.end != len(source.text):
        return None
    return _whole_of_known_tools(source, read.calls, "")


def tool_code(source: Source) -> TextCalls | None:
    """Gemma's and Gemini's fence of calls, each possibly inside a ``print``."""
    lead, info, body = fenced(source.text)
    if info != "tool_code":
        leaked = _LEAKED.search(source.text)
        if leaked is None:
            return None
        lead, body = source.text[: leaked.start()].strip(), leaked["body"]
    begin = end_of(_REMARKS, body, 0)
    calls = _calls_in_lines(source.of(body), begin, "tool_code_fence", _CODE_END)
    return _whole_of_known_tools(source, calls if is_plain_lead(lead) else (), lead)


def _calls_in_lines(source: Source, at: int, dialect: str, end: re.Pattern[str]) -> tuple[TextCall, ...]:
    """The calls of a text that holds only calls; none if it holds anything else.

    :param end: what may follow a call
    """
    calls: list[TextCall] = []
    while at < len(source.text):
        printed = _PRINT.match(source.text, at) if dialect == "tool_code_fence" else None
        read = expression(source, printed.end() if printed else at, dialect)
        if isinstance(read, Flaw) or (printed and not source.text.startswith(")", read.end)):
            return ()
        behind = end.match(source.text, read.end + 1 if printed else read.end)
        if behind is None:
            return ()
        calls.extend(read.calls)
        at = behind.end()
    return tuple(calls)


def _whole_of_known_tools(source: Source, calls: tuple[TextCall, ...], lead: str) -> TextCalls | None:
    """The message if all of its calls name known tools."""
    return (
        TextCalls(calls, lead) if calls and all(call.name in source.offered.names for call in calls) else None
    )


# GLM-4-9B: the name, a line break, the object.
_NAME_LINE: Final = lazy_pattern(r"(?P<name>[\w.:-]{1,200})[ \t]*\r?\n\s*(?={)")
# Functionary 3.2: `>>>` opens a section at the head of a line only.
_SECTION: Final = lazy_pattern(r"(?:\A|\n)>>>")
# ReAct: lines of their own; the input may be in a code fence.
_ACTION: Final = lazy_pattern(
    r"^[ \t]*Action:(?P<name>[^\n]++)\n\s*Action Input:[ \t]*(?:\n?```\w*)?\s*",
    re.MULTILINE,
)
_THOUGHT: Final = lazy_pattern(r"^[ \t]*Thought:[ \t]*", re.MULTILINE)
"""The label of reasoning in ReAct's format."""
# After the input: the end of its fence, and a result that the model invented.
_REACT_END: Final = lazy_pattern(r"\s*(?:```)?\s*(?P<result>Observation:)?")


def name_and_json(source: Source) -> TextCalls | None:
    """GLM-4-9B's message: a name, and an object in the next line."""
    head = _NAME_LINE.match(source.text)
    call = _named_call(source, head["name"], head.end(), "glm4_name_json") if head else None
    return TextCalls((call,)) if call else None


def functionary(source: Source) -> TextCalls | None:
    """Functionary's message: sections for tools, and ``>>>all`` for the user."""
    if not source.text.startswith(">>>"):
        return None
    calls: list[TextCall] = []
    said: list[str] = []
    for section in _SECTION.split(source.text)[1:]:
        name, _, body = section.strip().partition("\n")
        if name.strip() == "all":
            said.append(body.strip())
            continue
        call = _named_call(source.of(section.strip()), name, len(name) + 1, "functionary_v32")
        if call is None:
            return None
        calls.append(call)
    return TextCalls(tuple(calls), "\n".join(said)) if calls else None


def react(source: Source) -> TextCalls | None:
    """ReAct's message: a thought, an action, and its input; the model invents any observation."""
    action = _ACTION.search(source.text) if "Action Input:" in source.text else None
    if action is None:
        return None
    lead, *thoughts = _THOUGHT.split(source.text[: action.start()])
    name = source.offered.named(action["name"].strip().strip("[]*"))
    if (
        name not in source.offered.names
        or not is_plain_lead(lead)
        or "Final Answer:" in source.text[: action.start()]
    ):
        return None
    at = action.end()
    value = value_at(source, at)
    if source.text.startswith("{", at) and not isinstance(value, Flaw) and isinstance(value.tree, Mapping):
        given, at = value.tree, value.end
    elif at == len(source.text) or source.text.startswith("Observation:", at):
        given = {}
    else:
        return None
    after = _REACT_END.match(source.text, at)
    if after is None or not (after["result"] or after.end() == len(source.text)):
        return None
    call = found(name, given, "react")
    thought = "\n".join(text.strip() for text in thoughts)
    rejected: tuple[Rejection, ...] = ("fabricated_result",) if after["result"] else ()
    return TextCalls((call,), lead.strip(), thought, rejected) if call else None


def _named_call(source: Source, raw: str, at: int, dialect: str) -> TextCall | None:
    """The call of a known tool whose arguments are the rest of the text."""
    name = source.offered.named(raw)
    value = value_at(source, at)
    if name not in source.offered.names or isinstance(value, Flaw) or not isinstance(value.tree, Mapping):
        return None
    return (
        found(name, value.tree, dialect) if skip_blanks(source.text, value.end) == len(source.text) else None
    )


# Any name: only those of known tools and of their parameters count. `<ping/>` is a call without any.
_TAG: Final = lazy_pattern(r"<(?P<name>[\w.-]{1,200})(?:\s*|(?P<listed>\s[^<>]{1,4000}?))(?P<void>/?)>")
# Without entities, escapes and markup, whose meaning would be a guess.
_ATTRIBUTE: Final = lazy_pattern(
    r"""\s+(?P<key>[\w.-]{1,200})=(?:"(?P<double>[^"&\\]*)"|'(?P<single>[^'&\\]*)')"""
)


def tool_tags(source: Source) -> TextCalls | None:
    """A message of tags that name tools, as prompts after Cline's request; a paragraph may precede them."""
    tags = (tag for tag in _TAG.finditer(source.text) if tag["void"] or not tag["listed"])
    first = next((tag for tag in tags if tag["name"] in source.offered.names), None)
    if first is None or not is_plain_lead(lead := source.text[: first.start()]):
        return None
    calls: list[TextCall] = []
    at = first.start()
    while at < len(source.text):
        call, end = _tag_call(source, at)
        if call is None:
            return None
        calls.append(call)
        at = skip_blanks(source.text, end)
    return TextCalls(tuple(calls), lead.strip())


def _tag_call(source: Source, at: int) -> tuple[TextCall | None, int]:
    """The call of the tag that begins here, if it is one, and its end."""
    tag = _TAG.match(source.text, at)
    if tag is None or tag["name"] not in source.offered.names or (tag["listed"] and not tag["void"]):
        return None, at
    name, end = tag["name"], tag.end()
    if tag["void"]:
        given = _attributes(source, name, tag["listed"] or "")
    else:
        given, at = _tag_arguments(source, end, name)
        closing = f"</{name}>"
        end = at + len(closing) if source.text.startswith(closing, at) else -1
    if given is None or end < 0 or not source.offered.satisfied(name, given):
        return None, at
    return found(name, given, "tool_tag_xml"), end


def _attributes(source: Source, name: str, listed: str) -> Mapping[str, Json] | None:
    """Declared parameters as attributes; ``None`` if anything else is there."""
    given: dict[str, Json] = {}
    at = 0
    while attribute := _ATTRIBUTE.match(listed, at):
        key = attribute["key"]
        if key in given or key not in source.offered.parameters(name):
            return None
        text = attribute["double"] if attribute["double"] is not None else attribute["single"]
        given[key] = typed(text, source.offered.parameter(name, key))
        at = attribute.end()
    return given if not listed[at:].strip() else None


def _tag_arguments(source: Source, at: int, name: str) -> tuple[Mapping[str, Json] | None, int]:
    """The parameters of a tool, as tags or as one object, and their end."""
    at = skip_blanks(source.text, at)
    schemas = source.offered.parameters(name)
    if source.text.startswith("{", at):
        value = value_at(source, at)
        if isinstance(value, Flaw) or not isinstance(value.tree, Mapping):
            return None, at
        return value.tree, skip_blanks(source.text, value.end)
    given: dict[str, Json] = {}
    while (tag := _TAG.match(source.text, at)) and tag["name"] in schemas:
        end = source.find(f"</{tag['name']}>", tag.end())
        if tag["void"] or tag["listed"] or end < 0:
            return None, at
        text = one_line_break_less(source.text[tag.end() : end])
        if (again := text.find(tag[0])) >= 0 and not mentions(text[:again]):
            return None, at
        given[tag["name"]] = typed(text, source.offered.parameter(name, tag["name"]))
        at = skip_blanks(source.text, end + len(tag["name"]) + 3)
    return given, at
