"""What the loop makes of a reply under several settings: the Python of the playground.

The page calls ``answer`` in the browser, and tests call ``read_reply`` in CPython. Both use public names of
``toolreel_core`` only, as a program of yours would.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cache, reduce
from itertools import chain
from pathlib import Path
from typing import Any, assert_never

from toolreel_core import (
    AskApproval,
    AssistantMessage,
    Completed,
    ConfigError,
    Effect,
    Finish,
    Json,
    LoopConfig,
    Note,
    Plan,
    Preset,
    ReplyReceived,
    RunTool,
    SendRequest,
    Step,
    ToolDefinition,
    ToolSurface,
    Wait,
    note_sentence,
    notes,
    start,
    step,
)
from toolreel_core.catalogues import Presets
from toolreel_core.content import messages_to
from toolreel_core.replies import normalize_reply, text_calls

_TRIED: Sequence[tuple[str, Mapping[str, Json]]] = (
    ("defaults", {}),
    ("text_dialects=[]", {"text_dialects": []}),
    ('argument_repairs="strict"', {"argument_repairs": "strict"}),
    ('argument_repairs="lenient"', {"argument_repairs": "lenient"}),
)
"""The settings that every reply is read with. By default, calls in marked formats of text are read."""


@dataclass(frozen=True, slots=True)
class Result:
    """What follows from a reply. Two are equal if the run goes on in the same way, for the same reasons."""

    verdict: str
    tone: str
    """``good``, ``warn`` or ``bad``."""
    reason: str
    """What the outcome of a run that ends means, and its fields, in lines; empty for a run that goes on."""
    calls: list[dict[str, str]]
    """Each call that was read: its ``name``, ``format``, arguments as ``written``, and its ``fate``."""
    notes: list[list[str]]
    """Level and sentence of each note on the reply."""
    told: Json
    """The messages for the model behind its reply, if it is asked again."""
    opening: list[list[str]] = field(compare=False)
    """The notes on the plan."""
    parts: list[list[str]] = field(compare=False)
    """Parts of the text that look like calls or hide some, each with what was made of it."""
    unread: str = field(compare=False)
    """Why there is no call, if no part says it."""
    request: str = field(compare=False)
    """The body of the next request, if there is one."""


class _FieldError(Exception):
    """A field of the form cannot be used."""

    def __init__(self, name: str, words: str) -> None:
        super().__init__(words)
        self.name = name


def answer(asked: str) -> str:
    """What :func:`read_reply` finds, from JSON to JSON, with the presets in this folder."""
    return json.dumps(read_reply(json.loads(asked), _presets()))


def preset_names() -> list[str]:
    """The names of the presets in this folder."""
    return list(_presets().names)


def read_reply(asked: Mapping[str, str], presets: Presets) -> dict[str, Any]:
    """Read a reply with several settings: ``results``, or an ``error`` and the ``field`` that it is in.

    :param asked: the fields of the form: ``kind`` (``text`` or ``body``), ``reply``, ``question``,
        ``preset``, and as JSON ``tools`` and ``settings``
    """
    try:
        plans = _plans(asked, _surface(asked["tools"]), presets)
    except _FieldError as error:
        return {"error": str(error), "field": error.name}
    body = asked["reply"]
    if asked["kind"] == "text":
        message = {"role": "assistant", "content": body}
        body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})
    found: list[tuple[list[str], Result]] = []
    for label, plan in plans:
        result = _result(plan, body)
        same = next((labels for labels, other in found if other == result), None)
        if same is None:
            found.append(([label], result))
        else:
            same.append(label)
    return {"results": [{"settings": labels, **asdict(result)} for labels, result in found]}


@cache
def _presets() -> Presets:
    folder = Path(__file__).parent / "catalogues"
    texts = [(folder / name).read_text("utf-8") for name in ("providers.toml", "presets.toml")]
    return reduce(Presets.extended, (Presets.of(tomllib.loads(text)) for text in texts), Presets())


def _surface(text: str) -> ToolSurface:
    """The tools, from names or from definitions as in requests of any wire form."""
    tools = _json("tools", text, [])
    if not isinstance(tools, list):
        raise _FieldError("tools", 'expected a list, such as ["ping"] or the "tools" of a request')
    definitions = []
    try:
        for tool in tools:
            inner = tool.get("function", tool) if isinstance(tool, dict) else {"name": tool}
            if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
                raise _FieldError("tools", f"expected a name or a definition, got {json.dumps(tool)}")
            schema = inner.get("parameters", inner.get("input_schema"))
            definitions.append(ToolDefinition.of(inner["name"], inner.get("description") or "", schema))
        return ToolSurface(tuple(definitions))
    except ConfigError as error:
        raise _FieldError("tools", str(error)) from None


def _plans(asked: Mapping[str, str], tools: ToolSurface, presets: Presets) -> list[tuple[str, Plan]]:
    """A plan for each of the settings that are tried, and one for the reader's own, with their names."""
    name, own = asked["preset"], _json("settings", asked["settings"], {})
    if not isinstance(own, dict):
        raise _FieldError("settings", 'expected an object, such as {"nudge_no_tool_calls": 1}')
    tried = [(label, Preset(), settings) for label, settings in _TRIED]
    try:
        if name or own:
            labels = [f'preset="{name}"'] if name else []
            labels += [f"{key}={json.dumps(value)}" for key, value in own.items()]
            tried.append((", ".join(labels), presets.get(name) if name else Preset(), own))
        return [
            (label, preset.plan(model="model", messages=asked["question"], tools=tools, settings=settings))
            for label, preset, settings in tried
        ]
    except ConfigError as error:
        raise _FieldError("settings", str(error)) from None


