"""``toolreel normalize``: parse replies of models, or text with calls in it, one JSON line each."""

from __future__ import annotations

import json
import sys
from codecs import BOM_UTF8
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import IO, Final

import click

from toolreel._cli.console import labelled, out
from toolreel._cli.errors import EPILOG, reporting, say
from toolreel._cli.options import parse_settings, settings_option
from toolreel._internal import counted
from toolreel_core._config_checks import unknown_name
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, parse
from toolreel_core._plan import Preset
from toolreel_core._replies import (
    ERROR_WORDS,
    PROBLEM_WORDS,
    WORDS,
    ArgumentError,
    Reply,
    as_chat,
    finish_of,
    normalize_reply,
)
from toolreel_core._settings import LoopConfig
from toolreel_core._text_calls import DIALECTS, MARKED, TextCalls, text_calls
from toolreel_core._tools import ToolDefinition, ToolSurface

_EXPECTED: Final = 'expected an object with "body" (JSON), "raw" (text of a body) or "content" (text)'
_TEXT_KEYS: Final = ("content", "tools", "schemas", "enable", "finish")
_SETS: Final[Mapping[str, Sequence[str]]] = {"all": DIALECTS, "marked": MARKED}


@click.command("normalize", epilog=EPILOG)
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--explain", is_flag=True, help="Print an explanation for people instead of JSON lines.")
@click.option("--dialects", "listed", is_flag=True, help="List the dialects of calls in text, and exit.")
@settings_option("Set a loop setting for replies, such as argument_repairs=strict. Repeatable.")
@reporting
def normalize_command(file: IO[bytes], explain: bool, listed: bool, settings: tuple[str, ...]) -> int:
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
    chosen = parse_settings(settings)
    if chosen.options:
        raise ConfigError(
            f"--set {next(iter(chosen.options))}: only loop settings affect how a reply is parsed"
        )
    config = Preset().config_with(chosen.config)
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        try:
            case = _read_case(line.removeprefix(BOM_UTF8) if number == 1 else line)
            text = case.get("content") if case.keys().isdisjoint(("body", "raw")) else None
            if text is None:
                _show_reply(number, _normalize_case(case, config), explain=explain)
            else:
                _show_text(number, str(text), _calls_in_text(case), explain=explain)
        except ConfigError as error:
            raise ConfigError(f"line {number}: {error}") from None
        sys.stdout.flush()
    return 0


