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
    What a run reports about itself: each repair, retry and decision, a class each in ``notes``.
outcome
    How a run ended: ``Completed``, ``MaxTurns``, ``EmptyFinal`` and so on.
exchange
    What follows from one message of the user, up to the end; a conversation is one fold of many.
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
part, blob
    A piece of a message: text, an image, audio or a file. Its bytes are a ``Blob``, which a record has once.
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

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel_core._conversation import (
        AssistantMessage,
        Message,
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
    from toolreel_core._jsontext import Json, Tree
    from toolreel_core._loop import fold, pending, start, step, uncertain
    from toolreel_core._plan import FallbackPlan, OutputSpec, Plan, Preset
    from toolreel_core._protocol import (
        ANSWERS,
        ApprovalGiven,
        AskApproval,
        CancelRequested,
        Completed,
        Effect,
        Event,
        Finish,
        Note,
        Outcome,
        ReplyReceived,
        RequestFailed,
        RunStarted,
        RunTool,
        SendRequest,
        Spent,
        State,
        Step,
        Tally,
        ToolReturned,
        UserSpoke,
        Wait,
        WaitElapsed,
        dump,
        from_json,
        load_effect,
        load_event,
        load_plan,
        load_state,
        note_sentence,
        notes,
        to_json,
    )
    from toolreel_core._settings import LoopConfig, Price, Provider
    from toolreel_core._tools import ToolDefinition, ToolSurface
else:
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__)

__all__ = [
    "ANSWERS",
    "ApprovalGiven",
    "AskApproval",
    "AssistantMessage",
    "CancelRequested",
    "CodecError",
    "Completed",
    "ConfigError",
    "Effect",
    "Event",
    "FallbackPlan",
    "Finish",
    "Json",
    "LoopConfig",
    "Message",
    "Note",
    "Outcome",
    "OutputSpec",
    "Plan",
    "Preset",
    "Price",
    "ProtocolError",
    "Provider",
    "ReplayMismatch",
    "ReplyReceived",
    "RequestFailed",
    "RunStarted",
    "RunTool",
    "SendRequest",
    "Spent",
    "State",
    "Step",
    "SystemMessage",
    "Tally",
    "ToolDefinition",
    "ToolMessage",
    "ToolReturned",
    "ToolSurface",
    "ToolreelError",
    "TransformError",
    "Tree",
    "UserMessage",
    "UserSpoke",
    "Wait",
    "WaitElapsed",
    "dump",
    "fold",
    "from_json",
    "load_effect",
    "load_event",
    "load_plan",
    "load_state",
    "note_sentence",
    "notes",
    "pending",
    "start",
    "step",
    "to_json",
    "uncertain",
]
