"""``toolreel normalize``: parse replies of models, or text with calls in it, one JSON line each."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import IO

import click

from toolreel._cli.console import print_labelled
from toolreel._cli.errors import command, print_json
from toolreel._cli.options import SetOptions, settings_option
from toolreel._internal import count_with_noun
from toolreel_core._config_checks import unknown_name_message
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, JsonText, Tree, as_tree, canonical, parse, tree_at
from toolreel_core._plan import Preset
from toolreel_core._replies import (
    ERROR_WORDS,
    PROBLEM_WORDS,
    WARNING_SENTENCES,
    ArgumentError,
    Reply,
    as_chat,
    finish_reason_of_word,
    normalize_reply,
)
from toolreel_core._schema import violations
from toolreel_core._settings import LoopConfig
from toolreel_core._text_calls import DIALECTS, MARKED, TextCalls, text_calls
from toolreel_core._tools import ToolDefinition, ToolSurface

_EXPECTED = 'expected an object with "body" (JSON), "raw" (text of a body) or "content" (text)'
_REPLIES = frozenset({"body", "raw", "content"})
_LINE = canonical(
    parse(
        JsonText("""{"properties": {
"tools": {"type": ["array", "null"], "items": {"type": ["string", "object"]}},
"stream": {"type": "boolean"},
"schemas": {"type": "object", "additionalProperties": {"type": "object"}},
"enable": {"if": {"type": "array"}, "else": {"enum": ["all", "marked"]}},
"finish": {"type": "string"}
}}""")
    )
)
"""What a line may have next to the reply or the text itself."""


@command("normalize")
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--explain", is_flag=True, help="Print an explanation for people instead of JSON lines.")
@click.option("--dialects", "listed", is_flag=True, help="List the dialects of calls in text, and exit.")
@settings_option("Set a loop setting for replies, such as argument_repairs=strict. Repeatable.")
def normalize_command(file: IO[bytes], explain: bool, listed: bool, settings: SetOptions) -> int:
    """Parse replies of models: JSON lines from FILE or stdin in, JSON lines out.

    A line with a reply has it as "body" (JSON) or "raw" (text), and in "tools" the names of the available
    tools or their definitions as in a request. With "stream": true, "raw" is the text of a streamed
    reply (server-sent events). The output has the tool calls with validated arguments, the content, the
    finish reason, and warnings about everything that was repaired.

    A line with "content" is text in which a model wrote calls. Optional keys: "schemas", the JSON Schema of
    each tool's arguments; "enable", a list of dialects, "marked" (the default) or "all"; "finish", the finish
    reason. The output has "calls", "content", "reasoning" and "rejected". Marked dialects use a distinctive
    marker, so you can enable all of them. Bare dialects can also be ordinary answers: enable only those that
    your model writes (see --dialects).

    \b
    echo '{"raw": "<html>", "tools": []}' | toolreel normalize --explain
    echo '{"content": "<tool_call>ping</tool_call>", "tools": ["ping"]}' |
      toolreel normalize
    """
    if listed:
        for name in DIALECTS:
            click.echo(f"{name:<20}{'marked' if name in MARKED else 'bare'}")
        return 0
    if settings.options:
        raise ConfigError(
            f"--set {next(iter(settings.options))}: only loop settings affect how a reply is parsed"
        )
    config = Preset().config_with(settings.config)
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        try:
            case = _read_case(line)
            if case.keys().isdisjoint(("body", "raw")):
                found = _calls_in_text(case)
                tree, lines = (
                    _text_calls_tree(found),
                    _text_calls_explanation_rows(found, str(case["content"])),
                )
            else:
                reply = _normalize_reply_of_case(case, config)
                tree, lines = _reply_tree(reply), _reply_lines(reply)
        except ConfigError as error:
            raise ConfigError(f"line {number}: {error}") from None
        if explain:
            for label, text, style in lines:
                print_labelled(label.format(number), text, style)
        else:
            print_json(tree)
        sys.stdout.flush()
    return 0


def _read_case(line: bytes) -> Tree:
    """One line of input, parsed leniently: the reply itself reports what is wrong inside its body."""
    try:
        case = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"not UTF-8 at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f'not JSON: {error}; give a body that is not as "raw" text') from None
    if not isinstance(case, dict) or _REPLIES.isdisjoint(case):
        raise ConfigError(_EXPECTED)
    for violation in violations(_LINE, canonical({k: v for k, v in case.items() if k not in _REPLIES})):
        raise ConfigError(str(violation))
    return case


def _tool_schemas(tools: Json) -> dict[str, Tree | None]:
    found: dict[str, Tree | None] = {}
    for tool in tools if isinstance(tools, list) else ():
        entry = as_tree(tool) or {"name": tool}
        inner = tree_at(entry, "function") or entry
        found[str(inner.get("name", ""))] = tree_at(inner, "parameters") or None
    return found


def _normalize_reply_of_case(case: Tree, config: LoopConfig) -> Reply:
    raw, body = case.get("raw"), case.get("body")
    tools = _tool_schemas(case.get("tools")).items()
    surface = ToolSurface(tuple(ToolDefinition.of(name, parameters=schema) for name, schema in tools))
    if raw is None and "body" in case:
        # A JSON string is a body too; encode it, so that it is not taken for the text of a body.
        raw = json.dumps(body) if isinstance(body, str) else body
    elif not isinstance(raw, str):
        raise ConfigError('"raw": expected the text of a body; give JSON as "body"')
    if not case.get("stream"):
        return normalize_reply(raw, tools=surface, config=config)
    whole = as_chat(str(raw))
    reply = normalize_reply(whole.body, tools=surface, config=config)
    return replace(reply, warnings=(*whole.codes, *reply.warnings))


def _reply_tree(reply: Reply) -> Tree:
    calls: list[Json] = []
    for call in reply.calls:
        tree: dict[str, Json] = {"name": call.name, "arguments": None, "id": call.id}
        if isinstance(call.arguments, ArgumentError):
            tree["error"] = call.arguments.code
        else:
            tree["arguments"] = parse(call.arguments)
        calls.append(tree)
    return {
        "calls": calls,
        "content": reply.content,
        "finish": reply.finish,
        "problem": reply.problem.code if reply.problem else None,
        "warnings": list(reply.warnings),
        "carry": {"message": parse(reply.carry), "calls": [parse(call.carry) for call in reply.calls]},
    }


def _reply_lines(reply: Reply) -> Iterator[tuple[str, str, str]]:
    yield "line {}", f"finish {reply.finish}", "bold"
    if reply.content:
        yield "content", reply.content, ""
    for call in reply.calls:
        error, shown = call.arguments, str(call.arguments)
        if isinstance(error, ArgumentError):
            shown = f"{error.code}: {ERROR_WORDS[error.code]} Found: {error.detail}"
        yield "call", f"{call.name} {shown}", ""
    if problem := reply.problem:
        found = f" Found: {problem.detail}" if problem.detail else ""
        yield "problem", f"{problem.code}: {PROBLEM_WORDS[problem.code]}{found}", "red"
    for code in reply.warnings:
        yield "warning", f"{code}: {WARNING_SENTENCES[code]}", "yellow"


def _calls_in_text(case: Tree) -> TextCalls:
    content, enabled, tools = case["content"], case.get("enable"), _tool_schemas(case.get("tools"))
    if not isinstance(content, str):
        raise ConfigError('"content": expected text')
    dialects: Sequence[str] = DIALECTS if enabled == "all" else MARKED
    if isinstance(enabled, list):
        dialects = tuple(map(str, enabled))
    for name in dialects:
        if name not in DIALECTS:
            raise ConfigError(unknown_name_message("dialect", name, DIALECTS))
    return text_calls(
        content,
        tools=tuple(tools),
        dialects=dialects,
        finish=finish_reason_of_word(str(case.get("finish", "stop"))),
        schemas={**tools, **{name: as_tree(each) for name, each in tree_at(case, "schemas").items()}},
    )


def _text_calls_tree(found: TextCalls) -> Tree:
    calls: list[Json] = [
        {
            "id": call.id or f"call_{index}",
            "name": call.name,
            "arguments": parse(call.arguments),
            "provenance": f"text:{call.dialect}",
        }
        for index, call in enumerate(found.calls)
    ]
    texts = {"content": found.content, "reasoning": found.reasoning}
    return {"calls": calls, **texts, "rejected": list(found.rejected)}


def _text_calls_explanation_rows(found: TextCalls, content: str) -> Iterator[tuple[str, str, str]]:
    yield "line {}", count_with_noun(len(found.calls), "call"), "bold"
    for span in found.spans:
        if span.explanation:
            excerpt = json.dumps(content[span.start : span.end], ensure_ascii=False)
            yield f"{span.start}-{span.end}", excerpt if len(excerpt) <= 60 else f"{excerpt[:57]}…", ""
            yield "", span.explanation, ""
