"""The scrubber of every sink: replaces known secrets in texts and bodies, whole or as they arrive.

Bodies are those of replies: what a server says back is replaced before a run, a record, a client or a log has
it, whatever its spelling, and also where the frames of a stream or content parts spell it in pieces.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from toolreel._secrets.known_values import encoded_spellings
from toolreel._secrets.rules import rules_from_environment
from toolreel_core._jsontext import Json, read_json
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._replies import Frames

# Puts together what a reply has in pieces, since its frames and content parts may split a secret.
#
# No protocol is known here: of whatever JSON objects a body has as events or lines, the texts with the same
# name are joined. Frames of several calls may come in turn, and what tells them apart is called differently
# by each provider, so the texts are joined in each way that a reader may join them.


_UNPACKED = 64 * 2**20
"""Maximum size of what is unpacked, in bytes."""
_LAYERS = 3
"""Maximum number of packings inside each other."""
_PIECE = 4_096
"""Bytes that are unpacked at once: what a damaged body has before the damage is read nevertheless."""
_WITH_HEADER = 47
"""``wbits`` for gzip and zlib, as the header says."""
_RAW = -15
"""``wbits`` for deflate without a header, which some servers send."""
_MARKS = "\ufeff\ufffd"
"""What byte order marks leave, read in the right encoding or another; no JSON begins with them."""
_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")


def decoded_texts(body: bytes, layers: int = _LAYERS) -> Iterator[str]:
    """The texts that a body may mean, each at least once: UTF-8, what is packed in it, UTF-16 and UTF-32.

    No header is trusted, as a server may name another encoding than it uses, or none.
    """
    text = body.decode("utf-8", "replace")
    yield text.lstrip(_MARKS)
    if "\0" in text or body.startswith(_BYTE_ORDER_MARKS):
        yield ascii_from_utf16_or_utf32(text)
        for encoding in ("utf-16-le", "utf-16-be"):
            yield body.decode(encoding, "replace").lstrip(_MARKS)
    if layers and not text.isascii():
        for wbits in (_WITH_HEADER, _RAW):
            if unpacked := _decompress(body, wbits):
                yield from decoded_texts(unpacked, layers - 1)


def ascii_from_utf16_or_utf32(text: str) -> str:
    """All of ASCII in UTF-16 or UTF-32 that was read as UTF-8, wherever it begins."""
    return text.replace("\0", "").lstrip(_MARKS)


def _decompress(body: bytes, wbits: int) -> bytes:
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


_PARTS = frozenset({"text", "content"})
"""Keys under which content parts have their texts."""


@dataclass(slots=True)
class _Piece:
    text: str
    frame: int
    path: tuple[Any, ...]
    """The keys and places on the way to it."""
    holders: tuple[Any, ...]
    """The objects and lists on the way to it, the frame itself first."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple([key for key in self.path if isinstance(key, str)])

    @property
    def indexes_in_path(self) -> tuple[int, ...]:
        return tuple([key for key in self.path if isinstance(key, int)])

    def labels(self, word: str) -> tuple[Json, ...]:
        """They may say to which text of the reply it belongs; some servers send ids once."""
        return tuple(
            value
            for holder in self.holders
            if isinstance(holder, dict)
            for name, value in holder.items()
            if name.rpartition("_")[2] == word and not isinstance(value, list | dict)
        )

    def replace(self, start: int, end: int, text: str) -> None:
        self.text = self.holders[-1][self.path[-1]] = f"{self.text[:start]}{text}{self.text[end:]}"


def _text_pieces_in_frame(frame: Json, number: int = 0) -> list[_Piece]:
    pieces = list[_Piece]()

    def add(value: Any, path: tuple[Any, ...], holders: tuple[Any, ...]) -> None:  # noqa: ANN401 - JSON
        if isinstance(value, dict | list):
            for key, item in value.items() if isinstance(value, dict) else enumerate(value):
                add(item, (*path, key), (*holders, value))
        elif isinstance(value, str) and any(isinstance(key, str) for key in path):
            pieces.append(_Piece(value, number, path, holders))

    add(frame, (), ())
    return pieces


def _joinable_groups(pieces: Iterable[_Piece]) -> Iterator[list[_Piece]]:
    """The pieces that may be of one text, in each way in which a reader may join them."""
    by_name: dict[str, list[_Piece]] = {}
    for piece in pieces:
        by_name.setdefault(piece.names[-1], []).append(piece)
    for named in by_name.values():
        if len({piece.text for piece in named}) == 1:  # the model's name and the like are in every frame
            yield named[:1]
            continue
        groups: dict[Hashable, list[_Piece]] = {}
        for piece in named:
            names, indexes, ids = piece.names, piece.labels("index"), piece.labels("id")
            keys: tuple[Hashable, ...] = (
                "by name",
                ("by path", names),
                ("by index", indexes),
                ("by path and index", names, indexes),
                ("by index and id", indexes, ids),
                ("by id", ids),
                ("by place", names, piece.indexes_in_path, piece.labels("type")),
            )
            for key in keys:
                groups.setdefault(key, []).append(piece)
        yield from groups.values()


