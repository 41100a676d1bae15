"""Messages that are a tool call as a whole: JSON, Python, or a name in a line of its own.

The bare dialects. A message is one of them only if nothing is around the call but a paragraph before it, and
only for tools that exist.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from toolreel_core._jsontext import BLANK, Flaw, Json, as_tree, end_of_match, parse, value_at
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._text_calls.decoder_interface import (
    Rejection,
    Source,
    TextCall,
    TextCalls,
    text_call_if_valid,
)
from toolreel_core._text_calls.markers import SPECIAL
from toolreel_core._text_calls.named_calls import CODE, Expressions, call_expressions
from toolreel_core._text_calls.payloads import (
    bare_calls,
    is_tag_only_mentioned,
    object_at,
    skip_blanks,
    typed_value,
    without_outer_line_breaks,
    wrapped_calls,
)

_HEAD = lazy_pattern(rf"(?:\s|\ufeff|{SPECIAL.pattern})*", re.IGNORECASE)
_LAST = lazy_pattern(rf"(?:{SPECIAL.pattern})\Z", re.IGNORECASE)
# More than the longest token has; a search from further back takes quadratic time for a row of tokens.
_LONGEST_TOKEN = 80
_FENCE = lazy_pattern(r"^[ \t]*+```[ \t]*+(?P<info>[\w-]{0,40}+)[ \t]*+\n", re.MULTILINE)


WholeReader: TypeAlias = Callable[[Source], "TextCalls | None"]


def split_fence(text: str) -> tuple[str, str, str]:
    """What is before a message's code fence, which ends it, its info string, and its body."""
    opening = _FENCE.search(text) if text.endswith("```") else None
    if opening is None:
        return "", "", ""
    return text[: opening.start()].strip(), opening["info"], text[opening.end() : -3]


def is_lead_without_code(text: str) -> bool:
    lines = text.strip().splitlines()
    code = "```" in text or "~~~" in text or "<!--" in text or text.count("`") % 2 == 1
    # A blank line begins a second paragraph: then the message is an answer that shows a call.
    return not code and all(line.strip() for line in lines)


def without_template_tokens(text: str) -> str:
    text = text[end_of_match(_HEAD, text, 0) :].rstrip()
    while last := _LAST.search(text, max(0, len(text) - _LONGEST_TOKEN)):
        text = text[: last.start()].rstrip()
    return text


# Surplus closers count as separators: models that double the outer braces lose count of them.
_BETWEEN = lazy_pattern(f"[{BLANK}}}\\];,]*")
_INFOS = {"json", "tool_call", "tool_calls"}
# Command-R: `Action:` at the head of a line, directly before its fence.
_ACTION_FENCE = lazy_pattern(r"(?:\A|\n)[ \t]*Action:\s*(?=```json\b)", re.IGNORECASE)
# Only the beginning of a truncated message is there, so the name is searched instead of parsed.
_JSON_NAME = lazy_pattern(
    r"""["'](?:name|tool|tool_name|recipient_name)["']\s*:\s*["'](?P<name>[^"']{1,200})["']"""
)


def json_message_calls(source: Source) -> TextCalls | None:
    """A message of Llama, xLAM, Ollama and others: an object, a few of them, a list, or a wrapper."""
    trees = _json_values(source)
    dialect = "json_array"
    if trees and isinstance(trees[0], Mapping):
        wrapped = any(isinstance(tree, Mapping) and wrapped_calls(tree) is not None for tree in trees)
        dialect = "json_envelope" if wrapped else "llama_json"
    calls = bare_calls(trees, source.offered, dialect) if dialect in source.enabled else ()
    return TextCalls(calls) if calls else None


def fenced_json_calls(source: Source) -> TextCalls | None:
    """A message that is one code fence around such JSON; Command-R writes ``Action:`` before it."""
    action = _ACTION_FENCE.search(source.text) if "cohere_action_fence" in source.enabled else None
    lead, info, body = split_fence(source.text[action.end() :] if action else source.text)
    dialect = "json_fenced"
    if action:
        lead, dialect = source.text[: action.start()].strip(), "cohere_action_fence"
    if info.lower() not in _INFOS or dialect not in source.enabled or not is_lead_without_code(lead):
        return None
    inner = source.of(body)
    calls = bare_calls(_json_values(inner), inner.offered, dialect)
    return TextCalls(calls, lead) if calls else None


def begins_a_call(source: Source) -> bool:
    name = _JSON_NAME.search(source.text) if source.text.startswith(("{", "[", "```")) else None
    return name is not None and source.offered.resolve_name(name["name"]) in source.offered.names


