"""Contents of messages, as chat completions write them."""

from __future__ import annotations

from collections.abc import Sequence

from toolreel_core._jsontext import Json, Tree, as_tree


def contents(parts: Json) -> Json:
    r"""A text if there is nothing else, since not every server takes a list.

    >>> contents([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])
    'a\n\nb'
    """
    if not isinstance(parts, Sequence) or isinstance(parts, str):
        return parts
    texts = [part.get("text") for part in map(as_tree, parts) if part.get("type") == "text"]
    if len(texts) < len(parts):
        return parts
    return "\n\n".join(map(str, texts))


def said_by(text: str, thought: str, calls: Sequence[Json]) -> Tree:
    """A message of the model."""
    reasoning: Tree = {"reasoning_content": thought} if thought else {}
    called: Tree = {"tool_calls": calls} if calls else {}
    return {"role": "assistant", "content": text, **reasoning, **called}
