"""``toolreel normalize``: what replies mean, line by line."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import IO

import click

from toolreel._cli.live.set_options import parse_settings
from toolreel._cli.output.console import labelled, out
from toolreel._cli.output.errors import EPILOG, reporting
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import Json, parse
from toolreel_core._replies.calls.arguments import ERROR_WORDS, ArgumentError
from toolreel_core._replies.calls.tool_call import ToolCall
from toolreel_core._replies.errors import PROBLEM_WORDS
from toolreel_core._replies.normalize import Reply, normalize_reply
from toolreel_core._replies.streaming.stream import unstreamed
from toolreel_core._replies.warnings import WORDS, WarningCode
from toolreel_core._settings.config import LoopConfig
from toolreel_core._tools.surface import ToolDefinition, ToolSurface

__all__ = ["normalize_command"]


@click.command("normalize", epilog=EPILOG, short_help="Show what replies of any shape mean.")
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--explain", is_flag=True, help="Say in words what was found and done, instead of JSON lines.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting of the loop (argument_repairs=strict); may be repeated.",
)
@reporting
def normalize_command(file: IO[bytes], explain: bool, settings: tuple[str, ...]) -> int:
    """Read JSON lines of replies in FILE, or on stdin, and write what each means as a JSON line.

    A line holds the reply as "body" (JSON) or "raw" (text), and under "tools" the names of the tools
    that there are, or their definitions as they go to a model. With "stream": true, "raw" may be the
    text of a streamed reply, which is put together first.

    \b
    echo '{"raw": "<html>", "tools": []}' | toolreel normalize --explain
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    config = _config(settings)
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        with _naming(number):
            reply = _reply(line.removeprefix(BOM_UTF8) if number == 1 else line, config)
        if explain:
            _explain(number, reply)
        else:
            click.echo(json.dumps(_tree(reply), ensure_ascii=False).encode())
    return 0


def _config(settings: Iterable[str]) -> LoopConfig:
    chosen = parse_settings(settings)
    if chosen.options:
        raise ConfigError(
            f"--set {next(iter(chosen.options))}: a reply is read by settings of the loop alone"
        )
    return LoopConfig.of(chosen.config)


@contextmanager
def _naming(number: int) -> Generator[None]:
    """Complaints say which line they are about."""
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
    """The body of a line, and what was mended so that there is one."""
    raw, body, streamed = case.get("raw"), case.get("body"), case.get("stream")
    if raw is not None and not isinstance(raw, str):
        raise ConfigError('"raw": expected the text of a body; give JSON as "body"')
    if raw is None and "body" not in case:
        raise ConfigError('expected an object with "body" (JSON) or "raw" (text)')
    if streamed is not None and not isinstance(streamed, bool):
        raise ConfigError(f'"stream": expected true or false, got {json.dumps(streamed)}')
    if raw is not None:
        return unstreamed(raw) if streamed else (raw, ())
    # A JSON string is a body too, and no text of one.
    return json.dumps(body) if isinstance(body, str) else body, ()


def _case(line: bytes) -> Mapping[str, Json]:
    """One line; what is odd inside its body is for the reply to tell, so it is read without any rule."""
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
    """A tool by its name alone, or as an entry of a request's ``tools``."""
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
    told: dict[str, Json] = {"name": call.name, "arguments": None, "id": call.id}
    if isinstance(call.arguments, ArgumentError):
        return {**told, "error": call.arguments.code}
    return {**told, "arguments": parse(call.arguments)}


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
