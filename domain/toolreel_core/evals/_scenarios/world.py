"""Worlds: the state behind the tools of a scenario, as frozen values; a call makes a successor and an output.

The calls of a run therefore determine its world: replays, new checks and what-if runs need neither a network
nor stored worlds. Places in a world of tables are JSON pointers (RFC 6901). The workspace is the world of the
reference's scenarios; its tool for patches allows one operation at one path, to provoke a rejection.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, Protocol, TypeAlias, cast

from toolreel_core._jsontext import (
    NOTHING,
    Json,
    JsonText,
    Tree,
    as_tree,
    canonical,
    chained_digest,
    list_at,
    parse,
    read_json,
    value_at_json_pointer,
)
from toolreel_core._tools import Envelope, ToolDefinition, ToolFailure, ToolSurface


class World(Protocol):
    """The state behind the tools of one run."""

    def call(self, name: str, arguments: Tree) -> tuple[World, JsonText]:
        """The world after a call, and what the tool returned: an envelope, or any other JSON value.

        :param name: the tool's inner name
        """
        ...

    def contents(self) -> Json:
        """Its contents, for checks and records."""
        ...


def success_result_text(tool: str, data: Tree) -> JsonText:
    return Envelope(True, tool, canonical(data)).text()


def failure(tool: str, code: str, message: str) -> JsonText:
    """The output of a call that failed."""
    return Envelope(False, tool, canonical({}), errors=(ToolFailure(code, message),)).text()


def identifier_from_seed(seed: str, what: str) -> str:
    """An identifier in the form of a UUID: the same for the same seed, so that requests are the same too.

    >>> identifier_from_seed("1", "workspace")
    '972a3eca-b8fd-a383-0a36-afbcdfd15320'
    """
    digits = chained_digest("identifier", what, seed)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))


def with_value(tree: Json, pointer: str, value: Json) -> Json:
    """A tree in which a value stands at a place; objects on the way to it are made where there are none.

    Lists grow by one item at most; a place that a list cannot have is not made.
    """
    if not pointer:
        return value
    step, slash, rest = pointer[1:].partition("/")
    if isinstance(tree, list | tuple):
        items = [*tree, {}] if step == str(len(tree)) else tree
        return [
            with_value(item, slash + rest, value) if step == str(place) else item
            for place, item in enumerate(items)
        ]
    inner, key = as_tree(tree), step.replace("~1", "/").replace("~0", "~")
    return {**inner, key: with_value(inner.get(key, {}), slash + rest, value)}


_ARGUMENT = "$arguments/"


@dataclass(frozen=True, slots=True)
class TableWorld:
    """Rows of answers, tried in their order."""

    rows: tuple[tuple[str, JsonText], ...] = ()
    """A tool, and one of its ``answers`` as in a scenario file, without the key ``json``."""
    effects: tuple[str, ...] = ()
    """Tools that do something; without a fitting row, a call of them works."""
    state: JsonText = NOTHING
    done: tuple[tuple[str, JsonText], ...] = ()
    """The calls that did something: tool and arguments."""
    used: tuple[int, ...] = ()
    """The places of the rows that have answered so far, call by call."""

    def call(self, name: str, arguments: Tree) -> tuple[TableWorld, JsonText]:
        """Answer with the first row that fits."""
        for place, (tool, text) in enumerate(self.rows):
            if tool != name:
                continue
            answer = as_tree(parse(text))
            limit = cast("int", answer.get("times", 0)) or math.inf
            if self.used.count(place) < limit and has_arguments(arguments, answer.get("when", {})):
                return replace(self, used=(*self.used, place))._give_answer(answer, name, arguments)
        if name in self.effects:
            return self._give_answer({}, name, arguments)
        return self, _not_found_answer(name)

    def told(self, name: str, arguments: Tree, output: str) -> TableWorld:
        """The world after a call of a real tool, whose result came from outside."""
        # An envelope may say that the call failed.
        failed = as_tree(read_json(output).value_or({})).get("ok") is False
        return self if failed else self._note_call(name, arguments)

    def _give_answer(self, answer: Tree, name: str, arguments: Tree) -> tuple[TableWorld, JsonText]:
        after, error = self, as_tree(answer.get("error"))
        if answer.get("done", not error):
            state = parse(self.state)
            for pointer, value in as_tree(answer.get("set")).items():
                place = _fill_json_pointer(pointer, arguments)
                state = with_value(state, place, _fill_arguments(value, arguments))
            after = replace(self._note_call(name, arguments), state=canonical(state))
        if error:
            return after, failure(name, str(error["code"]), str(error.get("message", "")))
        if "read" in answer:
            found = value_at_json_pointer(
                parse(after.state), _fill_json_pointer(str(answer["read"]), arguments)
            )
            return (self, _not_found_answer(name)) if found is None else (after, canonical(found))
        if "then" in answer:
            return after, canonical(_fill_arguments(answer["then"], arguments))
        return after, success_result_text(name, {"noted": len(after.done)})

    def _note_call(self, name: str, arguments: Tree) -> TableWorld:
        if name not in self.effects:
            return self
        return replace(self, done=(*self.done, (name, canonical(arguments))))

    def contents(self) -> Json:
        """The effects in order, and the state."""
        done = [{"tool": tool, "arguments": parse(arguments)} for tool, arguments in self.done]
        return {"orders": done, "state": parse(self.state)}


def _not_found_answer(name: str) -> JsonText:
    return failure(name, "NOT_FOUND", f"{name} knows nothing of what was asked for.")


def has_arguments(arguments: Tree, wanted: Json) -> bool:
    """Whether a call has these arguments; others may be there too."""
    return all(
        key in arguments and is_equivalent(arguments[key], value) for key, value in as_tree(wanted).items()
    )


TextComparison: TypeAlias = Literal["folded", "trimmed", "exact"]
"""How texts are compared: without regard to letter case and outer blanks, to these blanks, or to nothing."""


def is_equivalent(one: Json, other: Json, texts: TextComparison = "folded") -> bool:
    """Whether two values mean the same: 2.0 is 2, and the order of keys doesn't count.

    >>> (
    ...     is_equivalent(" oslo", "Oslo"),
    ...     is_equivalent("oslo", "Oslo", "trimmed"),
    ...     is_equivalent([2.0], [2], "exact"),
    ... )
    (True, False, True)
    """
    return canonical(_comparable_value(one, texts)) == canonical(_comparable_value(other, texts))


def _comparable_value(value: Json, texts: TextComparison) -> Json:
    match value:
        case str():
            trimmed = value if texts == "exact" else value.strip()
            return trimmed.casefold() if texts == "folded" else trimmed
        case float():
            return int(value) if value.is_integer() else value
        case Mapping():
            return {key: _comparable_value(value[key], texts) for key in sorted(value)}
        case list() | tuple():
            return [_comparable_value(item, texts) for item in value]
        case _:
            return value


def as_text(value: Json) -> str:
    return value if isinstance(value, str) else canonical(value)


def as_values(value: Json) -> list[Any]:
    return [*value] if isinstance(value, list | tuple) else [value]


def map_texts(value: Json, change: Callable[[str], Json]) -> Json:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {as_text(change(key)): map_texts(item, change) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [map_texts(item, change) for item in value]
    return value


def _fill_arguments(value: Json, arguments: Tree) -> Json:
    def put(text: str) -> Json:
        return (
            value_at_json_pointer(arguments, text.removeprefix("$arguments"))
            if text.startswith(_ARGUMENT)
            else text
        )

    return map_texts(value, put)


def _fill_json_pointer(pointer: str, arguments: Tree) -> str:
    def put(found: re.Match[str]) -> str:
        return as_text(arguments.get(found[1])).replace("~", "~0").replace("/", "~1")

    # A step such as $sku in "/stock/$sku"; a $ within a step is an ordinary character.
    return re.sub(r"(?<=/)\$([^/]*)", put, pointer)


ALLOWED = "/draft/foo"
"""The path that the case study's scenarios patch."""

