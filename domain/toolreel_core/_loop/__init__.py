"""The reducer: ``start`` and ``step``, and one handler for each thing that can happen.

``reducer`` matches on the event and then on the phase; the handlers next to it decide. A reply is
parsed in ``on_reply``; its tool calls are checked and run in ``tool_calls``; the next request is made in
``next_request``, and a summary is read in ``summary_reply``; the run ends in ``final_answer`` and ``finish``.
"""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel_core._loop.answer_checks import Claim, claimed_effect
    from toolreel_core._loop.final_answer import final_reply
    from toolreel_core._loop.finish import counted_reply
    from toolreel_core._loop.next_endpoint import NO_REPLIES, is_signed
    from toolreel_core._loop.next_request import (
        estimated_tokens,
        fit_history,
        overflow,
    )
    from toolreel_core._loop.on_reply import (
        delay_ms,
        received,
        refuses_tools,
        salvaged,
        transformed,
    )
    from toolreel_core._loop.reducer import fold, pending, start, step, uncertain
    from toolreel_core._loop.tool_calls import (
        admit,
        call_key,
        coerced_arguments,
        needs_approval,
        record_repetition,
        rendered,
        with_repetition_warning,
    )
    from toolreel_core._loop.weak_models import (
        call_digest,
        restatement,
        shortened,
        task_of,
        with_done,
        with_task,
    )
else:
    from toolreel_core._lazy_names import face

    __getattr__, __dir__ = face(__name__)
