"""Join the deltas of a streamed reply into one message."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from toolreel_core._jsontext import Json, canonical, in_order, read, tree_at
from toolreel_core._lazy_pattern import lazy_pattern

_NOTHING: Final[Mapping[str, Json]] = {}
_Detail: TypeAlias = Mapping[str, Json]


def joined(deltas: Iterable[Mapping[str, Json]], whole: Mapping[str, Json] = _NOTHING) -> dict[str, Json]:
    """The joined message, in the shape of a reply that was not streamed.

    >>> joined([{"role": "assistant", "content": "Hel"}, {"content": "lo"}])
    {'role': 'assistant', 'content': 'Hello'}

    Texts and arguments are concatenated, lists are extended; of anything else the last value counts.

    :param whole: the message again, as some servers send it at the end: it is not said twice
    """
    given: dict[str, list[Json]] = {}
    for delta in deltas:
        for key, value in delta.items():
            if value is not None:
                given.setdefault(key, []).append(value)
    fields = {key: _JOINING.get(key, _joined_or_last)(values) for key, values in given.items()}
    for key, value in whole.items():
        if key == "tool_calls":
            fields[key] = joined_calls(given.get(key, []), whole=value)
        elif key == "function_call":
            fields[key] = joined_function(given.get(key, []), whole=value)
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


def _joined_or_last(values: Sequence[Json]) -> Json:
    listed = all(isinstance(value, Sequence) and not isinstance(value, str) for value in values)
    return _flat_parts(values) if listed else values[-1]


def _flat_parts(values: Sequence[Json]) -> list[Json]:
    flat: list[Json] = []
    for value in values:
        flat += value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    return flat


def _joined_reasoning_details(values: Sequence[Json]) -> Json:
    """Reasoning details in the order of their first chunks; chunks of one share its type and index."""
    groups: list[list[_Detail]] = []
    begun: dict[str, list[_Detail]] = {}
    for entry in _flat_parts(values):
        if isinstance(entry, Mapping):
            name = f"{entry.get('type')}:{entry.get('index')}"
            # One with ``data`` is encrypted and never split.
            first = begun[name][0] if name in begun else None
            if first is None or "data" in entry or entry.get("id") not in (None, first.get("id")):
                begun[name] = []
                groups.append(begun[name])
            begun[name].append(entry)
    details: list[Json] = []
    for group in groups:
        whole = {**group[0]}
        for entry in group[1:]:
            whole |= {key: value for key, value in entry.items() if value is not None}
        for key in ("text", "summary"):
            texts = [text for entry in group if isinstance(text := entry.get(key), str)]
            whole |= {key: "".join(texts)} if texts else {}
        details.append(whole)
    return details


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


# What matters for nesting: escapes (which may hide a quote), quotes and brackets.
_MARK: Final = lazy_pattern(r'\\.?|["{}\[\]]', re.DOTALL)
_LONGEST_NAME: Final = 1_000
"""Maximum length of a name: a server that repeats it in every chunk would grow it without bound."""
_LONGEST_INDEX: Final = 10
"""Digits from which an index sent as text is ignored."""


def joined_calls(values: Sequence[Json], *, whole: Json = None) -> list[Json]:
    """The calls in the order in which they began, from the ``tool_calls`` of each delta.

    >>> first = {"index": 0, "id": "a", "function": {"name": "ping", "arguments": "{"}}
    >>> joined_calls([[first], [{"index": 0, "function": {"arguments": "}"}}]])
    [{'id': 'a', 'function': {'name': 'ping', 'arguments': '{}'}}]

    :param whole: all calls again, as a whole message at the end has them
    """
    calls = _Calls()
    for value in values:
        calls.take(value)
    calls.take_whole(whole)
    return [entry.tree() if isinstance(entry, _Call) else entry for entry in calls.in_order()]


def joined_function(values: Sequence[Json], *, whole: Json = None) -> Json:
    """The joined legacy ``function_call``, of which a reply has at most one.

    :param whole: the call again, as a whole message at the end has it
    """
    call = _Call()
    for value in values:
        call.take(_fragment({"function": value}))
    again = _fragment({"function": whole})
    if not call.equals(again):
        call.take(again)
    return call.function()


class _Fragment(NamedTuple):
    """A piece of a call, as one delta has it."""

    entry: Mapping[str, Json]
    id: str | None
    number: int | None
    name: str
    arguments: str


def _fragment(entry: Mapping[str, Json]) -> _Fragment:
    function = tree_at(entry, "function")
    name, arguments = function.get("name"), function.get("arguments")
    return _Fragment(
        entry,
        identity_of(entry.get("id")),
        index_of(entry.get("index")),
        name if isinstance(name, str) else "",
        "" if arguments is None else _argument_text(arguments),
    )


class _Calls:
    """The calls so far, with the keys by which a fragment finds its call."""

    def __init__(self) -> None:
        self.begun: list[_Call | Json] = []
        """Calls in order; an entry that is not a fragment stays unchanged for the later reader."""
        self._by_id: dict[str | None, _Call] = {}
        self._by_index: dict[int, _Call] = {}
        self._latest: _Call | None = None

    def take(self, value: Json) -> None:
        """Add the ``tool_calls`` of one delta."""
        for place, entry in enumerate(_call_entries(value)):
            if not (isinstance(entry, Mapping) and _is_fragment(entry)):
                self.begun.append(entry)
                continue
            # A call may be sent a second time under its own id, whatever index it has now.
            fragment = _fragment(entry)
            known = self._by_id.get(fragment.id)
            if known is None or not known.equals(fragment):
                self._call_of(fragment, place).take(fragment)

    def take_whole(self, value: Json) -> None:
        """Add the calls of a whole message: each is one of those so far, or one that no fragment began."""
        left = [call for call in self.begun if isinstance(call, _Call)]
        differing: list[_Fragment] = []
        for entry in () if value is None else _call_entries(value):
            if not (isinstance(entry, Mapping) and _is_fragment(entry)):
                self.begun += [] if entry in self.begun else [entry]
                continue
            fragment = _fragment(entry)
            if equal := [call for call in left if call.equals(fragment)]:
                left.remove(next((call for call in equal if call.id and call.id == fragment.id), equal[0]))
            else:
                differing.append(fragment)
        for fragment in differing:
            known = self._by_id.get(fragment.id)
            call = known if known in left else next(iter(left), None)
            if call is None:
                call = _Call()
                self.begun.append(call)
            else:
                left.remove(call)
            # Two that differ make arguments that are no JSON, so the model is told; what was cut goes on.
            call.take(fragment)

    def _call_of(self, fragment: _Fragment, place: int) -> _Call:
        call = self._find_call(fragment)
        # Several named entries in one delta without id and index are different calls.
        separate = place > 0 and fragment.name != "" and fragment.id is None and fragment.number is None
        if call is None or separate or call.ended_before(fragment):
            call = _Call(fragment.name or (call.name if call else ""))
            self.begun.append(call)
        self._latest = call
        if fragment.id is not None:
            self._by_id[fragment.id] = call
        if fragment.number is not None:
            self._by_index[fragment.number] = call
            call.index = fragment.number if call.index is None else call.index
        return call

    def in_order(self) -> list[_Call | Json]:
        """The calls by index if each has its own (fragments may interleave), else in order of appearance."""
        calls = [call for call in self.begun if isinstance(call, _Call)]
        indices = [call.index for call in calls if call.index is not None]
        if len({*indices}) < len(self.begun):
            return self.begun
        return [call for _, call in sorted(zip(indices, calls, strict=True), key=lambda pair: pair[0])]

    def _find_call(self, fragment: _Fragment) -> _Call | None:
        """The call of a fragment by id, index, or else the latest; a new id may join a call without one."""
        if fragment.id in self._by_id:
            return self._by_id[fragment.id]
        # A fragment with an unknown index continues the latest call only if that has no index and no name
        # is given: a name begins a call.
        call = self._latest
        if fragment.number is not None:
            begins = call is None or call.index is not None or fragment.name
            call = self._by_index.get(fragment.number, None if begins else call)
        if call and call.id and fragment.id is not None and not call.goes_on_with(fragment):
            return None
        return call


class _Call:
    """One call, joined from its fragments so far."""

    def __init__(self, name: str = "") -> None:
        self.index: int | None = None
        """The index of its first fragment that had one."""
        self.name = name
        self._named_again = False
        """Whether its name came again after its arguments: the next arguments are those of another call."""
        self._pieces: list[Json] = []
        """Of its arguments."""
        self._braces = _Braces()
        self._rest: dict[str, Json] = {}
        self._in_function: dict[str, Json] = {}

    @property
    def id(self) -> str | None:
        """Its id, once a fragment of it had one."""
        return identity_of(self._rest.get("id"))

    def ended_before(self, fragment: _Fragment) -> bool:
        """Whether the fragment begins another call: a name after complete arguments (ollama#15457).

        Under the same id it is the same call, sent with other arguments: they are joined, which is no
        JSON, so the model is told. Which of them it meant is not on the wire.
        """
        name, more = fragment.name, bool(fragment.arguments.strip())
        # Where the name comes after the arguments, it is theirs.
        if not self._braces.closed or not self.name:
            return False
        if not name:
            return self._named_again and more
        same_id = self.id is not None and self.id == fragment.id
        if same_id and name == self.name and fragment.number in {None, self.index}:
            return False
        return more or name != self.name

    def goes_on_with(self, fragment: _Fragment) -> bool:
        """Whether a fragment with a new id belongs to this call: some servers make a new id for every chunk.

        It does if it continues arguments that are open, or repeats the name of the index that it has.
        """
        if not self.name or self._braces.closed:
            return not self.name
        begins = self._pieces and fragment.arguments.lstrip().startswith("{")
        repeats_head = fragment.name == self.name and fragment.number is not None
        return not fragment.name or (repeats_head and not begins)

    def equals(self, fragment: _Fragment) -> bool:
        """Whether a fragment is this complete call again: equal arguments as values, however written."""
        if not self._braces.closed or fragment.name not in {"", self.name}:
            return False
        mine = read(_argument_text(self._joined_arguments())).value_or(None)
        return isinstance(mine, Mapping) and mine == read(fragment.arguments).value_or(None)

    def take(self, fragment: _Fragment) -> None:
        """Add a fragment."""
        name = fragment.name
        self._named_again = self._named_again or (self._braces.closed and name == self.name != "")
        for key, value in fragment.entry.items():
            if key not in {"function", "index"} and value is not None and value != "":
                # Of several ids, the first: earlier fragments have been shown under it.
                self._rest[key] = self._rest[key] if key == "id" and self.id else value
        for key, value in tree_at(fragment.entry, "function").items():
            if key == "arguments" and value is not None and value != "":
                self._pieces.append(value)
                self._braces.take(fragment.arguments)
            elif key not in {"name", "arguments"}:
                self._in_function[key] = value
        # A server may repeat the whole name in every chunk (hermes#12230); joining would double it.
        self.name += "" if name == self.name or len(self.name) > _LONGEST_NAME else name

    def tree(self) -> Json:
        """The call in the shape of a reply that was not streamed."""
        return {**self._rest, "function": self.function()}

    def function(self) -> Json:
        """Its function part."""
        name = {"name": self.name} if self.name else {}
        return {**name, "arguments": self._joined_arguments(), **self._in_function}

    def _joined_arguments(self) -> Json:
        """The joined arguments.

        Some servers send all arguments again in every chunk (hermes-agent#35592). Chunks that only share a
        prefix look the same, so what decides is which of the two results is JSON.
        """
        if len(self._pieces) == 1:
            return self._pieces[0]
        pieces = [*map(_argument_text, self._pieces)]
        whole, last = "".join(pieces), pieces[-1] if pieces else ""
        grew = all(piece.startswith(before) for before, piece in pairwise(pieces))
        return last if grew and _is_json(last) and not _is_json(whole) else whole


class _Braces:
    """Tracks whether a JSON value that arrives in chunks is complete, without parsing it again each time."""

    def __init__(self) -> None:
        self.closed = False
        self._depth = 0
        self._quoted = self._escaped = False

    def take(self, piece: str) -> None:
        """Scan the next chunk, which is not empty."""
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
    if isinstance(value, Mapping) and (numbered := in_order(value)):
        return [
            {"index": number, **entry} if isinstance(entry, Mapping) else entry
            for number, entry in numbered.items()
        ]
    return value if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def _is_json(text: str) -> bool:
    return read(text).map(lambda _: True).value_or(False)


def _is_fragment(entry: Mapping[str, Json]) -> bool:
    return isinstance(entry.get("function"), Mapping) or "name" not in entry


def identity_of(given: Json) -> str | None:
    """The id of a call; some servers send a number."""
    if isinstance(given, bool) or not isinstance(given, str | int):
        return None
    return str(given).strip() or None


def index_of(given: Json) -> int | None:
    """The number of a call; some servers send it as text."""
    if isinstance(given, str):
        return int(given) if given.isascii() and given.isdecimal() and len(given) < _LONGEST_INDEX else None
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    return int(given) if given == given // 1 else None


def _argument_text(arguments: Json) -> str:
    return arguments if isinstance(arguments, str) else canonical(arguments)


_JOINING: Final[Mapping[str, Callable[[Sequence[Json]], Json]]] = {
    "content": _joined_content,
    "reasoning_content": _joined_text,
    "reasoning": _joined_text,
    "refusal": _joined_text,
    "reasoning_details": _joined_reasoning_details,
    "thinking_blocks": _joined_thinking_blocks,
    "tool_calls": joined_calls,
    "function_call": joined_function,
}
"""How the values of each key are joined; other keys are extended as lists, or keep their last value."""
