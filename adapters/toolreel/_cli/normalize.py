"""``toolreel normalize``: parse replies of models, one JSON line each."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import IO

import click

from toolreel._cli.console import labelled, out
from toolreel._cli.errors import EPILOG, reporting, say
from toolreel._cli.options import parse_settings, settings_option
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import Json, parse
from toolreel_core._replies.calls.arguments import ERROR_WORDS, ArgumentError
from toolreel_core._replies.calls.tool_call import ToolCall
from toolreel_core._replies.normalize import normalize_reply
from toolreel_core._replies.provider_errors import PROBLEM_WORDS
from toolreel_core._replies.reply import Reply
from toolreel_core._replies.streaming.stream import unstreamed
from toolreel_core._replies.warning_codes import WORDS, WarningCode
from toolreel_core._settings.loop_config import LoopConfig
from toolreel_core._tools.surface import ToolSurface
from toolreel_core._tools.tool_definition import ToolDefinition


@click.command("normalize", epilog=EPILOG, short_help="Parse replies of models into calls and content.")
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--explain", is_flag=True, help="Print an explanation for people instead of JSON lines.")
@settings_option("Set a loop setting, such as argument_repairs=strict. Repeatable.")
@reporting
def normalize_command(file: IO[bytes], explain: bool, settings: tuple[str, ...]) -> int:
    """Parse replies of models: JSON lines from FILE or stdin in, JSON lines out.

    Each line holds a reply as "body" (JSON) or "raw" (text), and in "tools" the names of the available
    tools or their definitions as in a request. With "stream": true, "raw" is the text of a streamed
    reply (server-sent events). The output has the tool calls with validated arguments, the content, the
    finish reason, and warnings about everything that was repaired.

    \b
    echo '{"raw": "<html>", "tools": []}' | toolreel normalize --explain
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    config = _config(settings)
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        with _numbered_errors(number):
            reply = _reply(line.removeprefix(BOM_UTF8) if number == 1 else line, config)
        if explain:
            _explain(number, reply)
        else:
            say(_tree(reply))
    return 0


def _config(settings: Iterable[str]) -> LoopConfig:
    chosen = parse_settings(settings)
    if chosen.options:
        raise ConfigError(
            f"--set {next(iter(chosen.options))}: only loop settings affect how a reply is parsed"
        )
    return LoopConfig.of(chosen.config)


@contextmanager
def _numbered_errors(number: int) -> Generator[None]:
    """Put the line number before the text of a ``ConfigError``."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"line {number}: {error}") from None


def _reply(line: bytes, config: LoopConfig) -> Reply:
    case = _case(line)
    tools = case.get("tools") or []
    if not isinstance(tools, Sequence) or isinstance(tools, str):
        raise ConfigError('"tools": expected a list of names or definitions')
    surface = ToolSurface(tuple({tool.name: tool for tool in map(_definition, tools)}.values()))
    body, codes = _body(case)
    reply = normalize_reply(body, tools=surface, config=config)
    return replace(reply, warnings=(*codes, *reply.warnings)) if codes else reply


def _body(case: Mapping[str, Json]) -> tuple[Json, tuple[WarningCode, ...]]:
    """The body of a line, and warnings about repairs that were needed to read it."""
    raw, body, streamed = case.get("raw"), case.get("body"), case.get("stream")
    if raw is not None and not isinstance(raw, str):
        raise ConfigError('"raw": expected the text of a body; give JSON as "body"')
    if raw is None and "body" not in case:
        raise ConfigError('expected an object with "body" (JSON) or "raw" (text)')
    if streamed is not None and not isinstance(streamed, bool):
        raise ConfigError(f'"stream": expected true or false, got {json.dumps(streamed)}')
    if raw is not None:
        return unstreamed(raw) if streamed else (raw, ())
    # A JSON string is a body too; encode it, so that it is not taken for the text of a body.
    return json.dumps(body) if isinstance(body, str) else body, ()


def _case(line: bytes) -> Mapping[str, Json]:
    """One line of input, parsed leniently: the reply itself reports what is wrong inside its body."""
    try:
        case = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise ConfigError(f"not UTF-8 at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f'not JSON: {error}; give a body that is not as "raw" text') from None
    if not isinstance(case, dict):
        raise ConfigError('expected an object with "body" (JSON) or "raw" (text)')
    return case


def _definition(tool: Json) -> ToolDefinition:
    """A tool given by its name, or as an entry of a request's ``tools``."""
    inner = tool.get("function", tool) if isinstance(tool, Mapping) else {"name": tool}
    name = inner.get("name") if isinstance(inner, Mapping) else None
    if not isinstance(inner, Mapping) or not isinstance(name, str):
        raise ConfigError(f'"tools": expected names or definitions, got {json.dumps(tool)}')
    parameters = inner.get("parameters")
    return ToolDefinition.of(name, parameters=parameters if isinstance(parameters, Mapping) else None)


def _tree(reply: Reply) -> Mapping[str, Json]:
    return {
        "calls": [_call(call) for call in reply.calls],
        "content": reply.content,
        "finish": reply.finish,
        "problem": reply.problem.code if reply.problem else None,
        "warnings": list(reply.warnings),
        "carry": {"message": parse(reply.carry), "calls": [parse(call.carry) for call in reply.calls]},
    }


def _call(call: ToolCall) -> Mapping[str, Json]:
    tree: dict[str, Json] = {"name": call.name, "arguments": None, "id": call.id}
    if isinstance(call.arguments, ArgumentError):
        return {**tree, "error": call.arguments.code}
    return {**tree, "arguments": parse(call.arguments)}


def _explain(number: int, reply: Reply) -> None:
    labelled(out, f"line {number}", f"finish {reply.finish}", "bold")
    if reply.content:
        labelled(out, "content", reply.content)
    for call in reply.calls:
        labelled(out, "call", f"{call.name} {_arguments(call)}")
    if reply.problem:
        words = PROBLEM_WORDS[reply.problem.code]
        found = f" Found: {reply.problem.detail}" if reply.problem.detail else ""
        labelled(out, "problem", f"{reply.problem.code}: {words}{found}", "red")
    for code in reply.warnings:
        labelled(out, "warning", f"{code}: {WORDS[code]}", "yellow")


def _arguments(call: ToolCall) -> str:
    error = call.arguments
    if not isinstance(error, ArgumentError):
        return error
    return f"{error.code}: {ERROR_WORDS[error.code]} Found: {error.detail}"
