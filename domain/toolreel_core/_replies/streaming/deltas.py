"""Join the deltas of a streamed reply into one message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from toolreel_core._jsontext import Json, canonical
from toolreel_core._replies.streaming.call_fragments import joined_calls, joined_function

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
    fields = {key: _JOINING.get(key, _going_on)(values) for key, values in given.items()}
    again = {
        key: _settled(key, given.get(key, []), value) for key, value in whole.items() if value is not None
    }
    return {"role": "assistant", "content": None, **fields, **again}


def _settled(key: str, values: Sequence[Json], whole: Json) -> Json:
    """The value of a key that deltas spelled and a whole message has, or one of the two."""
    match key:
        case "tool_calls":
            return joined_calls(values, whole=whole)
        case "function_call":
            return joined_function(values, whole=whole)
        case _:
            spelled = _JOINING.get(key, _going_on)(values) if values else None
            return whole if not spelled or not _says(spelled, whole) else spelled


def _says(spelled: Json, whole: Json) -> bool:
    """Whether what deltas spelled holds all of a whole value, apart from spaces.

    It may hold more, such as the tags of a thought. If it holds less, the message is the server's last word.
    """
    if not (isinstance(spelled, str) and isinstance(whole, str)):
        return True  # parts and details: the deltas are as good, and have been shown
    return "".join(whole.split()) in "".join(spelled.split())


def _content(values: Sequence[Json]) -> Json:
    """One text, or a list of parts if any value was a list (Mistral); a single value stays unchanged."""
    if len(values) == 1:
        return values[0]
    texts = [value for value in values if isinstance(value, str)]
    return "".join(texts) if len(texts) == len(values) else _flat(values)


def _text(values: Sequence[Json]) -> Json:
    return "".join(value if isinstance(value, str) else canonical(value) for value in values)


def _going_on(values: Sequence[Json]) -> Json:
    listed = all(isinstance(value, Sequence) and not isinstance(value, str) for value in values)
    return _flat(values) if listed else values[-1]


def _flat(values: Sequence[Json]) -> list[Json]:
    flat: list[Json] = []
    for value in values:
        flat += value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    return flat


def _details(values: Sequence[Json]) -> Json:
    """Reasoning details in the order of their first chunks; chunks of one share its type and index."""
    groups: list[list[_Detail]] = []
    begun: dict[str, list[_Detail]] = {}
    for entry in _flat(values):
        if isinstance(entry, Mapping):
            name = f"{entry.get('type')}:{entry.get('index')}"
            if name not in begun or not _goes_on(begun[name][0], entry):
                begun[name] = []
                groups.append(begun[name])
            begun[name].append(entry)
    return [_merged(group) for group in groups]


def _goes_on(first: _Detail, entry: _Detail) -> bool:
    """Whether this is a chunk of the same detail; one with ``data`` is encrypted and never split."""
    return "data" not in entry and entry.get("id") in (None, first.get("id"))


def _merged(group: Sequence[_Detail]) -> Json:
    whole = {**group[0]}
    for entry in group[1:]:
        whole |= {key: value for key, value in entry.items() if value is not None}
    for key in ("text", "summary"):
        texts = [text for entry in group if isinstance(text := entry.get(key), str)]
        whole |= {key: "".join(texts)} if texts else {}
    return whole


def _blocks(values: Sequence[Json]) -> Json:
    """Thinking blocks; each ends with its signature (LiteLLM)."""
    blocks: list[Json] = []
    for entry in _flat(values):
        last = blocks[-1] if blocks else None
        if isinstance(entry, Mapping) and isinstance(last, Mapping) and _thinks_on(last, entry):
            blocks[-1] = {**last, **entry, "thinking": f"{last['thinking']}{entry.get('thinking') or ''}"}
        else:
            blocks.append(entry)
    return blocks


def _thinks_on(last: Mapping[str, Json], entry: Mapping[str, Json]) -> bool:
    unsigned = isinstance(last.get("thinking"), str) and not last.get("signature")
    return unsigned and entry.get("type") == last.get("type")


_JOINING: Final[Mapping[str, Callable[[Sequence[Json]], Json]]] = {
    "content": _content,
    "reasoning_content": _text,
    "reasoning": _text,
    "refusal": _text,
    "reasoning_details": _details,
    "thinking_blocks": _blocks,
    "tool_calls": joined_calls,
    "function_call": joined_function,
}
"""How the values of each key are joined; other keys are extended as lists, or keep their last value."""
