"""The reducer: ``start`` and ``step``, and one handler for each thing that can happen.

``reducer`` matches on the event and then on the phase; the handlers next to it decide. A reply is
parsed in ``on_reply``; its tool calls are checked and run in ``tool_calls``; the next request is made in
``next_request``; the run ends in ``final_answer`` and ``finish``.
"""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel_core._loop.next_endpoint import NO_REPLIES, has_signature
    from toolreel_core._loop.on_reply import backoff_ms, parse_reply_body, refuses_tools, transform_reply_body
    from toolreel_core._loop.reducer import fold, pending, start, step, uncertain
    from toolreel_core._loop.tool_calls import admit_call, coerced_arguments, with_repetition_warning
else:
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__)
