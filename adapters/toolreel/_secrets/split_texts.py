"""Puts together what a stream sends in pieces, since its frames may split a secret.

No protocol is known here: of whatever JSON objects a body has as events or lines, the texts with the same
name are joined. Frames of several calls may come in turn, and what tells them apart is called differently by
each provider, so the texts are joined in each way that a reader may join them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace

from toolreel_core._jsontext import Json, read
from toolreel_core._replies import Frames


@dataclass(frozen=True, slots=True)
class _Piece:
    """A text in a frame, and what may say to which text of the reply it belongs."""

    text: str = ""
    names: tuple[str, ...] = ()
    """The keys on the way to it."""
    positions: tuple[int, ...] = ()
    """Its places in the lists on the way."""
    indexes: tuple[Json, ...] = ()
    """Values of keys such as ``index`` and ``output_index`` along the way."""
    ids: tuple[Json, ...] = ()
    """Likewise of keys such as ``id`` and ``item_id``; some servers send them with the first frame only."""
    kinds: tuple[Json, ...] = ()
    """Likewise of ``type``."""


def put_together(text: str) -> tuple[str, ...]:
    r"""The texts that the frames of a stream spell together; none if there are no frames.

    >>> put_together('{"response":"sec"}\n{"response":"ret"}\n')
    ('secret',)
    """
    by_name: dict[str, list[_Piece]] = {}
    for frame in _frames(text):
        for piece in _pieces(frame, _Piece()):
            by_name.setdefault(piece.names[-1], []).append(piece)
    found = (joined for pieces in by_name.values() for joined in _joined(pieces))
    return tuple(dict.fromkeys(found))


def _frames(text: str) -> Iterator[Mapping[str, Json]]:
    if "\n" not in text and "\r" not in text:
        return
    whole = read(text).value_or(()) if text.lstrip()[:1] == "[" else ()
    if isinstance(whole, list):  # Gemini streams the items of one array
        yield from (item for item in whole if isinstance(item, Mapping))
        return
    frames, found = Frames().feed(text)
    yield from (frame for frame in (*found, *frames.close()) if isinstance(frame, Mapping))


def _pieces(value: Json, at: _Piece) -> Iterator[_Piece]:
    match value:
        case str():
            if at.names:
                yield replace(at, text=value)
        case Mapping():
            inside = _Piece(
                names=at.names,
                positions=at.positions,
                indexes=(*at.indexes, *_values(value, "index")),
                ids=(*at.ids, *_values(value, "id")),
                kinds=(*at.kinds, *_values(value, "type")),
            )
            for key, item in value.items():
                if isinstance(item, str | Mapping | list):
                    yield from _pieces(item, replace(inside, names=(*at.names, key)))
        case list():
            for position, item in enumerate(value):
                yield from _pieces(item, replace(at, positions=(*at.positions, position)))
        case _:
            pass


def _values(tree: Mapping[str, Json], name: str) -> Iterator[Json]:
    """The scalars under a key with this name, or whose last word it is."""
    for key, value in tree.items():
        if (
            key.endswith(name)
            and (key == name or key.endswith(f"_{name}"))
            and not isinstance(value, list | Mapping)
        ):
            yield value


def _joined(pieces: list[_Piece]) -> Iterator[str]:
    if len({piece.text for piece in pieces}) == 1:  # the model's name and the like are in every frame
        yield pieces[0].text
        return
    texts: dict[Hashable, list[str]] = {}
    for piece in pieces:
        keys: tuple[Hashable, ...] = (
            ("by name",),
            ("by path", piece.names),
            ("by index", piece.indexes),
            ("by path and index", piece.names, piece.indexes),
            ("by index and id", piece.indexes, piece.ids),
            ("by id", piece.ids),
            ("by place", piece.names, piece.positions, piece.kinds),
        )
        for key in keys:
            texts.setdefault(key, []).append(piece.text)
    yield from map("".join, texts.values())
