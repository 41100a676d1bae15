"""The reducer: ``start`` and ``step``, and one handler for each thing that can happen.

``reducer`` matches on the event and then on the phase; the handlers next to it decide. A reply goes
through ``on_reply`` and ``reply_parsing``; its tool calls through ``admission`` and ``tool_calls``; the
next request is made in ``next_request``, after a ``summary`` if the window is full; the end of the run in
``final_answer`` and ``finish``.
"""

# mypy: implicit-reexport

from toolreel_core._loop.admission import (
    admit,
    ask_approval,
    call_key,
    coerced_arguments,
    needs_approval,
    run_tool,
)
from toolreel_core._loop.budgets import exhausted_limit, spent_budget, tool_calls_spent
from toolreel_core._loop.checks.claimed_effects import Claim, claimed_effect
from toolreel_core._loop.checks.restatement import (
    call_digest,
    restatement,
    shortened,
    task_of,
    with_done,
    with_task,
)
from toolreel_core._loop.context.window import estimated_tokens, fit_history, input_token_limit, overflow
from toolreel_core._loop.counted_reply import counted_reply
from toolreel_core._loop.endpoints.foreign_history import extras_of, is_signed, moved, without_extras
from toolreel_core._loop.final_answer import final_reply
from toolreel_core._loop.finish import outcome_of, settle
from toolreel_core._loop.next_request import (
    opening_notes,
    request_of,
    resend_request,
    send_next_request,
    wait,
)
from toolreel_core._loop.on_reply import delay_ms, refuses_tools, retryable
from toolreel_core._loop.reducer import fold, pending, start, step, uncertain
from toolreel_core._loop.repetition import record_repetition, with_repetition_warning
from toolreel_core._loop.reply_parsing import received, salvaged, transformed
from toolreel_core._loop.tool_calls import rendered
