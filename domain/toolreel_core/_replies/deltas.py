"""Join the deltas of a streamed reply into one message."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from toolreel_core._jsontext import (
    Json,
    Tree,
    as_list,
    canonical,
    in_numeric_order,
    read_json,
    text_at,
    tree_at,
)
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._replies.event_assembly import integer_field

_NOTHING: Tree = {}
_Detail: TypeAlias = Tree


def joined_message(deltas: Iterable[Tree], whole: Tree = _NOTHING) -> dict[str, Json]:
    """The joined message; of all but texts, arguments and parts the last value counts.

    :param whole: the message again, as some servers send it at the end; its text is not repeated
    """
    given: dict[str, list[Json]] = {}
    for delta in deltas:
        for key, value in delta.items():
            if value is not None:
                given.setdefault(key, []).append(value)
    fields = {key: _JOINING[key](values) if key in _JOINING else values[-1] for key, values in given.items()}
    for key, value in whole.items():
        if key == "tool_calls":
            fields[key] = joined_calls(given.get(key, []), whole=value)
        elif key == "function_call":
            fields[key] = joined_function_call([*given.get(key, []), value])
        # What the deltas spelled may hold more, such as the tags of a thought; if it holds less, apart from
        # spaces, the message is the server's last word. Parts and details of the deltas have been shown.
        elif not (spelled := fields.get(key)) or (
            isinstance(spelled, str)
            and isinstance(value, str)
            and "".join(value.split()) not in "".join(spelled.split())
        ):
            fields[key] = value
    return {"role": "assistant", "content": None, **fields}


def _joined_content(values: Sequence[Json]) -> Json:
    """One text, or a list of parts if any value was a list (Mistral); a single value stays unchanged."""
    if len(values) == 1:
        return values[0]
    listed = any(not isinstance(value, str) for value in values)
    return _flat_parts(values) if listed else _joined_text(values)


def _joined_text(values: Sequence[Json]) -> Json:
    return "".join(value if isinstance(value, str) else canonical(value) for value in values)


def _flat_parts(values: Sequence[Json]) -> list[Json]:
    flat: list[Json] = []
    for value in values:
        flat += as_list(value)
    return flat


def _joined_reasoning_details(values: Sequence[Json]) -> Json:
    """Reasoning details in the order of their first chunks; chunks of one share its type and index."""
    groups: list[list[_Detail]] = []
    latest: dict[str, list[_Detail]] = {}
    for entry in _flat_parts(values):
        if isinstance(entry, Mapping):
            name = f"{entry.get('type')}:{entry.get('index')}"
            group = latest.get(name)
            # One with ``data`` is encrypted and never split.
            if group is None or "data" in entry or entry.get("id") not in (None, group[0].get("id")):
                group = latest[name] = []
                groups.append(group)
            group.append(entry)
    return [_joined_detail(group) for group in groups]


def _joined_detail(chunks: Sequence[_Detail]) -> _Detail:
    first, *others = chunks
    detail = {**first}
    for chunk in others:
        detail |= {key: value for key, value in chunk.items() if value is not None}
    for key in ("text", "summary"):
        texts = [text for chunk in chunks if isinstance(text := chunk.get(key), str)]
        detail |= {key: "".join(texts)} if texts else {}
    return detail


def _joined_thinking_blocks(values: Sequence[Json]) -> Json:
    """Thinking blocks; each ends with its signature (LiteLLM)."""
    blocks: list[Json] = []
    for entry in _flat_parts(values):
        last = blocks[-1] if blocks else None
        if isinstance(entry, Mapping) and isinstance(last, Mapping):
            unsigned = isinstance(last.get("thinking"), str) and not last.get("signature")
            if unsigned and entry.get("type") == last.get("type"):
                blocks[-1] = {**last, **entry, "thinking": f"{last['thinking']}{entry.get('thinking') or ''}"}
                continue
        blocks.append(entry)
    return blocks


# What matters for nesting: escapes (which may hide a quote), quotes and brackets. A piece may end within an
# escape, hence the `?`.
_MARK = lazy_pattern(r'\\.?|["{}\[\]]', re.DOTALL)
_LONGEST_NAME = 1_000
"""Maximum length of a name: a server that repeats it in every chunk would grow it without bound."""


def joined_calls(values: Sequence[Json], *, whole: Json = None) -> list[Json]:
    """The calls in the order in which they began, from the ``tool_calls`` of each delta.

    >>> first = {"index": 0, "id": "a", "function": {"name": "ping", "arguments": "{"}}
    >>> joined_calls([[first], [{"index": 0, "function": {"arguments": "}"}}]])
    [{'id': 'a', 'function': {'name': 'ping', 'arguments': '{}'}}]

    :param whole: all calls again, as a whole message at the end has them
    """
    calls = _Calls()
    for value in values:
        calls.add_delta(value)
    calls.add_whole_calls([] if whole is None else _call_entries(whole))
    return calls.ordered_calls()


def joined_function_call(values: Sequence[Json]) -> Json:
    """The joined legacy ``function_call``, of which a reply has at most one; it may come again as a whole."""
    call = _Call()
    for value in values:
        fragment = _call_fragment({"function": value})
        if not call.is_repeated_by(fragment):
            call.add_fragment(fragment)
    return call.function_part()


class _Fragment(NamedTuple):
    entry: Tree
    id: str | None
    number: int | None
    name: str
    arguments: str


def _call_fragment(entry: Tree) -> _Fragment:
    function = tree_at(entry, "function")
    arguments = function.get("arguments")
    return _Fragment(
        entry,
        normalized_call_id(entry.get("id")),
        integer_field(entry, "index"),
        text_at(function, "name"),
        "" if arguments is None else _argument_text(arguments),
    )


class _Calls:
    """The calls so far, with the ids and indexes by which a fragment finds its call."""

    def __init__(self) -> None:
        self._begun: list[_Call] = []
        self._others: list[tuple[int, Json]] = []
        """Entries that are not fragments stay unchanged, each with the number of calls before it."""
        self._named: dict[str | int | None, _Call] = {}
        self._latest: _Call | None = None

    def add_delta(self, value: Json) -> None:
        for place, fragment in enumerate(self._fragments(_call_entries(value), again=False)):
            # A call may be sent a second time under its own id, whatever index it has now
            # (anthropics/anthropic-sdk-csharp#53). Under an id that came with its name alone, equal arguments
            # are those of another call.
            again = self._named.get(fragment.id)
            if again is None or again.id != fragment.id or not again.is_repeated_by(fragment):
                self._call_of_fragment(fragment, place).add_fragment(fragment)

    def add_whole_calls(self, entries: Sequence[Json]) -> None:
        """Add the calls of a whole message: each is one of those so far, or one that no fragment began."""
        left, differing = [*self._begun], list[_Fragment]()
        for fragment in self._fragments(entries, again=True):
            equal = sorted(
                (one for one in left if one.is_repeated_by(fragment)), key=lambda one: one.id != fragment.id
            )
            if equal:
                left.remove(equal[0])
            else:
                differing.append(fragment)
        for fragment in differing:
            same = [call for call in left if call.id == fragment.id] or left
            # Arguments that differ are not JSON once they are joined, so the call fails with an error for the
            # model; arguments that were cut are continued.
            call = left.pop(left.index(same[0])) if same else self._begin_call()
            call.add_fragment(fragment)

    def ordered_calls(self) -> list[Json]:
        """The calls by index if each has its own (fragments may interleave), else in order of appearance."""
        indexes = {call.index for call in self._begun if call.index is not None}
        if len(indexes) == len(self._begun) and not self._others:
            self._begun.sort(key=lambda call: call.index or 0)
        calls: list[Json] = [{**call.rest, "function": call.function_part()} for call in self._begun]
        for place, entry in reversed(self._others):
            calls.insert(place, entry)
        return calls

    def _fragments(self, entries: Sequence[Json], *, again: bool) -> Iterator[_Fragment]:
        for entry in entries:
            if isinstance(entry, Mapping) and (
                isinstance(entry.get("function"), Mapping) or "name" not in entry
            ):
                yield _call_fragment(entry)
            elif not again or entry not in (other for _, other in self._others):
                self._others.append((len(self._begun), entry))

    def _begin_call(self, name: str = "") -> _Call:
        self._begun.append(_Call(name))
        return self._begun[-1]

    def _call_of_fragment(self, fragment: _Fragment, place: int) -> _Call:
        """The call of a fragment: by its id, by its index, or else the latest; or one that it begins."""
        call = self._named.get(fragment.id)
        if call is None and fragment.number is None:
            call = self._latest
        elif call is None:
            # The first index of a call may come after its name; but a name begins a call.
            latest = self._latest if self._latest and self._latest.index is None else None
            call = self._named.get(fragment.number, None if fragment.name else latest)
        # Several named entries in one delta without id and index are different calls: chenyme/grok2api#239
        # shows a proxy that sends whole calls without an index.
        separate = place > 0 and fragment.name and fragment.id is None and fragment.number is None
        if call is None or separate or call.is_ended_by_fragment(fragment):
            before, call = call, self._begin_call(fragment.name or (call.name if call else ""))
            opening = before.named_again if before and not fragment.name else None
            if before and opening and opening.id not in {None, before.id}:  # it has its own id
                self._named[opening.id] = call
                call.add_fragment(opening)
        if fragment.id is not None:
            self._named[fragment.id] = call
        if fragment.number is not None:
            self._named[fragment.number] = call
            call.index = fragment.number
        self._latest = call
        return call


class _Call:
    def __init__(self, name: str = "") -> None:
        self.name = name
        self.index: int | None = None
        """The index of the last fragment that had one."""
        self.named_again: _Fragment | None = None
        """Gave its name again after its arguments: the next arguments are those of a call that it opens
        (unslothai/unsloth#10059)."""
        self._arguments: list[Json] = []
        self._braces = _Braces()
        self.rest: dict[str, Json] = {}
        """The fields of its entry besides the function."""
        self._in_function: dict[str, Json] = {}

    @property
    def id(self) -> str | None:
        return normalized_call_id(self.rest.get("id"))

    def is_ended_by_fragment(self, fragment: _Fragment) -> bool:
        """Whether the fragment begins another call: a name after complete arguments (ollama#15457).

        Some servers make a new id for every chunk (poolsideai/pool#9), so an id alone says nothing, unless
        another name comes with it. Under the same id it is the same call, sent with other arguments: they are
        joined, which is not JSON, so the model gets an error. Which of them it meant is not on the wire.
        """
        name, more = fragment.name, bool(fragment.arguments.strip())
        renamed = name not in {"", self.name}
        if not self.name or not self._braces.closed:
            # Where no index tells calls apart, a name with a new id begins one.
            begins = renamed or (name != "" and fragment.number is None)
            return bool(self.name) and begins and self.id is not None and fragment.id not in {None, self.id}
        if not name:
            return self.named_again is not None and more
        same_id = self.id is not None and self.id == fragment.id
        if same_id and not renamed and fragment.number in {None, self.index}:
            return False
        return more or renamed

    def is_repeated_by(self, fragment: _Fragment) -> bool:
        """Whether a fragment is this complete call again: equal arguments as values, however written."""
        if not self._braces.closed or fragment.name not in {"", self.name}:
            return False
        mine = read_json(_argument_text(self._joined_arguments())).value_or(None)
        return mine == read_json(fragment.arguments).value_or(False)

    def add_fragment(self, fragment: _Fragment) -> None:
        name = fragment.name
        if self._braces.closed and name == self.name != "":
            self.named_again = fragment
        for key, value in fragment.entry.items():
            if key not in {"function", "index"} and value is not None and value != "":
                # Of several ids, the first: earlier fragments have been shown under it.
                self.rest[key] = self.rest[key] if key == "id" and self.id else value
        for key, value in tree_at(fragment.entry, "function").items():
            if key == "arguments" and value is not None and value != "":
                self._arguments.append(value)
                self._braces.count_braces(fragment.arguments)
            elif key not in {"name", "arguments"}:
                self._in_function[key] = value
        # A server may repeat the whole name in every chunk (hermes#12230); joining would double it.
        self.name += "" if name == self.name or len(self.name) > _LONGEST_NAME else name

    def function_part(self) -> Json:
        name = {"name": self.name} if self.name else {}
        return {**name, "arguments": self._joined_arguments(), **self._in_function}

    def _joined_arguments(self) -> Json:
        """The joined arguments; of the two readings, the one that is JSON."""
        # Some servers send all arguments again in every chunk (hermes-agent#35592). Chunks that only share a
        # prefix look the same.
        if len(self._arguments) == 1:
            return self._arguments[0]
        pieces = [*map(_argument_text, self._arguments)]
        whole, last = "".join(pieces), pieces[-1] if pieces else ""
        grew = all(piece.startswith(before) for before, piece in pairwise(pieces))
        return last if grew and _is_json(last) and not _is_json(whole) else whole


class _Braces:
    """Tracks whether a JSON value that arrives in chunks is complete, without parsing it again each time."""

    def __init__(self) -> None:
        self.closed = False
        self._depth = 0
        self._quoted = self._escaped = False

    def count_braces(self, piece: str) -> None:
        mark = ""
        for mark in _MARK.findall(piece[1:] if self._escaped else piece):
            if mark == '"':
                self._quoted = not self._quoted
            elif not self._quoted and mark in "[]{}":
                self._depth += 1 if mark in "[{" else -1
                self.closed = self._depth == 0
        self._escaped = mark == "\\"


def _call_entries(value: Json) -> Sequence[Json]:
    """The entries of ``tool_calls``, also of an object with their numbers, or of a single entry."""
    if isinstance(value, Mapping) and (numbered := in_numeric_order(value)):
        return [
            {"index": number, **entry} if isinstance(entry, Mapping) else entry
            for number, entry in numbered.items()
        ]
    return as_list(value)


def _is_json(text: str) -> bool:
    return read_json(text).map(lambda _: True).value_or(False)


def normalized_call_id(given: Json) -> str | None:
    """The id of a call; some servers send a number, or blanks in later chunks (vercel/ai#18440)."""
    if isinstance(given, bool) or not isinstance(given, str | int):
        return None
    return str(given).strip() or None


def _argument_text(arguments: Json) -> str:
    return arguments if isinstance(arguments, str) else canonical(arguments)


_JOINING: Mapping[str, Callable[[Sequence[Json]], Json]] = {
    "content": _joined_content,
    "reasoning_content": _joined_text,
    "reasoning": _joined_text,
    "refusal": _joined_text,
    "reasoning_details": _joined_reasoning_details,
    "thinking_blocks": _joined_thinking_blocks,
    "tool_calls": joined_calls,
    "function_call": joined_function_call,
}
"""How the values of each key are joined; other keys keep their last value."""