def joined_stream_texts(text: str) -> tuple[str, ...]:
    r"""The texts that the frames of a stream, or the content parts of a reply, spell together.

    >>> joined_stream_texts('{"response":"sec"}\n{"response":"ret"}\n')
    ('secret',)
    """
    frames = [*_frames_in(text)]
    if frames:
        groups = _joinable_groups(piece for frame in frames for piece in _text_pieces_in_frame(frame))
    else:
        whole = read_json(text).value_or(()) if text.lstrip()[:1] == "{" else ()
        parts = (
            each for each in _text_pieces_in_frame(whole) if each.indexes_in_path and each.names[-1] in _PARTS
        )
        groups = (group for group in _joinable_groups(parts) if len(group) > 1)
    return tuple(dict.fromkeys("".join(piece.text for piece in group) for group in groups))


def _frames_in(text: str) -> Iterator[Json]:
    if "\n" not in text and "\r" not in text:
        return
    whole = read_json(text).value_or(()) if text.lstrip()[:1] == "[" else ()
    if isinstance(whole, list):  # Gemini streams the items of one array
        yield from (item for item in whole if isinstance(item, dict))
        return
    frames, found = Frames().feed(text)
    yield from (frame for frame in (*found, *frames.close()) if isinstance(frame, dict))


_LINE_ENDS = lazy_pattern(r"(?<=[\r\n])(?![\r\n])")
"""Where a line ends, with the blank lines after it."""
_STREAM_ENDS = lazy_pattern(
    r'data: ?\[DONE\]|.*"type": ?"(?:message_stop|response\.(?:completed|failed|incomplete))"'
)
"""The last line of a stream, in each form; it is not held, as some servers keep the connection open then."""
# Without two optional blanks in a row, which would take quadratic time on a long line of blanks.
_IN_LINE = lazy_pattern(r"(?:\s*data:)?\s*([{\[].*[}\]])\s*")
"""The JSON of a line: a frame of an event stream, or of a stream of lines."""


_MaskTable: TypeAlias = tuple[tuple[str, str], ...]
"""Each spelling of each secret, with what replaces it."""


def scrubbed(text: str, known: Mapping[str, str]) -> str:
    """The text without known secrets, in whatever spelling.

    >>> scrubbed("It is Bearer 3f2a90bc71.", {"MY_KEY": "3f2a90bc71"})
    'It is Bearer [value of MY_KEY].'
    """
    return _masked(text, _mask_table(known))


def _masked(text: str, mask_table: _MaskTable) -> str:
    for spelling, mask in mask_table:
        text = text.replace(spelling, mask)
    return text


def scrubbed_body(body: str, known: Mapping[str, str]) -> str:
    """The body of a reply without known secrets, also without those that its JSON has in pieces.

    >>> scrubbed_body('{"content":["3f2a","90bc71"]}', {"MY_KEY": "3f2a90bc71"})
    '{"content":["[value of MY_KEY]",""]}'
    """
    if not known:  # most bodies need not be parsed once more
        return body
    scrub = RunningBodyScrub(known)
    return scrub.feed(body) + scrub.close()


def secrets_to_scrub(known: Mapping[str, str]) -> dict[str, str]:
    if not known:
        return {}
    rules = rules_from_environment()
    return {name: value for name, value in known.items() if not rules.allows(value.strip())}


