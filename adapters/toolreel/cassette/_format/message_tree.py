"""The messages of a cassette's requests as a tree, so that a file has each of them only once.

Each request of a conversation repeats the history. A prefix tree finds the shared
beginnings; a list that continues one is written as ``[beginning, new, new]``, where the nested list stands
for its elements. YAML writes later mentions as aliases, so a file grows linearly with the conversation::

    messages: &messages-3fa2c1      messages:                     (next request)
    - {role: user, …}               - *messages-3fa2c1
                                    - {role: assistant, …}
                                    - {role: tool, …}

Where two lists diverge in the middle (a fork, or a reminder that is always last), their shared beginning is
nested in the first of them too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from toolreel_core._conversation.message_rope import Rope
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
    """The number of messages in the list."""
    children: dict[str, MessageNode] = field(default_factory=dict)
    ends: bool = False
    """Whether the list of a request ends here."""
    folded: list[Json] | None = None
    """The list as it is written; ``None`` until then."""

    def first(self, count: int) -> MessageNode:
        """The list of its first ``count`` messages."""
        node = self
        while node.length > count and node.parent is not None:
            node = node.parent
        return node


class MessageTree:
    """The lists of one file; add all of them before you fold one."""

    __slots__ = ("_root", "shared")

    def __init__(self) -> None:
        self._root: Final = MessageNode(None, None, "", 0)
        self.shared: Final[list[tuple[list[Json], str]]] = []
        """Each folded list that may be repeated, with its digest."""

    def add(self, messages: Sequence[Json], before: MessageNode | None = None, kept: int = 0) -> MessageNode:
        """Add messages, at least one, which follow the first ``kept`` messages of the list ``before``."""
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
        """The list that ends at a node, as it is written: the same object for the same list."""
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
    """The canonical text of each message in a folded list; lists share the blocks of shared messages.

    >>> [*message_rope([[{"role": "system"}], {"role": "user"}], {})]
    ['{"role":"system"}', '{"role":"user"}']

    :param known: a cache for one file, by ``id`` of a folded list, so that no message is encoded twice
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
