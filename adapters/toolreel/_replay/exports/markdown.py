"""A run as a Markdown transcript, for tickets and reviews."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final, assert_never

from toolreel._driver import Run
from toolreel._internal import printable
from toolreel._replay.explain.outcome import describe_outcome
from toolreel_core._conversation import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolMessage,
    UserMessage,
    shown_content,
)
from toolreel_core._jsontext import read

_TICKS: Final = re.compile(r"`+")
"""A run of backticks: the fence around a text is longer than any in it."""


def transcript(run: Run) -> str:
    """The whole conversation and how it ended.

    What models and tools said is in fences longer than any in it, so no text of theirs is markup.
    """
    words, hint = describe_outcome(run.outcome)
    tally = run.state.tally
    head = (
        f"# {run.outcome.name}: {_line(words)}",
        f"Model {_code(run.state.present.model)}, {tally.turns:,} turns, {tally.tool_calls:,} tool calls, "
        f"{tally.prompt_tokens:,} + {tally.completion_tokens:,} tokens.",
        *([f"Try: {_line(hint)}."] if hint else []),
    )
    said = (block for message in run.messages for block in _blocks(message))
    return "\n\n".join((*head, *said)) + "\n"


def _blocks(message: Message) -> Iterator[str]:
    match message:
        case SystemMessage():
            yield "## System"
        case UserMessage():
            yield "## User"
        case AssistantMessage():
            yield "## Assistant"
        case ToolMessage():
            yield f"## Result of {_code(message.name or message.call_id)}"
            yield _fenced(_pretty(message.content), "json")
            return
        case _:
            assert_never(message)
    if text := shown_content(message):
        yield _fenced(text, "text")
    for call in message.calls if isinstance(message, AssistantMessage) else ():
        yield f"calls {_code(call.name)}"
        yield _fenced(_pretty(call.arguments), "json")


def _pretty(text: str) -> str:
    tree = read(text).value_or(None)
    return text if tree is None else json.dumps(tree, ensure_ascii=False, indent=2)


def _line(text: str) -> str:
    """A text of the outcome in one line, as text: what could be markup is escaped."""
    return re.sub(r"([\\`*_{}\[\]<>#|!&])", r"\\\1", " ".join(printable(text).split()))


def _code(text: str) -> str:
    line = " ".join(printable(text).split())
    ticks = "`" * (_longest(line) + 1)
    return f"{ticks} {line} {ticks}" if "`" in line else f"{ticks}{line}{ticks}"


def _fenced(text: str, language: str) -> str:
    r"""A block that its own text cannot close.

    >>> print(_fenced("a\n```\nb", "text"))
    ````text
    a
    ```
    b
    ````
    """
    shown = printable(text)
    fence = "`" * max(3, _longest(shown) + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def _longest(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)
