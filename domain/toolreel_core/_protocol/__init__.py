"""The protocol of a run: events in, effects and notes out, and the state between them.

``events`` are facts in the past tense, ``effects`` are requests in the imperative, and each names its
counterpart. ``state`` has the phases, ``outcome`` the ways in which a run ends, ``notes`` what a run
logs about itself, and ``codec`` serialises all of these to JSON text and back.
"""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel_core._protocol import events, notes, outcome
    from toolreel_core._protocol.codec import (
        MENTION,
        VERSION,
        Stored,
        blob_lines,
        blobs_in,
        check_blob,
        codec_error,
        decode,
        decode_event,
        decode_plan,
        dump,
        encode,
        event_line,
        from_json,
        header_line,
        load_effect,
        load_event,
        load_note,
        load_plan,
        load_state,
        stored_fields,
        tag,
        to_json,
        with_blobs,
    )
    from toolreel_core._protocol.effects import (
        ANSWERS,
        AskApproval,
        Effect,
        Finish,
        RunTool,
        SendRequest,
        Unanswered,
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
        user_spoke,
    )
    from toolreel_core._protocol.hmac_seal import seal, unseal
    from toolreel_core._protocol.http_exchange import (
        ANTHROPIC_VERSION,
        HttpChunk,
        HttpRequest,
        HttpResponse,
        http_request,
        response_event,
        retry_after_ms,
    )
    from toolreel_core._protocol.note_sentences import Level, note_sentence
    from toolreel_core._protocol.notes import (
        ApprovalAsked,
        CallAbandoned,
        CallEnded,
        CallRejected,
        CallRepeated,
        CallsIgnored,
        CallSkipped,
        CallStarted,
        ContentStripped,
        EndpointChanged,
        EndpointPinned,
        ExchangeBegan,
        HistoryShortened,
        HistorySummarized,
        IgnoreReason,
        LateAnswer,
        ModelNudged,
        Note,
        OptionIgnored,
        OutputCalled,
        OutputRejected,
        PartsLeftOut,
        PresetsApplied,
        QuirkApplied,
        RecoveryTried,
        RepairApplied,
        ReplyRead,
        RequestAbandoned,
        RequestLost,
        RequestSent,
        RetryPlanned,
        RunSettled,
        SchemaReduced,
        SummaryRejected,
        SummaryRequested,
        TextCallsOff,
        ToolsDropped,
        ToolsWithheld,
        UpstreamPinned,
        UserMessageKept,
        UserMessagesAdded,
    )
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
        FailureKind,
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
        DoneCall,
        Idle,
        InFlight,
        Memory,
        Phase,
        Settled,
        State,
        Step,
        Streak,
        Tally,
        Waiting,
    )
else:
    from toolreel_core._lazy_names import face

    __getattr__, __dir__ = face(__name__)
