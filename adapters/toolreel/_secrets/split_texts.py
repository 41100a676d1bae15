"""Puts together what a reply has in pieces, since its frames and content parts may split a secret.

No protocol is known here: of whatever JSON objects a body has as events or lines, the texts with the same
name are joined. Frames of several calls may come in turn, and what tells them apart is called differently by
each provider, so the texts are joined in each way that a reader may join them.
"""

from __future__ import annotations

import zlib
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolreel_core._jsontext import Json, read
from toolreel_core._replies import Frames

_UNPACKED: Final = 64 * 2**20
"""Maximum size of what is unpacked, in bytes."""
_LAYERS: Final = 3
"""Maximum number of packings inside each other."""
_PIECE: Final = 4_096
"""Bytes that are unpacked at once: what a damaged body has before the damage is read nevertheless."""
_WITH_HEADER: Final = 47
"""``wbits`` for gzip and zlib, as the header says."""
_RAW: Final = -15
_MARKS: Final = "\ufeff\ufffd"
"""What byte order marks leave, read in the right encoding or another; no JSON begins with them."""
_BYTE_ORDER_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")


def readings(body: bytes, layers: int = _LAYERS) -> Iterator[str]:
    r"""The texts that a body may mean, each at least once: UTF-8, what is packed in it, UTF-16 and UTF-32.

    No header is trusted, as a server may name another encoding than it uses, or none.

    >>> [*readings(b"hi")], "hi" in [*readings("hi".encode("utf-16"))]
    (['hi'], True)
    """
    text = body.decode("utf-8", "replace")
    yield text.lstrip(_MARKS)
    if "\0" in text or body.startswith(_BYTE_ORDER_MARKS):
        yield as_ascii(text)
        for encoding in ("utf-16-le", "utf-16-be"):
            yield body.decode(encoding, "replace").lstrip(_MARKS)
    if layers and not text.isascii():
        for wbits in (_WITH_HEADER, _RAW):
            if unpacked := _unpacked(body, wbits):
                yield from readings(unpacked, layers - 1)


def as_ascii(text: str) -> str:
    r"""All of ASCII in UTF-16 or UTF-32 that was read as UTF-8, wherever it begins.

    >>> as_ascii("\ufffd\ufffdh\0i\0")
    'hi'
    """
    return text.replace("\0", "").lstrip(_MARKS)


def _unpacked(body: bytes, wbits: int) -> bytes:
    """What is packed in bytes, as far as they can be unpacked; empty if nothing is."""
    found = bytearray()
    decoder = zlib.decompressobj(wbits)
    try:
        for at in range(0, len(body), _PIECE):
            rest = body[at : at + _PIECE]
            while rest and len(found) < _UNPACKED:
                found += decoder.decompress(rest, _UNPACKED - len(found))
                rest = decoder.unused_data
                if decoder.eof:  # gzip may have several members
                    decoder = zlib.decompressobj(wbits)
    except zlib.error:
        pass
    return bytes(found)


_TELLING: Final = ("index", "id", "type")
"""Names, or their last words, of the scalars that say to which text of the reply a piece belongs."""
_PARTS: Final = frozenset({"text", "content"})
"""What content parts have their texts under."""


@dataclass(slots=True)
class Piece:
    """A text in a frame, and what may say to which text of the reply it belongs."""

    text: str
    frame: int
    holder: Any
    """The list or object that it is in."""
    key: Any
    """Where it is in that."""
    names: tuple[str, ...]
    """The keys on the way to it."""
    positions: tuple[int, ...]
    """Its places in the lists on the way."""
    told: tuple[tuple[Json, ...], ...]
    """The values of keys such as ``index`` and ``output_index`` on the way, of ``id`` and ``item_id``, and of
    ``type``. Some servers send ids with the first frame only."""

    def replace(self, start: int, end: int, text: str) -> None:
        """Put another text in the place of a part of it, in the frame too."""
        self.text = self.holder[self.key] = f"{self.text[:start]}{text}{self.text[end:]}"


def pieces_in(frame: Json, number: int = 0) -> list[Piece]:
    """The texts in a frame that have a name.

    :param number: of the frame
    """
    found = list[Piece]()
    if isinstance(frame, dict | list):
        _add_pieces(found, frame, number, (), (), ((), (), ()))
    return found


def _add_pieces(
    found: list[Piece],
    holder: Any,  # noqa: ANN401 - a list or an object
    number: int,
    names: tuple[str, ...],
    positions: tuple[int, ...],
    told: tuple[tuple[Json, ...], ...],
) -> None:
    is_object = isinstance(holder, dict)
    if is_object and (telling := [key for key in holder if key.endswith(_TELLING)]):
        said = {key: holder[key] for key in telling if not isinstance(holder[key], list | dict)}
        told = tuple((*values, *_values(said, name)) for name, values in zip(_TELLING, told, strict=True))
    entries: Iterable[tuple[Any, Json]] = holder.items() if isinstance(holder, dict) else enumerate(holder)
    for key, value in entries:
        if isinstance(value, str | dict | list):
            inside = (*names, str(key)) if is_object else names
            places = positions if is_object else (*positions, key)
            if not isinstance(value, str):
                _add_pieces(found, value, number, inside, places, told)
            elif inside:
                found.append(Piece(value, number, holder, key, inside, places, told))


def _values(scalars: Mapping[str, Json], name: str) -> Iterator[Json]:
    """The scalars under a key with this name, or whose last word it is."""
    return (value for key, value in scalars.items() if key == name or key.endswith(f"_{name}"))


def groups_of(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """The pieces that may be of one text, in each way in which a reader may join them."""
    by_name: dict[str, list[Piece]] = {}
    for piece in pieces:
        by_name.setdefault(piece.names[-1], []).append(piece)
    for named in by_name.values():
        if len({piece.text for piece in named}) == 1:  # the model's name and the like are in every frame
            yield named[:1]
            continue
        groups: dict[Hashable, list[Piece]] = {}
        for piece in named:
            indexes, ids, kinds = piece.told
            keys: tuple[Hashable, ...] = (
                ("by name",),
                ("by path", piece.names),
                ("by index", indexes),
                ("by path and index", piece.names, indexes),
                ("by index and id", indexes, ids),
                ("by id", ids),
                ("by place", piece.names, piece.positions, kinds),
            )
            for key in keys:
                groups.setdefault(key, []).append(piece)
        yield from groups.values()


def put_together(text: str) -> tuple[str, ...]:
    r"""The texts that the frames of a stream, or the content parts of a reply, spell together.

    >>> put_together('{"response":"sec"}\n{"response":"ret"}\n')
    ('secret',)
    """
    frames = [*_frames(text)]
    if frames:
        groups = groups_of(piece for frame in frames for piece in pieces_in(frame))
    else:
        whole = read(text).value_or(()) if text.lstrip()[:1] == "{" else ()
        parts = (each for each in pieces_in(whole) if each.positions and each.names[-1] in _PARTS)
        groups = (group for group in groups_of(parts) if len(group) > 1)
    return tuple(dict.fromkeys("".join(piece.text for piece in group) for group in groups))


def _frames(text: str) -> Iterator[Json]:
    if "\n" not in text and "\r" not in text:
        return
    whole = read(text).value_or(()) if text.lstrip()[:1] == "[" else ()
    if isinstance(whole, list):  # Gemini streams the items of one array
        yield from (item for item in whole if isinstance(item, dict))
        return
    frames, found = Frames().feed(text)
    yield from (frame for frame in (*found, *frames.close()) if isinstance(frame, dict))
