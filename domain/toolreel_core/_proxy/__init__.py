"""The pure part of the proxy: requests and replies, repaired."""

# mypy: implicit-reexport

from toolreel_core._proxy.client_forms.answers import broken_in, error_in
from toolreel_core._proxy.client_forms.shapes import SHAPES, Kind, misshapen
from toolreel_core._proxy.conversation_keys import Key, further, key_of, openings
from toolreel_core._proxy.corrections import Again, Corrections, Extras
from toolreel_core._proxy.dropped_thoughts import (
    RESTORED,
    Find,
    Kept,
    Thoughts,
    kept,
    restored,
    wants_thoughts,
)
from toolreel_core._proxy.held_text import HeldText
from toolreel_core._proxy.profile import Profile
from toolreel_core._proxy.reply import Head, Repaired, repaired, salvaged, words_of
from toolreel_core._proxy.reply_stream import SENT_BEFORE, ReplyStream
from toolreel_core._proxy.upstream_request import Outbound, outbound
