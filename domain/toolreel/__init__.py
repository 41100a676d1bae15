"""toolreel: the multi-turn tool loop as a pure function.

A run is a fold over events: ``start(plan)`` and ``step(state, event)`` give the next state, the
effects that are wanted from the outside, and notes that explain every decision. Nothing in this
package performs I/O; :mod:`toolreel_adapters` does.
"""

from toolreel.calls import ToolCall
from toolreel.catalog import ToolSource, compose, masked
from toolreel.codec import dump, load_effect, load_event, load_note, load_plan, load_state
from toolreel.config import LoopConfig
from toolreel.effects import ANSWERS, AskApproval, Effect, Finish, RunTool, SendRequest, Wait, fingerprint
from toolreel.envelope import Envelope
from toolreel.errors import (
    CodecError,
    ConfigError,
    ProtocolError,
    ReplayMismatch,
    ToolreelError,
    TransformError,
)
from toolreel.events import (
    ApprovalGiven,
    CancelRequested,
    Event,
    ReplyReceived,
    RequestFailed,
    RunStarted,
    ToolReturned,
    WaitElapsed,
)
from toolreel.loop import fold, start, step
from toolreel.messages import AssistantMessage, Message, SentCall, SystemMessage, ToolMessage, UserMessage
from toolreel.notes import Note
from toolreel.outcome import Completed, Outcome
from toolreel.plan import Plan
from toolreel.preset import Preset
from toolreel.presets import Presets
from toolreel.recommendations import Model, Recommendation
from toolreel.reply import Reply, normalize_reply
from toolreel.resuming import pending, uncertain
from toolreel.sampling import SamplingProfile
from toolreel.state import (
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
from toolreel.streams import Delta, Stream
from toolreel.surface import ToolDefinition, ToolFlags, ToolSurface
from toolreel.text_dialects import TextCalls, text_calls
from toolreel.transforms import Transform, register_transform, transform

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
