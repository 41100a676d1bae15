"""The pure part of the proxy: requests and replies, repaired."""

# mypy: implicit-reexport

from toolreel_core._proxy.client_form import error_body_in_form, stream_error_event
from toolreel_core._proxy.conversation_keys import (
    RESTORED,
    ConversationKey,
    KeptThoughts,
    continuation_keys,
    initial_key_of_caller,
    keys_after_each_message,
    wants_thoughts_back,
)
from toolreel_core._proxy.corrections import Again, Corrections, Extras
from toolreel_core._proxy.held_text import HeldText
from toolreel_core._proxy.reply import Head, Repaired, problem_text, repair_reply, reply_in_error
from toolreel_core._proxy.reply_stream import ReplyStream
from toolreel_core._proxy.upstream_request import Outbound, Profile, build_upstream_request
