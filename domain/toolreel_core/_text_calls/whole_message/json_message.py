"""Messages that are JSON: envelopes of tools that exist, and nothing besides."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from toolreel_core._jsontext.canonical import Json
from toolreel_core._jsontext.json_repair import BLANK, Flaw, value_at
from toolreel_core._text_calls.decoder import Found
from toolreel_core._text_calls.source import Source
from toolreel_core._text_calls.values.envelopes import bare_calls, wrapped_calls
from toolreel_core._text_calls.whole_message.reader import Whole, fenced, is_paragraph

# Surplus closers count as separators: models that double the outer braces lose count of them.
_BETWEEN: Final = re.compile(f"[{BLANK}}}\\];,]*")
_INFOS: Final = {"json", "tool_call", "tool_calls"}
# Command-R: `Action:` at the head of a line, directly before its fence.
_ACTION: Final = re.compile(r"(?:\A|\n)[ \t]*Action:\s*(?=```)")
# Only the beginning of a truncated message is there, so the name is searched instead of parsed.
_NAME: Final = re.compile(
    r"""["'](?:name|tool|tool_name|recipient_name)["']\s*:\s*["'](?P<name>[^"']{1,200})["']"""
)


def json_message(source: Source) -> Whole | None:
    """A message of Llama, xLAM, Ollama and others: an object, a few of them, a list, or a wrapper."""
    trees = _trees(source)
    dialect = _dialect(trees) if trees else ""
    calls = _calls(source, trees, dialect) if dialect in source.enabled else None
    return Whole(calls) if calls else None


def json_fence(source: Source) -> Whole | None:
    """A message that is one fence around such JSON."""
    parts = fenced(source.text)
    if parts is None or parts.info.lower() not in _INFOS:
        return None
    inner = Source(parts.body, source.offered, source.enabled, cut=False)
    calls = _calls(inner, _trees(inner), "json_fenced")
    return Whole(calls, parts.lead) if calls else None


def action_fence(source: Source) -> Whole | None:
    """Command-R's message: ``Action:`` and a fence around a list."""
    action = _ACTION.search(source.text) if source.text.endswith("```") else None
    if action is None or not is_paragraph(source.text[: action.start()]):
        return None
    parts = fenced(source.text[action.end() :])
    if parts is None or parts.lead or parts.info.lower() != "json":
        return None
    inner = Source(parts.body, source.offered, source.enabled, cut=False)
    calls = _calls(inner, _trees(inner), "cohere_action_fence")
    return Whole(calls, source.text[: action.start()].strip()) if calls else None


def begins_a_call(source: Source) -> bool:
    """Whether a message that was cut is JSON which had begun to name a tool that exists."""
    name = _NAME.search(source.text) if source.text.startswith(("{", "[", "```")) else None
    return name is not None and source.offered.named(name["name"]) in source.offered.names


def _trees(source: Source) -> list[Json]:
    """The values of a message that holds nothing else; empty if it holds something else.

    Qwen2.5-Coder doubles the outer braces, as its own chat template shows them (``{{"name": …}}``),
    and loses count of the closers.
    """
    text = source.text
    trees: list[Json] = []
    at = 0
    while at < len(text):
        doubled = text.startswith("{{", at)
        value = value_at(source, at + doubled)
        if isinstance(value, Flaw) or not text.startswith(("{", "["), at):
            return []
        trees.append(value.tree)
        between = _BETWEEN.match(text, value.end)
        at = between.end() if between else value.end
    return trees


def _dialect(trees: Sequence[Json]) -> str:
    if isinstance(trees[0], Mapping):
        wrapped = any(isinstance(tree, Mapping) and wrapped_calls(tree) is not None for tree in trees)
        return "json_envelope" if wrapped else "llama_json"
    return "json_array"


def _calls(source: Source, trees: Sequence[Json], dialect: str) -> tuple[Found, ...] | None:
    calls: list[Found] = []
    for tree in trees:
        read = bare_calls(tree, source.offered, dialect)
        if read is None:
            return None
        calls.extend(read)
    return tuple(calls)
