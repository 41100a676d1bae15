"""The public names of ``toolreel.cassette``."""

from toolreel.cassette._session import Mode, Session, use_cassette
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
