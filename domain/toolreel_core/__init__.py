"""toolreel: the multi-turn tool loop as a pure function.

A run is a fold over events: ``start(plan)`` and ``step(state, event)`` give the next state, the
effects that are wanted from the outside, and notes that explain every decision. Nothing in this
package performs I/O; :mod:`toolreel_core` does.

The names are loaded when they are first asked for, so that who needs a few does not wait for all.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolreel_core._conversation.message import (
        AssistantMessage,
        Message,
        SentCall,
        SystemMessage,
        ToolMessage,
        UserMessage,
    )
    from toolreel_core._errors import (
        CodecError,
        ConfigError,
        ProtocolError,
        ReplayMismatch,
        ToolreelError,
        TransformError,
    )
    from toolreel_core._loop.reducer import fold, start, step
    from toolreel_core._loop.resume import pending, uncertain
    from toolreel_core._plan.plan import Plan
    from toolreel_core._plan.presets.collection import Presets
    from toolreel_core._plan.presets.models import Model, Recommendation
    from toolreel_core._plan.presets.preset import Preset
    from toolreel_core._plan.presets.sampling import SamplingProfile
    from toolreel_core._protocol.codec import dump, load_effect, load_event, load_note, load_plan, load_state
    from toolreel_core._protocol.effects import (
        ANSWERS,
        AskApproval,
        Effect,
        Finish,
        RunTool,
        SendRequest,
        Wait,
        fingerprint,
    )
    from toolreel_core._protocol.events import (
        ApprovalGiven,
        CancelRequested,
        Event,
        ReplyReceived,
        RequestFailed,
        RunStarted,
        ToolReturned,
        WaitElapsed,
    )
    from toolreel_core._protocol.notes import Note
    from toolreel_core._protocol.outcome import Completed, Outcome
    from toolreel_core._protocol.state import (
        AwaitingApproval,
        AwaitingReply,
        AwaitingTools,
        Idle,
        Phase,
        Settled,
        State,
        Step,
        Tally,
        Waiting,
    )
    from toolreel_core._replies.calls.tool_call import ToolCall
    from toolreel_core._replies.normalize import Reply, normalize_reply
    from toolreel_core._replies.streaming.stream import Delta, Stream
    from toolreel_core._settings.config import LoopConfig
    from toolreel_core._text_calls.parse import TextCalls, text_calls
    from toolreel_core._tools.result import Envelope
    from toolreel_core._tools.sources import ToolSource, compose, masked
    from toolreel_core._tools.surface import ToolDefinition, ToolFlags, ToolSurface
    from toolreel_core._transforms import Transform, register_transform, transform

__all__ = [
    "ANSWERS",
    "ApprovalGiven",
    "AskApproval",
    "AssistantMessage",
    "AwaitingApproval",
    "AwaitingReply",
    "AwaitingTools",
    "CancelRequested",
    "CodecError",
    "Completed",
    "ConfigError",
    "Delta",
    "Effect",
    "Envelope",
    "Event",
    "Finish",
    "Idle",
    "LoopConfig",
    "Message",
    "Model",
    "Note",
    "Outcome",
    "Phase",
    "Plan",
    "Preset",
    "Presets",
    "ProtocolError",
    "Recommendation",
    "ReplayMismatch",
    "Reply",
    "ReplyReceived",
    "RequestFailed",
    "RunStarted",
    "RunTool",
    "SamplingProfile",
    "SendRequest",
    "SentCall",
    "Settled",
    "State",
    "Step",
    "Stream",
    "SystemMessage",
    "Tally",
    "TextCalls",
    "ToolCall",
    "ToolDefinition",
    "ToolFlags",
    "ToolMessage",
    "ToolReturned",
    "ToolSource",
    "ToolSurface",
    "ToolreelError",
    "Transform",
    "TransformError",
    "UserMessage",
    "Wait",
    "WaitElapsed",
    "Waiting",
    "compose",
    "dump",
    "fingerprint",
    "fold",
    "load_effect",
    "load_event",
    "load_note",
    "load_plan",
    "load_state",
    "masked",
    "normalize_reply",
    "pending",
    "register_transform",
    "start",
    "step",
    "text_calls",
    "transform",
    "uncertain",
]

_HOMES: Final = {
    "ANSWERS": "effects",
    "ApprovalGiven": "events",
    "AskApproval": "effects",
    "AssistantMessage": "messages",
    "AwaitingApproval": "state",
    "AwaitingReply": "state",
    "AwaitingTools": "state",
    "CancelRequested": "events",
    "CodecError": "errors",
    "Completed": "outcome",
    "ConfigError": "errors",
    "Delta": "streams",
    "Effect": "effects",
    "Envelope": "envelope",
    "Event": "events",
    "Finish": "effects",
    "Idle": "state",
    "LoopConfig": "config",
    "Message": "messages",
    "Model": "recommendations",
    "Note": "notes",
    "Outcome": "outcome",
    "Phase": "state",
    "Plan": "plan",
    "Preset": "preset",
    "Presets": "presets",
    "ProtocolError": "errors",
    "Recommendation": "recommendations",
    "ReplayMismatch": "errors",
    "Reply": "reply",
    "ReplyReceived": "events",
    "RequestFailed": "events",
    "RunStarted": "events",
    "RunTool": "effects",
    "SamplingProfile": "sampling",
    "SendRequest": "effects",
    "SentCall": "messages",
    "Settled": "state",
    "State": "state",
    "Step": "state",
    "Stream": "streams",
    "SystemMessage": "messages",
    "Tally": "state",
    "TextCalls": "text_dialects",
    "ToolCall": "calls",
    "ToolDefinition": "surface",
    "ToolFlags": "surface",
    "ToolMessage": "messages",
    "ToolReturned": "events",
    "ToolSource": "catalog",
    "ToolSurface": "surface",
    "ToolreelError": "errors",
    "Transform": "transforms",
    "TransformError": "errors",
    "UserMessage": "messages",
    "Wait": "effects",
    "WaitElapsed": "events",
    "Waiting": "state",
    "compose": "catalog",
    "dump": "codec",
    "fingerprint": "effects",
    "fold": "loop",
    "load_effect": "codec",
    "load_event": "codec",
    "load_note": "codec",
    "load_plan": "codec",
    "load_state": "codec",
    "masked": "catalog",
    "normalize_reply": "reply",
    "pending": "resuming",
    "register_transform": "transforms",
    "start": "loop",
    "step": "loop",
    "text_calls": "text_dialects",
    "transform": "transforms",
    "uncertain": "resuming",
}
"""The module that each name is in."""


if not TYPE_CHECKING:  # else a checker would take every name for one that there is

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
