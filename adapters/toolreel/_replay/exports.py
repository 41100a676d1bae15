"""The text of a recorded run in each format of other tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias, assert_never

from toolreel._driver import Run, outcome_in_words, run_statistics_as_text
from toolreel._internal import printable_text
from toolreel._replay.trace import Trace
from toolreel_core._conversation import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolMessage,
    UserMessage,
    messages_to,
    readable_content,
    wire_tree,
)
from toolreel_core._jsontext import NOTHING, Json, Tree, parse, read_json
from toolreel_core._protocol import notes

Format: TypeAlias = Literal["openai", "markdown", "inspect"]
EXPORT_SUFFIXES: dict[Format, str] = {
    "openai": ".messages.json",
    "markdown": ".md",
    "inspect": ".inspect.json",
}

_NO_DATE = "1970-01-01T00:00:00+00:00"
"""A journal has no date, and a log of Inspect has to have one."""


def export_text(trace: Trace, form: Format, name: str) -> str:
    """A recorded run as the text of a file.

    :param name: what the format calls the run, if it has a place for that
    """
    match form:
        case "openai":
            return _indented_json([*messages_to(trace.run.messages)])
        case "markdown":
            return markdown_transcript(trace.run)
        case "inspect":
            return _indented_json(inspect_ai_log(trace, name))
        case _:
            assert_never(form)


def _indented_json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def inspect_ai_log(trace: Trace, name: str) -> Tree:
    run, digest = trace.run, trace.recorded.digest
    plan, counts = run.state.plan, run.usage
    usage: Tree = {}
    if counts.total_tokens:
        usage = {
            "input_tokens": counts.prompt_tokens,
            "output_tokens": counts.completion_tokens,
            "total_tokens": counts.total_tokens,
            "reasoning_tokens": counts.reasoning_tokens,
            **({} if run.cost is None else {"total_cost": run.cost}),
        }
    total = {plan.model: usage} if usage else {}
    return {
        "version": LOG_VERSION,
        "status": "success",
        "eval": {
            # Ids of Inspect are short UUIDs of 22 characters; these are the same in each export.
            "eval_id": digest[:22],
            "run_id": digest[:22],
            "created": _NO_DATE,
            "task": name,
            "task_id": plan.digest[:22],
            "task_version": 0,
            "dataset": {"name": name, "samples": 1, "sample_ids": [name], "shuffled": False},
            "model": plan.model,
            "config": {"epochs": 1},
            "metadata": {"journal": digest, "plan": plan.digest},
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {"total_samples": 1, "completed_samples": int(run.completed), "scores": []},
        "stats": {"started_at": _NO_DATE, "completed_at": "", "model_usage": total},
        "samples": [inspect_ai_sample(run, name, total, digest)],
    }


def inspect_ai_sample(run: Run, name: str, usage: Tree, digest: str) -> Tree:
    messages = [inspect_ai_message(message) for message in run.messages]
    words = outcome_in_words(run.outcome).sentence
    finish = next((each.finish for each in reversed(run.notes) if isinstance(each, notes.ReplyRead)), "")
    answer: Tree = {"role": "assistant", "content": run.text, "source": "generate"}
    choice: Tree = {"message": answer, "stop_reason": STOP_REASONS.get(finish, "unknown")}
    seconds = {} if run.timing.total_ms is None else {"total_time": run.timing.total_ms / 1000}
    failed: Tree = {"error": {"message": words, "traceback": "", "traceback_ansi": ""}}
    value = getattr(run.outcome, "value", None)
    return {
        "id": name,
        "epoch": 1,
        "input": messages[: len(run.state.plan.messages)],
        "target": "",
        "messages": messages,
        "output": {
            "model": run.state.present.model,
            "choices": [choice] if run.text else [],
            "completion": run.text,
        },
        "metadata": {
            "outcome": run.outcome.name,
            "words": words,
            "turns": run.state.tally.turns,
            **({} if value is None else {"value": parse(value)}),
        },
        "model_usage": usage,
        "uuid": digest[:22],
        **seconds,
        **({} if run.completed else failed),
    }


LOG_VERSION = 2
"""The version of Inspect's log format."""
STOP_REASONS: Mapping[str, str] = {
    "stop": "stop",
    "length": "max_tokens",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
}
"""What Inspect calls the reasons for which a reply ended."""


def inspect_ai_message(message: Message) -> Tree:
    content = readable_content(message)
    match message:
        case AssistantMessage():
            calls: list[Json] = [
                {
                    "id": call.id,
                    "function": call.name,
                    "arguments": arguments
                    if isinstance(arguments := read_json(call.arguments).value_or({}), Mapping)
                    else {"value": arguments},
                    "type": "function",
                }
                for call in message.calls
            ]
            called: Tree = {"tool_calls": calls} if calls else {}
            extras: Tree = (
                {} if message.extras == NOTHING else {"metadata": {"extras": parse(message.extras)}}
            )
            return {"role": "assistant", "content": content, "source": "generate", **called, **extras}
        case ToolMessage():
            named: Tree = {"function": message.name} if message.name else {}
            return {"role": "tool", "content": content, "tool_call_id": message.call_id, **named}
        case SystemMessage() | UserMessage():
            return {"role": wire_tree(message)["role"], "content": content, "source": "input"}
        case _:
            assert_never(message)


_TICKS = re.compile(r"`+")
"""A run of backticks: the fence around a text is longer than any in it."""


def markdown_transcript(run: Run) -> str:
    """What models and tools said is in fences longer than any in it, so no text of theirs is markup."""
    words, hint, *_ = outcome_in_words(run.outcome)
    figures = ", ".join(f"{name} {text}" for name, text in run_statistics_as_text(run).items())
    head = (
        f"# {run.outcome.name}: {_escaped_markdown_line(words)}",
        f"Model {_inline_code(run.state.present.model)}, {figures}.",
        *([f"Try: {_escaped_markdown_line(hint)}."] if hint else []),
    )
    said = (block for message in run.messages for block in _markdown_blocks(message))
    return "\n\n".join((*head, *said)) + "\n"


def _markdown_blocks(message: Message) -> Iterator[str]:
    match message:
        case SystemMessage():
            yield "## System"
        case UserMessage():
            yield "## User"
        case AssistantMessage():
            yield "## Assistant"
        case ToolMessage():
            yield f"## Result of {_inline_code(message.name or message.call_id)}"
            yield _fenced_block(_pretty_json(message.content), "json")
            return
        case _:
            assert_never(message)
    if text := readable_content(message):
        yield _fenced_block(text, "text")
    for call in message.calls if isinstance(message, AssistantMessage) else ():
        yield f"calls {_inline_code(call.name)}"
        yield _fenced_block(_pretty_json(call.arguments), "json")


def _pretty_json(text: str) -> str:
    tree = read_json(text).value_or(None)
    return text if tree is None else json.dumps(tree, ensure_ascii=False, indent=2)


def _escaped_markdown_line(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|!&])", r"\\\1", " ".join(printable_text(text).split()))


def _inline_code(text: str) -> str:
    line = " ".join(printable_text(text).split())
    ticks = "`" * (_longest_fence_length(line) + 1)
    return f"{ticks} {line} {ticks}" if "`" in line else f"{ticks}{line}{ticks}"


def _fenced_block(text: str, language: str) -> str:
    """A block that its own text cannot close."""
    shown = printable_text(text)
    fence = "`" * max(3, _longest_fence_length(shown) + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def _longest_fence_length(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)