def _json_values(source: Source) -> list[Json]:
    """The JSON values of a message; empty if there is anything else in it.

    Qwen2.5-Coder doubles the outer braces, as its own chat template shows them (``{{"name": …}}``),
    and loses count of the closers.
    """
    text = source.text
    trees: list[Json] = []
    at = 0
    while at < len(text):
        doubled = text.startswith("{{", at)
        value = value_at(source, at + doubled)
        # An empty value is not a call, and a long row of `{}` need not be read on.
        if isinstance(value, Flaw) or not value.tree:
            return []
        trees.append(value.tree)
        at = end_of_match(_BETWEEN, text, value.end)
    return trees


# Gemini 2.5 leaks control tokens instead of the fence: `<ctrl42>call`, then the code.
_LEAKED = lazy_pattern(
    r"^<ctrl\d{1,3}>call[ \t]*\n(?P<body>.*?)(?:<ctrl\d{1,3}>\s*)?\Z", re.MULTILINE | re.DOTALL
)


def python_list_calls(source: Source) -> TextCalls | None:
    """A message of Llama 3.2 and others that is one list of calls, or Granite's of calls in a row."""
    whole = _calls_if_only_code(source, call_expressions(source, 0, "pythonic_list"))
    if whole is None or source.text.startswith("["):
        return whole
    given = [(call.name, as_tree(parse(call.arguments))) for call in whole.calls]
    # Such lines may be code of an answer, so each call needs keywords of its tool (vllm-project/vllm#43116).
    declared = (tree and tree.keys() <= source.offered.parameters(name).keys() for name, tree in given)
    return whole if all(declared) else None


def tool_code_calls(source: Source) -> TextCalls | None:
    """Gemma's and Gemini's fence of calls, each possibly inside a ``print``."""
    lead, info, body = split_fence(source.text)
    if info != "tool_code":
        leaked = _LEAKED.search(source.text)
        if leaked is None:
            return None
        lead, body = source.text[: leaked.start()].strip(), leaked["body"]
    code = source.of(body)
    read = call_expressions(code, 0, "tool_code_fence", style=CODE)
    return _calls_if_only_code(code, read, lead) if is_lead_without_code(lead) else None


def _calls_if_only_code(source: Source, read: Expressions, lead: str = "") -> TextCalls | None:
    calls, end, flaw = read
    known = all(call.name in source.offered.names for call in calls)
    return TextCalls(calls, lead) if known and not flaw and end == len(source.text) else None


# GLM-4-9B: the name, a line break, the object.
_NAME_LINE = lazy_pattern(r"(?P<name>[\w.:-]{1,200})[ \t]*\r?\n\s*(?={)")
# Functionary 3.2: `>>>` opens a section at the head of a line only.
_SECTION = lazy_pattern(r"(?:\A|\n)>>>")
# ReAct: lines of their own; the input may be in a code fence.
_ACTION = lazy_pattern(
    r"^[ \t]*Action:(?P<name>[^\n]++)\n\s*Action Input:[ \t]*(?:\n?```\w*)?\s*",
    re.MULTILINE,
)
_THOUGHT = lazy_pattern(r"^[ \t]*Thought:[ \t]*", re.MULTILINE)
# After the input: the end of its fence, and a result that the model invented.
_REACT_END = lazy_pattern(r"\s*(?:```)?\s*(?P<result>Observation:)?")


def name_and_json_call(source: Source) -> TextCalls | None:
    head = _NAME_LINE.match(source.text)
    call = _call_of_name_then_object(source, head["name"], head.end(), "glm4_name_json") if head else None
    return TextCalls((call,)) if call else None


def functionary_calls(source: Source) -> TextCalls | None:
    """Functionary's message: sections for tools, and ``>>>all`` for the user."""
    if not source.text.startswith(">>>"):
        return None
    calls: list[TextCall] = []
    answers: list[str] = []
    for section in _SECTION.split(source.text)[1:]:
        name, _, body = section.strip().partition("\n")
        if name.strip() == "all":
            answers.append(body.strip())
            continue
        call = _call_of_name_then_object(source.of(body), name, 0, "functionary_v32")
        if call is None:
            return None
        calls.append(call)
    return TextCalls(tuple(calls), "\n".join(answers)) if calls else None


