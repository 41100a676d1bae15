"""The drivers: they perform effects and feed the events back, sync and async.

``drivers`` perform effects; what they do besides that, without I/O, is in ``progress``. ``ports`` defines the
protocols that a driver needs, and ``Ports``, which combine them into one ``perform(effect) -> event``.
"""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel._driver.drivers import (
        ago_on,
        arun,
        aspeak,
        astream,
        astream_on,
        go_on,
        run,
        speak,
        stream,
        stream_on,
    )
    from toolreel._driver.first_checks import aperform, perform
    from toolreel._driver.immediate import (
        await_if_awaitable,
        enter_without_suspending,
        generate_items_in_scopes,
        immediately,
        items_without_suspending,
    )
    from toolreel._driver.inbox import Inbox, Incoming, attach, media_from_bytes, user_message_event
    from toolreel._driver.log_watch import (
        CONTENT,
        LEVELS,
        logged_field_name,
        note_fields_without_content,
        note_name,
    )
    from toolreel._driver.outcome_words import (
        OutcomeWords,
        Resting,
        ServerAddress,
        outcome_in_words,
    )
    from toolreel._driver.ports import (
        Always,
        Approver,
        AsyncApprover,
        AsyncClock,
        AsyncEndpoint,
        AsyncEndpoints,
        AsyncLater,
        AsyncPerformer,
        AsyncPorts,
        AsyncSystemClock,
        AsyncToolHost,
        Clock,
        Endpoint,
        Endpoints,
        InstantClock,
        Journal,
        Later,
        Listener,
        Never,
        NoTools,
        Observer,
        Performer,
        Ports,
        ReplyPiece,
        SystemClock,
        ToolHost,
        Wanted,
        check_fallback_endpoints,
        check_run_arguments,
        fault_event,
        limit_time_until,
        notify,
        register_journal_secrets,
        secrets_of_ports,
        server_address_of_performer,
        stream_reply_pieces,
        stream_whole_reply,
        time_left,
    )
    from toolreel._driver.progress import Progress, make_log_watch, record
    from toolreel._driver.run_result import (
        NOT_MEASURED,
        EffectTime,
        Lap,
        OutcomeError,
        Run,
        RunUsage,
        Timing,
        cost_in_words,
        duration_in_words,
        run_statistics_as_text,
    )
    from toolreel._driver.stream_events import (
        STREAM_CLOSED,
        NoteMade,
        PartialAnswer,
        PartialOutput,
        ReasoningDelta,
        RunEnded,
        ShownEvent,
        StreamEvent,
        TextDelta,
        TextWithdrawn,
        ToolCallDelta,
        ToolResult,
        ToolStarted,
    )
    from toolreel._driver.watch import (
        CONTEXTS,
        WATCHERS,
        Begun,
        RunWatcher,
        Watch,
        continue_trace_from_headers,
        current_trace_headers,
    )
else:
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__)