_PLACEHOLDER = "workspace_id"
"""Models copy the parameter's name where they should put a value."""
_QUOTES = "\"'`"


Mishap: TypeAlias = Literal["", "failing_patch", "cut_read", "huge_read"]
"""What goes wrong once, without a tool's doing: the first patch fails, though it is right; of the first read,
only half arrives, or it also returns 50,000 bytes of unrequested data."""


@dataclass(frozen=True, slots=True)
class WorkspaceWorld:
    """A draft that can be changed; its facts, locks and settings stay empty."""

    id: str
    draft: JsonText = NOTHING
    mishap: Mishap = ""
    draft_version: int = 0
    """Counted up by every patch that changes something."""
    reads: int = 0
    patches: int = 0
    allowed: str = ALLOWED
    """The one path that ``state_patch`` may set."""

    def contents(self) -> Json:
        """The whole of it."""
        return {"id": self.id, **self._contents_by_section}

    def call(self, name: str, arguments: Tree) -> tuple[WorkspaceWorld, JsonText]:
        """Answer a call as the reference's executor does."""
        reads, patches = name == "state_get", name == "state_patch"
        if not (reads or patches):
            why = f"{name} was not run: this workspace has no such tool."
            return self, failure(name, "TOOL_NOT_IMPLEMENTED", why)
        asked = replace(self, reads=self.reads + reads, patches=self.patches + patches)
        given = arguments.get("workspace_id")
        meant = given.strip() if isinstance(given, str) else given
        if meant not in (None, "", _PLACEHOLDER, self.id):
            why = f"There is no workspace {meant!r}. Leave workspace_id out to use the current one."
            return asked, failure(name, "WORKSPACE_NOT_FOUND", why)
        return asked._answer_read(arguments) if reads else asked._patch_draft(arguments)

    def _answer_read(self, arguments: Tree) -> tuple[WorkspaceWorld, JsonText]:
        texts = [item for item in list_at(arguments, "select") if isinstance(item, str)]
        if arguments.get("select") not in (None, texts):
            why = "select must be a list of JSON pointers, such as /draft/foo."
            return self, failure("state_get", "ARGUMENT_ERROR", why)
        # In whatever way the model has written them, each once.
        tidied = (text.strip().strip(_QUOTES).strip().removeprefix("#") for text in texts)
        pointers = dict.fromkeys(text if text.startswith("/") else f"/{text}" for text in tidied if text)
        whole = self._contents_by_section
        data: Tree = {
            "snapshot": {pointer: value_at_json_pointer(whole, pointer) for pointer in pointers}
            if pointers
            else whole
        }
        mishap = self.mishap if self.reads == 1 else ""
        # Ten times the limit of results in the scenario `first_read_huge`.
        text = success_result_text(
            "state_get", {**data, "history": "0" * 50_000} if mishap == "huge_read" else data
        )
        # No JSON any more, as when a connection breaks off in the middle.
        return self, JsonText(text[: len(text) // 2]) if mishap == "cut_read" else text

    def _patch_draft(self, arguments: Tree) -> tuple[WorkspaceWorld, JsonText]:
        operations = [*map(as_tree, list_at(arguments, "ops"))]
        code, why = "ARGUMENT_ERROR", "" if operations else "ops must be a list of at least one operation."
        for name, path in ((one.get("op"), one.get("path")) for one in operations):
            if not why and (name, path) != ("set", self.allowed):
                why = f"Only the op set at the path {self.allowed} is allowed here, got {name!r} at {path!r}."
        if not why and self.patches == 1 and self.mishap == "failing_patch":
            code = "UNAVAILABLE"
            why = "The workspace could not be written just now; nothing was changed. Call state_patch again."
        if why:
            return self, failure("state_patch", code, why)
        # All operations set the same path, so the last one decides.
        place = self.allowed.removeprefix("/draft")
        draft = with_value(parse(self.draft), place, operations[-1].get("value"))
        after = replace(self, draft=canonical(draft), draft_version=self.draft_version + 1)
        done: Tree = {"draft_etag": f"draft:{after.draft_version}", "applied": len(operations)}
        return after, success_result_text("state_patch", done)

    @property
    def _contents_by_section(self) -> dict[str, Json]:
        return {
            "facts": {},
            "draft": parse(self.draft),
            "locks": {"paths": []},
            "ui_state": {},
            "versions": {"facts": "facts:0", "draft": f"draft:{self.draft_version}"},
        }


_TOOLS = r"""{
"state_get": ["Read the workspace: its facts, draft, locks and versions.", {"type": "object", "properties": {
  "workspace_id": {"type": "string", "description": "Which workspace; leave it out for the current one."},
  "select": {"type": "array", "items": {"type": "string"},
    "description": "JSON pointers of what to read; leave it out to read everything."}},
  "additionalProperties": false}],
"state_patch": ["Change the draft of the workspace; either all operations are done or none.",
  {"type": "object", "properties": {
  "workspace_id": {"type": "string", "description": "Which workspace; leave it out for the current one."},
  "request_id": {"type": "string", "description": "A short name for this change, such as r1."},
  "ops": {"type": "array", "items": {"type": "object", "properties": {
    "op": {"type": "string", "description": "What to do, such as set."},
    "path": {"type": "string", "description": "JSON pointer of the place, such as EXAMPLE."},
    "value": {"description": "What shall stand there."},
    "index": {"type": "integer", "description": "Where in a list, for insert."}},
    "required": ["op", "path"], "additionalProperties": false}, "description": "A list of operations."}},
  "required": ["request_id", "ops"], "additionalProperties": false}],
"facts_commit": ["Turn proposed facts into facts, once a person has confirmed them.",
  {"type": "object", "properties": {
  "workspace_id": {"type": "string", "description": "Which workspace; leave it out for the current one."},
  "request_id": {"type": "string"}, "proposal_id": {"type": "string"}, "user_confirmed": {"type": "boolean"}},
  "required": ["workspace_id", "request_id", "proposal_id", "user_confirmed"],
  "additionalProperties": false}]
}"""


@lru_cache(maxsize=16)
def workspace_tools(example: str = ALLOWED) -> ToolSurface:
    """The tools of a workspace.

    :param example: the path that their descriptions give as an example
    """
    tools: Any = parse(JsonText(_TOOLS.replace("EXAMPLE", example)))
    return ToolSurface(
        tuple(
            # facts_commit is never sent and never run: it shows that what is hidden stays hidden.
            ToolDefinition.of(
                name, about, schema, read_only=name == "state_get", exposed=name != "facts_commit"
            )
            for name, (about, schema) in tools.items()
        )
    )
