"""Scripts: models for a dry run without a network, which prove the checks of a scenario.

The next reply of a script follows from the conversation alone, so one script can drive a run, its
continuation after a crash, and a thousand concurrent runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast, get_args

from toolreel_core._config_checks import unknown_name
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, Tree, as_tree, canonical, items_of, pointed, read
from toolreel_core._settings import bytes_per_4
from toolreel_core.evals._scenarios.world import with_texts

Kind: TypeAlias = Literal["good", "skipping", "bad"]
"""``good`` passes; ``skipping`` does the task without its hard part; ``bad`` fails."""
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
PREFIX: Final = "scripted:"
_RESULT: Final = re.compile(r"\$(\d+)(/.*)")
"""A value from an earlier result: the number of the call, and a JSON pointer."""


Line: TypeAlias = "str | Sequence[Tree] | Tree"
"""A text; or calls, each ``{"call": NAME, "with": ARGUMENTS}``, where a text such as ``$0/data/id`` is a
place in the result of the first call; or an object of ``calls``, a ``text`` beside them, and a provider's own
``fields`` of the message and ``call_fields`` of its first call."""


def calls_in(line: Line) -> Sequence[Tree]:
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
    # An earlier history may have been shortened, so its length does not tell where the script begins.
    begins = [at for at, each in enumerate(messages) if said.since and each.get("content") == said.since]
    turns = messages[begins[-1] if begins else 0 :]
    place = sum(message.get("role") == "assistant" for message in turns)
    line = said.lines[min(place, len(said.lines) - 1)]
    more = line if isinstance(line, Mapping) else {}
    message: Tree = {
        "role": "assistant",
        "content": line if isinstance(line, str) else more.get("text"),
        **as_tree(more.get("fields")),
    }
    calls = [
        {
            "id": f"call_{place}_{index}",
            "type": "function",
            "function": {
                "name": each["call"],
                "arguments": canonical(_fill_results(each.get("with", {}), messages)),
            },
            **(as_tree(more.get("call_fields")) if index == 0 else {}),
        }
        for index, each in enumerate(calls_in(line))
    ]
    if calls:
        message = {**message, "tool_calls": calls}
    prompt, completion = bytes_per_4(canonical(list(messages))), bytes_per_4(canonical(message))
    finish = "tool_calls" if calls else "stop"
    return {
        "id": f"scripted-{place}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        },
    }


def scripted_stream(body: Tree) -> str:
    """The stream of a body that :func:`scripted_reply` has made."""
    (choice,) = cast("Sequence[Tree]", body["choices"])
    message = as_tree(choice["message"])
    calls = [{**as_tree(call), "index": place} for place, call in enumerate(items_of(message, "tool_calls"))]
    delta: Tree = {**message, "tool_calls": calls} if calls else message
    head: Tree = {**body, "object": "chat.completion.chunk"}
    chunks: list[Tree] = [
        {
            **head,
            "choices": [{"index": 0, "delta": delta, "finish_reason": choice["finish_reason"]}],
            "usage": None,
        },
        {**head, "choices": []},
    ]
    return "".join(f"data: {line}\n\n" for line in (*map(canonical, chunks), "[DONE]"))


def _fill_results(value: Json, messages: Sequence[Tree]) -> Json:
    """A value with the results of earlier calls in it; ``None`` where there is no such result yet."""
    results = [str(message.get("content")) for message in messages if message.get("role") == "tool"]

    def put(text: str) -> Json:
        found = _RESULT.fullmatch(text)
        if not found:
            return text
        result: Json = read("".join(results[int(found[1]) :][:1])).value_or(None)
        return pointed(result, found[2])

    return with_texts(value, put)
