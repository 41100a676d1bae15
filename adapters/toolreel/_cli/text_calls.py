"""``toolreel text-calls``: find tool calls that models wrote as text, one JSON line each."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Final, assert_never

import click

from toolreel._cli.console import err, printable
from toolreel._cli.errors import EPILOG, reporting, say
from toolreel_core._errors import ConfigError
from toolreel_core._internal.name_registry import unknown_name
from toolreel_core._jsontext.canonical import Json, either, parse, read
from toolreel_core._replies.classification import Finish, finish_of
from toolreel_core._text_calls.dialects import DIALECTS, MARKED
from toolreel_core._text_calls.parse import TextCalls, text_calls
from toolreel_core._text_calls.scanner import Span

_KEYS: Final = ("content", "tools", "schemas", "enable", "finish")
_SETS: Final[Mapping[str, Sequence[str]]] = {"all": DIALECTS, "marked": MARKED}
_WHY: Final[Mapping[str, str]] = {
    "malformed": "looks like a call, but cannot be read as one",
    "truncated": "a truncated call; truncated calls are never run",
    "builtin_recipient": "addressed to a built-in tool of the model's vendor, not to one of yours",
    "fabricated_result": "a result that the model made up; everything after it is ignored",
    "quotation": "a quoted call, or one that repeats the conversation",
    "too_large": "more than 256 KiB of text; it was not searched",
}
_KEPT: Final[Mapping[str, str]] = {
    "frame": "message framing; it is not part of the content",
    "quotation": "code, a comment, reasoning or another quotation; calls in it are ignored",
}


@dataclass(frozen=True, slots=True)
class _Request:
    """One line of the input."""

    content: str
    tools: Sequence[str]
    schemas: Mapping[str, Json]
    dialects: Collection[str]
    finish: Finish


@click.command("text-calls", epilog=EPILOG, short_help="Find tool calls that a model wrote as text.")
@click.argument("file", type=click.File("rb"), default="-")
@click.option(
    "--explain",
    is_flag=True,
    help="Print to stderr which parts were parsed as calls, and why others were not.",
)
@click.option("--dialects", "listed", is_flag=True, help="List the dialects, marked or bare, and exit.")
@reporting
def text_calls_command(file: IO[bytes], explain: bool, listed: bool) -> int:
    """Find tool calls that a model wrote as text: JSON lines from FILE or stdin in, JSON lines out.

    Each line holds "content", the text, and "tools", the names of the available tools or their
    definitions. Optional keys: "schemas", the JSON Schema of each tool's arguments; "enable", a list
    of dialects, "marked" (the default) or "all"; "finish", the finish reason. The output has "calls",
    "content", "reasoning" and "rejected".

    Marked dialects use a distinctive marker, so you can enable all of them. Bare dialects can also be
    ordinary answers: enable only those that your model writes (see --dialects).

    \b
    echo '{"content": "<tool_call>ping</tool_call>", "tools": ["ping"]}' |
      toolreel text-calls --explain
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    if listed:
        for name in DIALECTS:
            click.echo(f"{name:<20}{'marked' if name in MARKED else 'bare'}")
        return 0
    for number, line in enumerate(file, 1):
        if line.strip():
            request = _parse_line(f"line {number}", line)
            found = text_calls(
                request.content,
                tools=request.tools,
                dialects=request.dialects,
                finish=request.finish,
                schemas=request.schemas,
            )
            say(_tree(found))
            sys.stdout.flush()
            if explain:
                _explain(number, request.content, found)
    return 0


def _parse_line(place: str, line: bytes) -> _Request:
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{place}: it is not UTF-8 at byte {error.start}; write it as UTF-8") from None
    tree = either(read(text).alt(lambda why: f"{why}; write one JSON object to a line"))
    if isinstance(tree, str):
        raise ConfigError(f"{place}: {tree}")
    if not isinstance(tree, Mapping):
        raise ConfigError(f'{place}: it is not a JSON object; write {{"content": …, "tools": […]}}')
    for key in tree:
        if key not in _KEYS:
            raise ConfigError(f"{place}: {unknown_name('key', key, _KEYS)}")
    content, finish, schemas = tree.get("content"), tree.get("finish", "stop"), tree.get("schemas", {})
    if not isinstance(content, str):
        raise ConfigError(f'{place}: "content" is required and must be text')
    if not isinstance(finish, str):
        raise ConfigError(f'{place}: "finish" must be a finish reason such as "stop" or "length"')
    if not isinstance(schemas, Mapping) or not all(isinstance(each, Mapping) for each in schemas.values()):
        raise ConfigError(f'{place}: "schemas" must be an object of JSON Schemas by the names of tools')
    tools = _tools(place, tree.get("tools"))
    return _Request(content, tuple(tools), {**tools, **schemas}, _dialects(place, tree), finish_of(finish))


def _tools(place: str, raw: Json) -> Mapping[str, Json]:
    """The parameter schema of each tool, given by its name or as an entry of a request's ``tools``."""
    tools: dict[str, Json] = {}
    for tool in raw if isinstance(raw, Sequence) and not isinstance(raw, str) else (None,):
        inner = tool.get("function", tool) if isinstance(tool, Mapping) else {"name": tool}
        name = inner.get("name") if isinstance(inner, Mapping) else None
        if not isinstance(inner, Mapping) or not isinstance(name, str):
            raise ConfigError(f'{place}: "tools" must be a list of names or definitions, such as ["ping"]')
        tools[name] = inner.get("parameters")
    return tools


def _dialects(place: str, tree: Mapping[str, Json]) -> Collection[str]:
    raw = tree.get("enable", "marked")
    if isinstance(raw, str) and raw in _SETS:
        return _SETS[raw]
    if isinstance(raw, str) or not isinstance(raw, Sequence):
        raise ConfigError(f'{place}: "enable" must be "marked", "all" or a list of dialects')
    for name in raw:
        if name not in DIALECTS:
            raise ConfigError(f"{place}: {unknown_name('dialect', str(name), DIALECTS)}")
    return [str(name) for name in raw]


def _tree(found: TextCalls) -> Mapping[str, Json]:
    calls: list[Json] = [
        {
            "id": call.id or f"call_{number}",
            "name": call.name,
            "arguments": parse(call.arguments),
            "provenance": f"text:{call.dialect}",
        }
        for number, call in enumerate(found.calls)
    ]
    rejected: list[Json] = list(found.rejected)
    return {"calls": calls, "content": found.content, "reasoning": found.reasoning, "rejected": rejected}


def _explain(number: int, content: str, found: TextCalls) -> None:
    """Print how each part of a text was parsed."""
    explanations = [_explanation(span) for span in found.spans]
    for span, words in zip(found.spans, explanations, strict=True):
        if words:
            excerpt = json.dumps(content[span.start : span.end], ensure_ascii=False)
            short = excerpt if len(excerpt) <= 60 else f"{excerpt[:57]}…"
            err.print(printable(f"line {number}, characters {span.start}-{span.end}: {short}"))
            err.print(printable(f"    {words}"))
    if not any(explanations):
        err.print(f"line {number}: {_WHY['too_large'] if 'too_large' in found.rejected else 'no call'}")


def _explanation(span: Span) -> str:
    match span.kind:
        case "call":
            return f"read as {span.about}"
        case "debris" | "frame" | "quotation":
            return f"rejected as {span.about}: {_WHY[span.about]}" if span.about else _KEPT[span.kind]
        case "prose":
            return "a marker without a call; it is text"
        case "special" | "wrapper":
            return ""
        case _:
            assert_never(span.kind)
