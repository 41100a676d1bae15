"""toolreel_core: the multi-turn tool loop as a pure function, for embedders.

A run is a fold over events: ``start(plan)`` and ``step(state, event)`` return the next state, the
effects to perform, and notes that explain every decision. Nothing in this package performs I/O;
``toolreel`` does, and applications import that.

Glossary:

plan
    What is fixed before a run: model, messages, tools, settings, seed. A ``Plan`` has a digest.
event
    A fact from outside, named in the past tense: ``ReplyReceived``, ``ToolReturned``.
effect
    A request to the outside, in the imperative: ``SendRequest``, ``RunTool``. Data, no callables. Each
    effect carries a ``ref``, and the event that answers it carries the same one (``ANSWERS``).
state, phase
    Everything that a run remembers. It is in exactly one phase, such as ``AwaitingReply``.
step
    One application of the reducer, and its result: state, effects and notes.
note
    What a run reports about itself: each repair, retry and decision, by name.
outcome
    How a run ended: ``Completed``, ``MaxTurns``, ``EmptyFinal`` and so on.
turn
    One request to the model and what followed from its reply.
reply
    A provider's response after normalisation; ``normalize_reply`` makes one.
text call
    A tool call that a model wrote as text, in one of many formats; ``text_calls`` finds them.
tool surface
    The tools that a model is shown: definitions, schemas, flags. ``ToolSurface`` is frozen.
fault
    What is wrong with a call or a tool's result; it is returned to the model.
transform
    A named pure function that changes what is sent or received, for a provider's quirk.
preset
    Named settings for a provider or a model.
journal
    The record of a run: its plan and its events, one JSON line each.
cassette
    The recorded HTTP traffic of a session.
fingerprint
    The digest of an effect; a replay compares it to prove that nothing differs.
"""

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
from toolreel_core._jsontext.canonical import Json, Tree
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
from toolreel_core._protocol.outcome import (
    BudgetSpent,
    Cancelled,
    CapabilityRefused,
    Completed,
    ContentFiltered,
    ContextOverflow,
    EmptyFinal,
    InvalidReply,
    MaxTurns,
    NoToolCalls,
    Outcome,
    Refused,
    RepeatedCall,
    ToolFailed,
    TransportFailed,
    Truncated,
)
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
from toolreel_core._settings.provider import Provider
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
    "BudgetSpent",
    "CancelRequested",
    "Cancelled",
    "CapabilityRefused",
    "CodecError",
    "Completed",
    "ConfigError",
    "ContentFiltered",
    "ContextOverflow",
    "Delta",
    "Effect",
    "EmptyFinal",
    "Envelope",
    "Event",
    "Finish",
    "Idle",
    "InvalidReply",
    "Json",
    "LoopConfig",
    "MaxTurns",
    "Message",
    "Model",
    "NoToolCalls",
    "Note",
    "Outcome",
    "Phase",
    "Plan",
    "Preset",
    "Presets",
    "ProtocolError",
    "Provider",
    "Recommendation",
    "Refused",
    "RepeatedCall",
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
    "ToolFailed",
    "ToolFlags",
    "ToolMessage",
    "ToolReturned",
    "ToolSource",
    "ToolSurface",
    "ToolreelError",
    "Transform",
    "TransformError",
    "TransportFailed",
    "Tree",
    "Truncated",
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
