"""What a request sent of the stored history: which messages were changed, added or left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from toolreel.cassette._request_diff import Change, changes
from toolreel_core._conversation.message import Message, wire_tree
from toolreel_core._jsontext.canonical import Json, canonical, read
from toolreel_core._plan.request import Request


@dataclass(frozen=True, slots=True)
class SentHistory:
    """The history of one request, beside what is stored."""

    stored: int
    """Messages that are stored."""
    sent: int
    changed: tuple[tuple[int, tuple[Change, ...]], ...]
    """Stored messages, counted from 1, that were sent otherwise, each with what differs."""
    left_out: tuple[int, ...]
    """Stored messages that were not sent."""
    added: tuple[str, ...]
    """Messages that were sent and are not stored, such as a reminder."""


def sent_history(messages: Iterable[Message], request: Request) -> SentHistory:
    """Compare what a request sends with the history that it was made from.

    :param messages: of the state before the reply
    """
    stored: list[Json] = [wire_tree(message) for message in messages]
    sent = _messages(request)
    changed: list[tuple[int, tuple[Change, ...]]] = []
    left_out: list[int] = []
    added: list[str] = []
    for one, other in _pairs(stored, sent):
        if one is None and other is not None:
            added.append(canonical(sent[other]))
        elif other is None and one is not None:
            left_out.append(one + 1)
        elif one is not None and other is not None:
            changed.append((one + 1, tuple(changes(stored[one], sent[other]))))
    return SentHistory(len(stored), len(sent), tuple(changed), tuple(left_out), tuple(added))


def _messages(request: Request) -> list[Json]:
    body = read(request.body).value_or(None)
    messages = body.get("messages") if isinstance(body, dict) else None
    return [*messages] if isinstance(messages, list) else []


def _pairs(stored: list[Json], sent: list[Json]) -> Iterator[tuple[int | None, int | None]]:
    """Places of messages that are not the same on both sides; those of one role belong together."""
    matcher = SequenceMatcher(None, [*map(canonical, stored)], [*map(canonical, sent)], autojunk=False)
    for tag, first, last, begin, end in matcher.get_opcodes():
        if tag == "equal":
            continue
        ones, others = [*range(first, last)], [*range(begin, end)]
        while ones and others and _role(stored[ones[0]]) == _role(sent[others[0]]):
            yield ones.pop(0), others.pop(0)
        yield from ((one, None) for one in ones)
        yield from ((None, other) for other in others)


def _role(message: Json) -> Json:
    return message.get("role") if isinstance(message, dict) else None
