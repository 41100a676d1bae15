"""Lists of messages that begin alike, written so that every message stands once.

Each request of a conversation repeats the whole history. Put into a prefix tree, the lists
share their beginnings; written out, a list that goes on from a shared beginning is
``[beginning, new, new]``: a nested list as first element stands for its own elements. YAML
writes the second mention of a beginning as an alias, so that a file grows linearly with the
conversation::

    messages: &messages-3fa2c1      messages:                     (next request)
    - {role: user, …}               - *messages-3fa2c1
                                    - {role: assistant, …}
                                    - {role: tool, …}

Where two lists part ways in the middle (a fork, or a reminder that moves along at the end),
what they share is nested in the first of them too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from toolreel_core._conversation.stored_messages import Rope
from toolreel_core._jsontext.canonical import Json, canonical
from toolreel_core._jsontext.digest import chain


@dataclass(slots=True, eq=False)
class MessageNode:
    """A list of messages in the tree: its last message, and the list without it."""

    parent: MessageNode | None
    message: Json
    digest: str
    """Identifies the whole list, by chaining the digests of its messages."""
    length: int
    """How many messages the list has."""
    children: dict[str, MessageNode] = field(default_factory=dict)
    ends: bool = False
    """Whether some request's list ends here."""
    folded: list[Json] | None = None
    """The list as it is written, once it has been."""

    def first(self, count: int) -> MessageNode:
        """The list that has its first messages alone."""
        node = self
        while node.length > count and node.parent is not None:
            node = node.parent
        return node


class MessageTree:
    """The lists of one file; all of them are added before the first is folded."""

    __slots__ = ("_root", "shared")

    def __init__(self) -> None:
        self._root: Final = MessageNode(None, None, "", 0)
        self.shared: Final[list[tuple[list[Json], str]]] = []
        """Every folded list that may be mentioned again, with its digest."""

    def add(self, messages: Sequence[Json], before: MessageNode | None = None, kept: int = 0) -> MessageNode:
        """Put a list that has at least one message into the tree.

        :param before: a list of the tree, whose first ``kept`` messages stand before these
        """
        node = self._root if before is None else before.first(kept)
        for message in messages:
            text = canonical(message)
            child = node.children.get(text)
            if child is None:
                child = node.children[text] = MessageNode(
                    node, message, chain(node.digest, text), node.length + 1
                )
            node = child
        node.ends = True
        return node

    def fold(self, end: MessageNode) -> list[Json]:
        """The list that ends at a node, as it is written; the same object for the same list."""
        trail: list[MessageNode] = []
        node = end
        while node.folded is None and node.parent is not None:
            trail.append(node)
            node = node.parent
        folded: list[Json] = [] if node.folded is None else node.folded
        current: list[Json] = [] if node.folded is None else [folded]
        for node in reversed(trail):
            current.append(node.message)
            if node.ends or len(node.children) > 1:
                node.folded = folded = current
                self.shared.append((folded, node.digest))
                current = [folded]
        return folded


def message_rope(folded: Sequence[Json], known: dict[int, Rope]) -> Rope:
    """The canonical text of each message in a folded list; lists share the blocks of what they share.

    >>> [*message_rope([[{"role": "system"}], {"role": "user"}], {})]
    ['{"role":"system"}', '{"role":"user"}']

    :param known: by ``id`` of a folded list, what was found for it; kept between the calls for
        one file, whose lists stay alive meanwhile, so that no message is encoded twice
    """
    trail: list[Sequence[Json]] = [folded]
    while id(trail[-1]) not in known and trail[-1] and isinstance(trail[-1][0], list):
        trail.append(trail[-1][0])
    rope = Rope()
    for own in reversed(trail):
        if id(own) not in known:
            for message in own[bool(own) and isinstance(own[0], list) :]:
                rope = rope.append(canonical(message).encode())
            known[id(own)] = rope
        rope = known[id(own)]
    return rope