class RunningScrub:
    """Scrubs a text in pieces: what may be the beginning of a secret is held back until more has come."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self._known = known
        self._held = ""

    def feed(self, text: str) -> str:
        mask_table = _mask_table(self._known)
        text = _masked(self._held + text, mask_table)
        passing = len(text) - _unfinished_secret_length(text, mask_table)
        self._held = text[passing:]
        return text[:passing]

    def close(self) -> str:
        held, self._held = self._held, ""
        return held


class RunningBodyScrub:
    """Scrubs the body of a reply as it arrives: lines that may begin a secret are held back.

    A body that is one JSON document of several lines is held back as a whole.
    """

    def __init__(self, known: Mapping[str, str]) -> None:
        self._mask_table = _mask_table(known)
        self._arrived: list[str] = []
        """The text after the last complete line."""
        self._held: list[str] = []
        """Complete lines that may begin a secret."""
        self._is_document: bool | None = None

    def feed(self, text: str) -> str:
        if not self._mask_table:
            return text
        self._arrived.append(text)
        if self._is_document or not ("\n" in text or "\r" in text):
            return ""
        arrived = "".join(self._arrived)
        *lines, rest = _LINE_ENDS.split(arrived)
        if self._is_document is None and arrived.lstrip()[:1] in ("{", "["):
            self._is_document = _json_and_span_in_line(lines[0])[0] is None
            if self._is_document:
                return ""
        self._arrived = [rest]
        return self._release_lines(lines, last=_STREAM_ENDS.match(lines[-1]) is not None)

    def close(self) -> str:
        rest, self._arrived = "".join(self._arrived), []
        return self._release_lines([rest], last=True)

    def _release_lines(self, lines: list[str], *, last: bool) -> str:
        """The lines that hold no beginning of a secret, without those that hold one."""
        lines = self._held + lines
        frames = [_json_and_span_in_line(line) for line in lines]
        pieces = [piece for at, (frame, _) in enumerate(frames) for piece in _text_pieces_in_frame(frame, at)]
        # Most texts begin no secret, and need not be joined with others.
        beginnings = {
            text
            for text in {piece.text for piece in pieces}
            if _unfinished_secret_length(text, self._mask_table)
            or any(each in text for each, _ in self._mask_table)
        }
        begun = {piece.names[-1] for piece in pieces if piece.text in beginnings}
        passing, masked = len(lines), set[int]()
        for group in _joinable_groups(piece for piece in pieces if piece.names[-1] in begun):
            masked |= self._mask_group(group)
            if not last:
                passing = min(passing, self._first_line_to_hold(group, passing))
        for at in masked:
            frame, (start, end) = frames[at]
            text = json.dumps(frame, ensure_ascii=False, separators=(",", ":"))
            lines[at] = f"{lines[at][:start]}{text}{lines[at][end:]}"
        self._held = lines[passing:]
        return "".join([_masked(line, self._mask_table) for line in lines[:passing]])

    def _mask_group(self, group: list[_Piece]) -> set[int]:
        """Mask the secrets that a group spells; returns the numbers of the frames that were changed."""
        masked = set[int]()
        whole = "".join(piece.text for piece in group)
        for spelling, mask in self._mask_table:
            at = -len(mask)
            while (at := whole.find(spelling, at + len(mask))) >= 0:
                begins, put = 0, mask
                for piece in group:
                    start, end = max(0, at - begins), min(len(piece.text), at + len(spelling) - begins)
                    begins += len(piece.text)
                    if start < end:
                        piece.replace(start, end, put)
                        masked.add(piece.frame)
                        put = ""
                whole = "".join(piece.text for piece in group)
        return masked

    def _first_line_to_hold(self, group: list[_Piece], nothing: int) -> int:
        """The first line that may begin a secret which is spelt by this group, if one does."""
        overlap = _unfinished_secret_length("".join(piece.text for piece in group), self._mask_table)
        for piece in reversed(group):
            if 0 < overlap <= len(piece.text):
                return piece.frame
            overlap -= len(piece.text)
        return nothing


def _json_and_span_in_line(line: str) -> tuple[Json, tuple[int, int]]:
    """The JSON of a line, and where it is; ``None`` without."""
    found = _IN_LINE.fullmatch(line)
    span = found.span(1) if found else (0, len(line))
    if found is None and line.lstrip()[:1] not in ("{", "["):
        return None, span
    frame = read_json(line[slice(*span)]).value_or(None)
    return frame if isinstance(frame, dict | list) else None, span


def _mask_table(known: Mapping[str, str]) -> _MaskTable:
    spelt = [
        (each, name)
        for name, value in known.items()
        if value.strip()
        for each in encoded_spellings(value.strip())
    ]
    # The longest first, so that nothing of it is left where another secret is a part of it.
    spelt.sort(key=lambda row: -len(row[0]))

    def mask(name: str) -> str:
        # A mask that held a secret would itself be masked, again and again, and a journal would refuse it.
        masks = (f"[value of {name}]", "[a secret]", "")
        return next(each for each in masks if not any(spelling in each for spelling, _ in spelt))

    return tuple([(spelling, mask(name)) for spelling, name in spelt])


def _unfinished_secret_length(text: str, mask_table: _MaskTable) -> int:
    """The length of the longest end of the text with which a spelling begins."""
    longest = 0
    for spelling, _ in mask_table:
        tail = text[max(0, len(text) - len(spelling) + 1) :]
        at = tail.find(spelling[0])
        while at >= 0 and not spelling.startswith(tail[at:]):
            at = tail.find(spelling[0], at + 1)
        longest = max(longest, len(tail) - at if at >= 0 else 0)
    return longest
