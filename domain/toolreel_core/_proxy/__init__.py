"""The pure part of the proxy: requests and replies, repaired."""

# mypy: implicit-reexport

from toolreel_core._proxy.client_form import SHAPES, broken_in, error_in, misshapen
from toolreel_core._proxy.conversation_keys import (
    RESTORED,
    Find,
    Thoughts,
    further,
    kept,
    key_of,
    openings,
    restored,
    wants_thoughts,
)
from toolreel_core._proxy.corrections import Again, Corrections, Extras
from toolreel_core._proxy.reply import Head, Repaired, repaired, salvaged, words_of
from toolreel_core._proxy.reply_stream import SENT_BEFORE, HeldText, ReplyStream
from toolreel_core._proxy.upstream_request import Outbound, Profile, outbound
