"""Scripts: models for a dry run without a network, which prove the checks of a scenario.

The next reply of a script follows from the conversation alone, so one script can drive a run, its
continuation after a crash, and a thousand concurrent runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast, get_args

from toolreel_core._config_checks import unknown_name
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, Tree, as_tree, canonical, pointed, read
from toolreel_core.evals._scenarios.world import with_texts

Kind: TypeAlias = Literal["good", "skipping", "bad"]
"""``good`` passes; ``skipping`` does the task without its hard part; ``bad`` fails."""
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
PREFIX: Final = "scripted:"
"""How the names of such models begin."""
_RESULT: Final = re.compile(r"\$(\d+)(/.*)")
"""A value from an earlier result: the number of the call, and a JSON pointer."""


Line: TypeAlias = "str | Sequence[Tree] | Tree"
"""A text; or calls, each ``{"call": NAME, "with": ARGUMENTS}``, where a text such as ``$0/data/id`` is a
place in the result of the first call; or an object of ``calls``, a ``text`` beside them, and a provider's own
``fields`` of the message and ``call_fields`` of its first call."""


def calls_in(line: Line) -> Sequence[Tree]:
    """The calls of a line."""
    if isinstance(line, Mapping):
        return cast("Sequence[Tree]", line["calls"])
    return () if isinstance(line, str) else line


@dataclass(frozen=True, slots=True)
class Script:
    """The replies of a scripted model, in order; the last one is repeated."""

    lines: tuple[Line, ...]
    since: str = ""
    """What the user says when the script begins, where other messages come before; else it begins at once."""


@dataclass(frozen=True, slots=True)
class ScenarioScripts:
    """What proves an oracle: one script that passes, and others that must not."""

    good: Script
    bad: Script
    skipping: Script | None = None

    def of(self, kind: Kind) -> Script:
        """The script of one kind; where nothing can be skipped, the good one."""
        return {"good": self.good, "bad": self.bad, "skipping": self.skipping or self.good}[kind]


def kind_of(model: str) -> Kind | None:
    """The kind of script that a model's name asks for; ``None`` for a model that is none.

    >>> kind_of("scripted:good"), kind_of("openai/gpt-5.2")
    ('good', None)

    :raises ConfigError: if there is no such kind
    """
    if not model.startswith(PREFIX):
        return None
    word = model.removeprefix(PREFIX)
    if word not in KINDS:
        raise ConfigError(f"model {model!r}: {unknown_name('scripted model', word, KINDS)}")
    return word


def call(name: str, /, **arguments: Json) -> tuple[Tree, ...]:
    """A line that makes one call; two lines can be joined with ``+``."""
    return ({"call": name, "with": arguments},)


def script(*lines: Line) -> Script:
    """A script of these lines."""
    return Script(lines)


def scripted_reply(said: Script, messages: Sequence[Tree], *, model: str = "scripted") -> Tree:
    """The body of the next reply.

    >>> body = scripted_reply(script("Done."), [{"role": "user", "content": "Hello."}])
    >>> body["choices"][0]["message"]["content"]
    'Done.'

    :param messages: the conversation so far, as a request tells it
    """
    place = sum(message.get("role") == "assistant" for message in messages[_script_start(said, messages) :])
    line = said.lines[min(place, len(said.lines) - 1)]
    message: Tree = {"role": "assistant", "content": line}
    if not isinstance(line, str):
        more = line if isinstance(line, Mapping) else {}
        first, *others = _call_entries(calls_in(line), place, messages)
        message = {
            "role": "assistant",
            "content": more.get("text"),
            **as_tree(more.get("fields")),
            "tool_calls": [{**first, **as_tree(more.get("call_fields"))}, *others],
        }
    choice: Tree = {
        "index": 0,
        "message": message,
        "finish_reason": "stop" if isinstance(line, str) else "tool_calls",
    }
    return {
        "id": f"scripted-{place}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [choice],
        "usage": _usage_tree(canonical(list(messages)), canonical(message)),
    }


def scripted_stream(body: Tree) -> str:
    """The stream of a body that :func:`scripted_reply` has made, in pieces that part words and numbers."""
    (choice,) = cast("Sequence[Tree]", body["choices"])
    message = as_tree(choice["message"])
    deltas: list[Tree] = [
        {key: value} for key, value in message.items() if key not in {"content", "tool_calls"}
    ]
    deltas += [{"content": piece} for piece in _text_pieces(message.get("content"))]
    for place, call in enumerate(cast("Sequence[Tree]", message.get("tool_calls", ()))):
        function = as_tree(call["function"])
        deltas.append({"tool_calls": [{**call, "index": place, "function": {**function, "arguments": ""}}]})
        deltas += [
            {"tool_calls": [{"index": place, "function": {"arguments": piece}}]}
            for piece in _text_pieces(function["arguments"])
        ]
    choices: list[Tree] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]})
    head: Tree = {**body, "object": "chat.completion.chunk"}
    chunks = [{**head, "choices": [each], "usage": None} for each in choices]
    lines = map(canonical, (*chunks, {**head, "choices": []}))
    return "".join(f"data: {line}\n\n" for line in (*lines, "[DONE]"))


def _text_pieces(text: Json) -> Iterator[str]:
    said = text if isinstance(text, str) else ""
    return (said[place : place + _PIECE] for place in range(0, len(said), _PIECE))


_PIECE: Final = 7
"""Characters of each fragment: few enough to part words, numbers and escapes."""


def _script_start(said: Script, messages: Sequence[Tree]) -> int:
    """Where the script begins; an earlier history may have been shortened, so its length does not tell."""
    places = [place for place, message in enumerate(messages) if message.get("content") == said.since]
    return places[-1] if said.since and places else 0


def _usage_tree(asked: str, answered: str) -> Tree:
    prompt, completion = -(-len(asked.encode()) // 4), -(-len(answered.encode()) // 4)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _call_entries(calls: Sequence[Tree], place: int, messages: Sequence[Tree]) -> list[Tree]:
    entries = list[Tree]()
    for index, call in enumerate(calls):
        arguments = canonical(_with_results(call.get("with", {}), messages))
        function: Tree = {"name": call["call"], "arguments": arguments}
        entries.append({"id": f"call_{place}_{index}", "type": "function", "function": function})
    return entries


def _with_results(value: Json, messages: Sequence[Tree]) -> Json:
    """A value with the results of earlier calls in it; ``None`` where there is no such result yet."""
    results = [str(message.get("content")) for message in messages if message.get("role") == "tool"]

    def put(text: str) -> Json:
        found = _RESULT.fullmatch(text)
        if not found:
            return text
        place = int(found[1])
        if place >= len(results):
            return None
        result: Json = read(results[place]).value_or(None)
        return pointed(result, found[2])

    return with_texts(value, put)
