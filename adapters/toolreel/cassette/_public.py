"""The public names of ``toolreel.cassette``."""

from toolreel.cassette._extend import AsyncExtendTransport, ExtendTransport
from toolreel.cassette._session import Mode, Session, use_cassette
from toolreel.cassette._transports import (
    AsyncRecordTransport,
    AsyncReplayTransport,
    RecordTransport,
    ReplayTransport,
    recording,
    replaying,
)

__all__ = [
    "AsyncExtendTransport",
    "AsyncRecordTransport",
    "AsyncReplayTransport",
    "ExtendTransport",
    "Mode",
    "RecordTransport",
    "ReplayTransport",
    "Session",
    "recording",
    "replaying",
    "use_cassette",
]
