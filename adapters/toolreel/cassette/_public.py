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
from toolreel.cassette._varying.rule import Vary

__all__ = [
    "AsyncExtendTransport",
    "AsyncRecordTransport",
    "AsyncReplayTransport",
    "ExtendTransport",
    "Mode",
    "RecordTransport",
    "ReplayTransport",
    "Session",
    "Vary",
    "recording",
    "replaying",
    "use_cassette",
]
