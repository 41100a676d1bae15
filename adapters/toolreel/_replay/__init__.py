"""Replay, resume and fork recorded runs."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel._replay import run_page
    from toolreel._replay.allowed_differences import AllowedDifferences
    from toolreel._replay.exports import (
        LOG_VERSION,
        STOP_REASONS,
        SUFFIXES,
        Format,
        exported,
        inspect_message,
        transcript,
    )
    from toolreel._replay.forked_run import (
        Changes,
        EventLog,
        Forked,
        Stop,
        beginning,
        fork,
    )
    from toolreel._replay.journal_performer import AsyncRehearsal, Rehearsal
    from toolreel._replay.list_server import ListServer, RecordingList
    from toolreel._replay.recordings import (
        RecordedFiles,
        ResumedFiles,
        check_free,
    )
    from toolreel._replay.recovered_runs import RecoveredRun, TapedEndpoint, recover_runs, save_journals
    from toolreel._replay.replayed_run import (
        BEHIND_PROXY,
        DRIVERS,
        Driver,
        Replayed,
        check_recovered,
        check_surface,
        replay,
    )
    from toolreel._replay.resumed_run import aresume, resume
    from toolreel._replay.run_diff import Aspect, Difference, Divergence, TurnPair, diff, plan_changes
    from toolreel._replay.run_page import name_of, page_of, page_of_runs, write_page
    from toolreel._replay.run_stories import (
        CallSummary,
        TurnSummary,
        deciding_event,
        note_line,
        rule_of,
        story,
        warnings_of,
    )
    from toolreel._replay.run_tree import RunTree, traced_tree
    from toolreel._replay.sent_items import sent_history
    from toolreel._replay.trace import Answered, Trace, Traced, Underway, cut, retrace
else:
    from toolreel_core._lazy_names import face

    __getattr__, __dir__ = face(__name__)
