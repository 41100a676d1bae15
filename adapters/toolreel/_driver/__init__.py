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
    from toolreel._driver.immediate import entered, immediately, iterated, resolved, scoped_items
    from toolreel._driver.inbox import Inbox, Incoming, attach, media_of, message_of
    from toolreel._driver.log_watch import CONTENT, LEVELS, logged_field_name, name_of, note_fields
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
        check_endpoints,
        check_given,
        ending_at,
        fault_event,
        notify,
        pieces_of,
        secrets_of,
        server_of,
        time_left,
        whole_reply,
        withhold,
    )
    from toolreel._driver.progress import Progress, record, watch_logs
    from toolreel._driver.run_result import (
        NOT_MEASURED,
        EffectTime,
        Lap,
        OutcomeError,
        Run,
        RunUsage,
        Timing,
        cost_in_words,
        duration,
        run_figures,
    )
    from toolreel._driver.stream_events import (
        STOPPED,
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
        Watch,
        Watcher,
        current_trace,
        joined_trace,
    )
else:
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__)
