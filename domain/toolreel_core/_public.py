"""The public names of ``toolreel_core``."""

from toolreel_core._conversation.content.part import Audio, Blob, File, Image, Media, Part, Text
from toolreel_core._conversation.message import (
    AssistantMessage,
    Message,
    SentCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from toolreel_core._conversation.message_input import Said, user_message
from toolreel_core._conversation.openai_messages import messages_from, messages_to
from toolreel_core._errors import (
    CodecError,
    ConfigError,
    ProtocolError,
    ReplayMismatch,
    ToolreelError,
    TransformError,
)
from toolreel_core._jsontext.canonical import Json, Tree
from toolreel_core._loop.reducer import fold, pending, start, step, uncertain
from toolreel_core._plan.fallback import FallbackPlan
from toolreel_core._plan.output.spec import OutputSpec
from toolreel_core._plan.plan import Plan
from toolreel_core._plan.presets.collection import Model, Presets, Recommendation, SamplingProfile
from toolreel_core._plan.presets.preset import Preset
from toolreel_core._protocol.codec import (
    dump,
    from_json,
    load_effect,
    load_event,
    load_note,
    load_plan,
    load_state,
    to_json,
)
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
    UserSpoke,
    WaitElapsed,
)
from toolreel_core._protocol.hmac_seal import seal, unseal
from toolreel_core._protocol.notes import Note
from toolreel_core._protocol.outcome import (
    BudgetSpent,
    Cancelled,
    CapabilityRefused,
    Completed,
    ContentFiltered,
    ContextOverflow,
    ConversationSpent,
    CostUnknown,
    EmptyFinal,
    InvalidOutput,
    InvalidReply,
    MaxTurns,
    NoToolCalls,
    Outcome,
    Refused,
    RepeatedCall,
    ToolFailed,
    TransformFailed,
    TransportFailed,
    Truncated,
)
from toolreel_core._protocol.spent import Spent
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
from toolreel_core._replies.normalize import normalize_reply
from toolreel_core._replies.reply import Reply
from toolreel_core._replies.streaming.stream import Delta, Stream
from toolreel_core._settings.loop_config import LoopConfig
from toolreel_core._settings.price import Price
from toolreel_core._settings.provider_support import Provider
from toolreel_core._text_calls.parse import TextCalls, text_calls
from toolreel_core._tools.masking import masked
from toolreel_core._tools.result_envelope import Envelope
from toolreel_core._tools.sources import ToolSource, compose
from toolreel_core._tools.surface import ToolSurface
from toolreel_core._tools.tool_definition import ToolDefinition, ToolFlags
from toolreel_core._transforms import Transform, register_transform, transform

__all__ = [
    "ANSWERS",
    "ApprovalGiven",
    "AskApproval",
    "AssistantMessage",
    "Audio",
    "AwaitingApproval",
    "AwaitingReply",
    "AwaitingTools",
    "Blob",
    "BudgetSpent",
    "CancelRequested",
    "Cancelled",
    "CapabilityRefused",
    "CodecError",
    "Completed",
    "ConfigError",
    "ContentFiltered",
    "ContextOverflow",
    "ConversationSpent",
    "CostUnknown",
    "Delta",
    "Effect",
    "EmptyFinal",
    "Envelope",
    "Event",
    "FallbackPlan",
    "File",
    "Finish",
    "Idle",
    "Image",
    "InvalidOutput",
    "InvalidReply",
    "Json",
    "LoopConfig",
    "MaxTurns",
    "Media",
    "Message",
    "Model",
    "NoToolCalls",
    "Note",
    "Outcome",
    "OutputSpec",
    "Part",
    "Phase",
    "Plan",
    "Preset",
    "Presets",
    "Price",
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
    "Said",
    "SamplingProfile",
    "SendRequest",
    "SentCall",
    "Settled",
    "Spent",
    "State",
    "Step",
    "Stream",
    "SystemMessage",
    "Tally",
    "Text",
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
    "TransformFailed",
    "TransportFailed",
    "Tree",
    "Truncated",
    "UserMessage",
    "UserSpoke",
    "Wait",
    "WaitElapsed",
    "Waiting",
    "compose",
    "dump",
    "fingerprint",
    "fold",
    "from_json",
    "load_effect",
    "load_event",
    "load_note",
    "load_plan",
    "load_state",
    "masked",
    "messages_from",
    "messages_to",
    "normalize_reply",
    "pending",
    "register_transform",
    "seal",
    "start",
    "step",
    "text_calls",
    "to_json",
    "transform",
    "uncertain",
    "unseal",
    "user_message",
]