def _read_case(line: bytes) -> Mapping[str, Json]:
    """One line of input, parsed leniently: the reply itself reports what is wrong inside its body."""
    try:
        case = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise ConfigError(f"not UTF-8 at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f'not JSON: {error}; give a body that is not as "raw" text') from None
    if not isinstance(case, dict):
        raise ConfigError(_EXPECTED)
    return case


def _tool_schemas(tools: Json) -> Mapping[str, Mapping[str, Json] | None]:
    """The schemas of tools that are given by their names, or as entries of a request's ``tools``."""
    if not isinstance(tools, Sequence) or isinstance(tools, str):
        raise ConfigError('"tools": expected a list of names or definitions, such as ["ping"]')
    found: dict[str, Mapping[str, Json] | None] = {}
    for tool in tools:
        inner = tool.get("function", tool) if isinstance(tool, Mapping) else {"name": tool}
        name = inner.get("name") if isinstance(inner, Mapping) else None
        if not isinstance(inner, Mapping) or not isinstance(name, str):
            raise ConfigError(f'"tools": expected names or definitions, got {json.dumps(tool)}')
        parameters = inner.get("parameters")
        found[name] = parameters if isinstance(parameters, Mapping) else None
    return found


def _normalize_case(case: Mapping[str, Json], config: LoopConfig) -> Reply:
    raw, body, streamed = case.get("raw"), case.get("body"), case.get("stream")
    tools = _tool_schemas(case.get("tools") or []).items()
    surface = ToolSurface(tuple(ToolDefinition.of(name, parameters=schema) for name, schema in tools))
    if raw is not None and not isinstance(raw, str):
        raise ConfigError('"raw": expected the text of a body; give JSON as "body"')
    if raw is None and "body" not in case:
        raise ConfigError(_EXPECTED)
    if streamed is not None and not isinstance(streamed, bool):
        raise ConfigError(f'"stream": expected true or false, got {json.dumps(streamed)}')
    if raw is None:
        # A JSON string is a body too; encode it, so that it is not taken for the text of a body.
        return normalize_reply(
            json.dumps(body) if isinstance(body, str) else body, tools=surface, config=config
        )
    if not streamed:
        return normalize_reply(raw, tools=surface, config=config)
    read = as_chat(raw)
    reply = normalize_reply(read.body, tools=surface, config=config)
    return replace(reply, warnings=(*read.codes, *reply.warnings))


def _calls_in_text(case: Mapping[str, Json]) -> TextCalls:
    for key in case:
        if key not in _TEXT_KEYS:
            raise ConfigError(unknown_name("key", key, _TEXT_KEYS))
    content, finish, schemas = case["content"], case.get("finish", "stop"), case.get("schemas", {})
    if not isinstance(content, str):
        raise ConfigError('"content": expected text')
    if not isinstance(finish, str):
        raise ConfigError('"finish": expected a finish reason such as "stop" or "length"')
    if not isinstance(schemas, Mapping) or not all(isinstance(each, Mapping) for each in schemas.values()):
        raise ConfigError('"schemas": expected an object of JSON Schemas by the names of tools')
    tools, enabled = _tool_schemas(case.get("tools")), case.get("enable", "marked")
    dialects: Collection[str] = _SETS.get(enabled, ()) if isinstance(enabled, str) else ()
    if not isinstance(enabled, str) and isinstance(enabled, Sequence):
        dialects = [*map(str, enabled)]
        for name in dialects:
            if name not in DIALECTS:
                raise ConfigError(unknown_name("dialect", name, DIALECTS))
    elif not dialects:
        raise ConfigError('"enable": expected "marked", "all" or a list of dialects')
    return text_calls(
        content,
        tools=tuple(tools),
        dialects=dialects,
        finish=finish_of(finish),
        schemas={**tools, **schemas},
    )


def _show_reply(number: int, reply: Reply, *, explain: bool) -> None:
    if not explain:
        calls: list[Json] = []
        for call in reply.calls:
            tree: dict[str, Json] = {"name": call.name, "arguments": None, "id": call.id}
            if isinstance(call.arguments, ArgumentError):
                calls.append({**tree, "error": call.arguments.code})
            else:
                calls.append({**tree, "arguments": parse(call.arguments)})
        carry: Json = {"message": parse(reply.carry), "calls": [parse(call.carry) for call in reply.calls]}
        problem = reply.problem.code if reply.problem else None
        whole: Mapping[str, Json] = {"calls": calls, "content": reply.content, "finish": reply.finish}
        say({**whole, "problem": problem, "warnings": list(reply.warnings), "carry": carry})
        return
    labelled(out, f"line {number}", f"finish {reply.finish}", "bold")
    if reply.content:
        labelled(out, "content", reply.content)
    for call in reply.calls:
        error, shown = call.arguments, str(call.arguments)
        if isinstance(error, ArgumentError):
            shown = f"{error.code}: {ERROR_WORDS[error.code]} Found: {error.detail}"
        labelled(out, "call", f"{call.name} {shown}")
    if reply.problem:
        words = PROBLEM_WORDS[reply.problem.code]
        found = f" Found: {reply.problem.detail}" if reply.problem.detail else ""
        labelled(out, "problem", f"{reply.problem.code}: {words}{found}", "red")
    for code in reply.warnings:
        labelled(out, "warning", f"{code}: {WORDS[code]}", "yellow")


def _show_text(number: int, content: str, found: TextCalls, *, explain: bool) -> None:
    """Print the calls in a text, or how each part of it was parsed."""
    if not explain:
        calls: list[Json] = [
            {
                "id": call.id or f"call_{index}",
                "name": call.name,
                "arguments": parse(call.arguments),
                "provenance": f"text:{call.dialect}",
            }
            for index, call in enumerate(found.calls)
        ]
        texts: Mapping[str, Json] = {"content": found.content, "reasoning": found.reasoning}
        say({"calls": calls, **texts, "rejected": list(found.rejected)})
        return
    labelled(out, f"line {number}", counted(len(found.calls), "call"), "bold")
    for span in found.spans:
        if span.explanation:
            excerpt = json.dumps(content[span.start : span.end], ensure_ascii=False)
            short = excerpt if len(excerpt) <= 60 else f"{excerpt[:57]}…"
            labelled(out, f"{span.start}-{span.end}", short)
            labelled(out, "", span.explanation)