def _json(name: str, text: str, empty: object) -> Any:  # noqa: ANN401 - it is checked where it is used
    try:
        return json.loads(text) if text.strip() else empty
    except (ValueError, RecursionError) as error:
        raise _FieldError(name, f"not JSON: {error}") from None


def _result(plan: Plan, body: str) -> Result:
    """Start a run and step it with the reply."""
    begun = start(plan)
    request = begun.effects[0]
    if not isinstance(request, SendRequest):  # such as one that does not fit the context window
        reached = begun
    else:
        reached = step(begun.state, ReplyReceived(request.ref, 200, body))
    verdict, tone, reason = _verdict(reached.effects)
    again = next((effect.request.body for effect in reached.effects if isinstance(effect, SendRequest)), "")
    calls, parts = list(_calls(reached, body)), _parts(plan, body)
    behind = messages_to(reached.state.messages.messages)[len(plan.messages) :]
    return Result(
        verdict,
        tone,
        reason,
        calls,
        _sentences(reached.notes),
        [message for message in behind if message["role"] != "assistant"] if again else [],
        _sentences(begun.notes),
        parts,
        "" if calls or parts else _unread(plan, reached.notes),
        json.dumps(json.loads(again), indent=2, ensure_ascii=False) if again else "",
    )


def _sentences(found: Sequence[Note]) -> list[list[str]]:
    return [[level, words] for level, words in map(note_sentence, found) if level != "silent"]


def _verdict(effects: Sequence[Effect]) -> tuple[str, str, str]:
    """What the run does next, in words, with their tone and the meaning of an outcome."""
    match effects[0]:
        case RunTool() | AskApproval():
            calls = [each for each in effects if isinstance(each, RunTool | AskApproval)]
            shown = ", ".join(f"{call.name}({call.arguments})" for call in calls)
            return (
                (f"runs {shown}" if isinstance(effects[0], RunTool) else f"asks you about {shown}"),
                "good",
                "",
            )
        case SendRequest():
            return "asks the model again", "warn", ""
        case Wait() as wait:
            return f"waits {wait.ms} ms, then sends the same request again", "warn", ""
        case Finish(outcome):
            meaning = (type(outcome).__doc__ or "").partition("\n")[0]
            values = ((each.name, getattr(outcome, each.name)) for each in fields(outcome))
            lines = [
                meaning,
                *(f"{name}: {value}" for name, value in values if value is not None and value != ""),
            ]
            tone = "good" if isinstance(outcome, Completed) else "bad"
            return f"ends as {outcome.name}", tone, "\n".join(lines)
        case _:
            assert_never(effects[0])


def _calls(reached: Step, body: str) -> Iterator[dict[str, str]]:
    """The calls of the reply, in order, each with what becomes of it."""
    plan = reached.state.plan
    reply = normalize_reply(body, tools=plan.callable_tools, config=plan.config)
    read = {call.id: (call.original, call.provenance) for call in reply.calls}
    fates = {
        note.call_id: f"is not run: {note.code}"
        for note in reached.notes
        if isinstance(note, notes.CallRejected)
    }
    for effect in reached.effects:
        if isinstance(effect, RunTool):
            fates[effect.call_id] = f"runs with {effect.arguments}"
        elif isinstance(effect, AskApproval):
            fates[effect.call_id] = f"waits for your approval, to run with {effect.arguments}"
    goes_on = isinstance(reached.effects[0], RunTool | AskApproval)
    other = "is checked when the call before it has its result" if goes_on else "is not run"
    sent = (each.calls for each in reached.state.messages.messages if isinstance(each, AssistantMessage))
    for call in chain.from_iterable(sent):
        written, form = read.get(call.id, (call.arguments, ""))
        yield {"name": call.name, "format": form, "written": written, "fate": fates.get(call.id, other)}


def _parts(plan: Plan, body: str) -> list[list[str]]:
    """What was found in the text of the message, for the formats that the plan reads."""
    as_text = normalize_reply(body, tools=ToolSurface(), config=LoopConfig(text_dialects=()))
    tools = plan.callable_tools
    found = text_calls(
        as_text.content,
        tools=tools.known,
        dialects=plan.config.text_dialects,
        finish=as_text.finish,
        schemas=tools.schemas,
        earlier=[str(message["content"]) for message in messages_to(plan.messages)],
    )
    return [
        [as_text.content[span.start : span.end], span.explanation]
        for span in found.spans
        if span.explanation and span.kind != "call"
    ]


def _unread(plan: Plan, found: Sequence[Note]) -> str:
    """Why a reply without calls has none."""
    codes = {note.code for note in found if isinstance(note, notes.RepairApplied)}
    if not plan.tools.names:
        return "No tool is offered."
    if not plan.config.text_dialects:
        return "These settings read no call in text."
    if "TEXT_CALL_SUSPECTED" in codes:
        return (
            "It is in none of the formats that these settings read. Some presets add formats without a "
            "marker, such as bare JSON."
        )
    if any(isinstance(note, notes.ReplyRead) and note.problem for note in found):
        return ""
    return "Nothing in the text looks like a call."