def react_call(source: Source) -> TextCalls | None:
    """ReAct's message: a thought, an action, and its input; the model invents any observation."""
    action = _ACTION.search(source.text)
    if action is None:
        return None
    lead, *thoughts = _THOUGHT.split(source.text[: action.start()])
    name = source.offered.resolve_name(action["name"].strip(" \t\r[]*"))
    if (
        name not in source.offered.names
        or not is_lead_without_code(lead)
        # A final answer ends ReAct's loop, so that no action follows it.
        or "Final Answer:" in source.text[: action.start()]
    ):
        return None
    given, at = object_at(source, action.end()) or ({}, action.end())
    after = _REACT_END.match(source.text, at)
    if after is None or not (after["result"] or after.end() == len(source.text)):
        return None
    call = text_call_if_valid(name, given, "react")
    thought = "\n".join(text.strip() for text in thoughts)
    rejected: tuple[Rejection, ...] = ("fabricated_result",) if after["result"] else ()
    return TextCalls((call,), lead.strip(), thought, rejected) if call else None


def _call_of_name_then_object(source: Source, raw: str, at: int, dialect: str) -> TextCall | None:
    name = source.offered.resolve_name(raw)
    read = object_at(source, at)
    if name not in source.offered.names or read is None:
        return None
    given, end = read
    return (
        text_call_if_valid(name, given, dialect)
        if skip_blanks(source.text, end) == len(source.text)
        else None
    )


# Any name: only those of known tools and of their parameters count. `<ping/>` is a call without any.
_TAG = lazy_pattern(r"<(?P<name>[\w.-]{1,200})(?:\s*|(?P<listed>\s[^<>]{1,4000}?))(?P<void>/?)>")
# Without entities, escapes and markup, whose meaning would be a guess.
_ATTRIBUTES = lazy_pattern(r"""(?:\s+[\w.-]{1,200}=(?:"[^"&\\]*"|'[^'&\\]*'))*\s*""")
_ATTRIBUTE = lazy_pattern(r"""(?P<key>[\w.-]{1,200})=(?P<mark>["'])(?P<text>.*?)(?P=mark)""", re.DOTALL)
_MEMBER = lazy_pattern(r"<(?P<key>[\w.-]{1,200})>(?P<text>.*?)</(?P=key)>\s*", re.DOTALL)


def tool_tag_calls(source: Source) -> TextCalls | None:
    """A message of tags that name tools, as prompts after Cline's request; a paragraph may precede them."""
    tags = (tag for tag in _TAG.finditer(source.text) if tag["void"] or not tag["listed"])
    first = next((tag for tag in tags if tag["name"] in source.offered.names), None)
    if first is None or not is_lead_without_code(lead := source.text[: first.start()]):
        return None
    calls: list[TextCall] = []
    at = first.start()
    while at < len(source.text):
        tag = _TAG.match(source.text, at)
        read = _tag_call(source, tag) if tag else None
        if read is None:
            return None
        call, end = read
        calls.append(call)
        at = skip_blanks(source.text, end)
    return TextCalls(tuple(calls), lead.strip())


def _tag_call(source: Source, tag: re.Match[str]) -> tuple[TextCall, int] | None:
    """The call of a tag, if it is one, and its end: its parameters are attributes, tags, or one object."""
    text, name, end = source.text, tag["name"], skip_blanks(source.text, tag.end())
    given: dict[str, Json] = {}
    members: list[re.Match[str]] = []
    if tag["void"]:
        listed = tag["listed"] or ""
        # As in Extra-Chill/data-machine#2436.
        members, end = [*_ATTRIBUTE.finditer(listed)], tag.end()
        if not _ATTRIBUTES.fullmatch(listed):
            return None
    else:
        # As in musistudio/claude-code-router#1340.
        if inner := object_at(source, end) if text.startswith("{", end) else None:
            given, end = {**inner[0]}, skip_blanks(text, inner[1])
        while member := _MEMBER.match(text, end):
            members.append(member)
            end = member.end()
        closing = f"</{name}>"
        if tag["listed"] or not text.startswith(closing, end):
            return None
        end += len(closing)
    for member in members:
        key, value = member["key"], without_outer_line_breaks(member["text"])
        again = value.find(f"<{key}>")
        if key not in source.offered.parameters(name) or (
            again >= 0 and not is_tag_only_mentioned(value[:again])
        ):
            return None
        given[key] = typed_value(value, source.offered.parameter(name, key))
    known = name in source.offered.names and source.offered.has_required_arguments(name, given)
    # With fewer arguments than members, one stands twice.
    call = text_call_if_valid(name, given, "tool_tag_xml") if known and len(given) >= len(members) else None
    return (call, end) if call else None
