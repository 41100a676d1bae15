"""The public names of ``toolreel.cassette``."""

from toolreel.cassette._session import Mode, Session, use_cassette
from toolreel.cassette._stock_vcrpy import Exported, Imported, export_cassette, import_cassette
from toolreel.cassette._transports import (
    AsyncExtendTransport,
    AsyncRecordTransport,
    AsyncReplayTransport,
    ExtendTransport,
    RecordTransport,
    ReplayTransport,
    recording,
    replaying,
)
from toolreel.cassette._vary import Vary

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
