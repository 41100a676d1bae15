"""What a request sent of the stored history: which messages were changed, added or left out.

The history is compared in the form that the provider speaks, as any provider of that form would get it, so
that only what is special about this request is a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from toolreel.cassette import Change, changes
from toolreel_core._conversation import Form, Message, Transcript, wire_tree
from toolreel_core._jsontext import Json, JsonText, canonical, parse
from toolreel_core._plan import Request
from toolreel_core._settings import Provider, WireForm


@dataclass(frozen=True, slots=True)
class SentHistory:
    """The history of one request, next to what is stored."""

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
    stored, sent = plain_items(messages, request.form), [*request.sent.texts.values()]
    changed: list[tuple[int, tuple[Change, ...]]] = []
    left_out: list[int] = []
    added: list[str] = []
    for one, other in unequal([*map(canonical, stored)], [*map(canonical, sent)], role_of):
        if one is None and other is not None:
            added.append(canonical(sent[other]))
        elif other is None and one is not None:
            left_out.append(one + 1)
        elif one is not None and other is not None:
            changed.append((one + 1, tuple(changes(stored[one], sent[other]))))
    return SentHistory(len(stored), len(sent), tuple(changed), tuple(left_out), tuple(added))


def plain_items(messages: Iterable[Message], form: WireForm) -> list[Json]:
    """Stored messages as any provider gets them that speaks a form, without quirks.

    In other forms than chat completions a message can be several items, or none.
    """
    if form == "chat_completions":
        return [wire_tree(message) for message in messages]
    return [*Transcript.of(messages, Form(Provider(wire_form=form))).texts.values()]


def unequal(
    stored: Sequence[str], sent: Sequence[str], role: Callable[[str], str]
) -> Iterator[tuple[int | None, int | None]]:
    """Places of items that are not the same on both sides; those of one role belong together.

    :param role: the role of an item
    """
    matcher = SequenceMatcher(None, stored, sent, autojunk=False)
    for tag, first, last, begin, end in matcher.get_opcodes():
        if tag == "equal":
            continue
        ones, others = [*range(first, last)], [*range(begin, end)]
        yield from _of_one_role(
            ones, others, [role(stored[at]) for at in ones], [role(sent[at]) for at in others]
        )


def _of_one_role(
    ones: Sequence[int], others: Sequence[int], was: Sequence[str], now: Sequence[str]
) -> Iterator[tuple[int | None, int | None]]:
    """Places on both sides, paired where the roles go on alike."""
    for tag, first, last, begin, end in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from zip(ones[first:last], others[begin:end], strict=True)
            continue
        yield from ((one, None) for one in ones[first:last])
        yield from ((None, other) for other in others[begin:end])


def role_of(text: str) -> str:
    """The role of a message; of an item that has none, its type.

    >>> role_of('{"type":"function_call","name":"ping"}')
    'function_call'
    """
    tree = parse(JsonText(text))
    return str(tree.get("role") or tree.get("type")) if isinstance(tree, Mapping) else ""
