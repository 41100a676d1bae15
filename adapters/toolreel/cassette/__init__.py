"""Cassettes: record and replay the HTTP traffic of a session.

Start with ``use_cassette``, which works with any client of httpx or httpx2. The transports are its building
blocks.
"""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.cassette import _serializer
    from toolreel.cassette._file import KEPT, CassetteFile, interaction_dicts, replace_file
    from toolreel.cassette._header import FrozenValues, Header, header_of
    from toolreel.cassette._httpx2 import AsyncHttpx2Transport, Httpx2Transport
    from toolreel.cassette._lookup import (
        RERECORD,
        RequestKey,
        Unplayed,
        canonical_body,
        endpoint,
    )
    from toolreel.cassette._open_cassette import Recording
    from toolreel.cassette._request_diff import (
        ABSENT,
        Change,
        changes,
        clipped,
        difference,
        drift,
        first_change,
    )
    from toolreel.cassette._serializer import deserialize, serialize
    from toolreel.cassette._session import MODES, Mode, Session, use_cassette
    from toolreel.cassette._stock_vcrpy import (
        Exported,
        Imported,
        export_cassette,
        import_cassette,
        looks_like_stock,
    )
    from toolreel.cassette._stored_exchange import (
        CLOSED,
        KINDS,
        NO_RESPONSE,
        Break,
        Exchange,
        StoredResponse,
        is_stored,
    )
    from toolreel.cassette._transports import (
        AsyncExtendTransport,
        AsyncRecordTransport,
        AsyncReplayTransport,
        ExtendTransport,
        RecordTransport,
        ReplayTransport,
        areplayed,
        broken_off,
        is_stream,
        pieces_of,
        recording,
        refuse_unreadable,
        replayed,
        replaying,
    )
    from toolreel.cassette._vary import PAIRS, Vary, distinct, put_through, rule_of, stored, varied
    from toolreel.cassette._yaml import dump_yaml, load_yaml
else:
    from toolreel._internal.lazy import face

    __getattr__, __dir__ = face(
        __name__,
        {
            "": "_serializer",
            "_file": "CassetteFile KEPT interaction_dicts replace_file",
            "_header": "FrozenValues Header header_of",
            "_httpx2": "AsyncHttpx2Transport Httpx2Transport",
            "_lookup": "RERECORD RequestKey Unplayed canonical_body endpoint",
            "_open_cassette": "Recording",
            "_request_diff": "ABSENT Change changes clipped difference drift first_change",
            "_serializer": "deserialize serialize",
            "_session": "MODES Mode Session use_cassette",
            "_stock_vcrpy": "Exported Imported export_cassette import_cassette looks_like_stock",
            "_stored_exchange": "Break CLOSED Exchange KINDS NO_RESPONSE StoredResponse is_stored",
            "_transports": (
                "AsyncExtendTransport AsyncRecordTransport AsyncReplayTransport ExtendTransport "
                "RecordTransport ReplayTransport areplayed broken_off is_stream pieces_of recording "
                "refuse_unreadable replayed replaying"
            ),
            "_vary": "PAIRS Vary distinct put_through rule_of stored varied",
            "_yaml": "dump_yaml load_yaml",
        },
    )

# Public; the other names are for this project's own packages and tests.
__all__ = [
    "AsyncExtendTransport",
    "AsyncRecordTransport",
    "AsyncReplayTransport",
    "Exported",
    "ExtendTransport",
    "Imported",
    "Mode",
    "RecordTransport",
    "ReplayTransport",
    "Session",
    "Vary",
    "export_cassette",
    "import_cassette",
    "recording",
    "replaying",
    "use_cassette",
]
