"""Replay, resume and fork recorded runs."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel._replay import run_page
    from toolreel._replay.exports import (
        EXPORT_SUFFIXES,
        LOG_VERSION,
        Format,
        export_text,
        inspect_ai_sample,
        markdown_transcript,
    )
    from toolreel._replay.forked_run import (
        Changes,
        Forked,
        Stop,
        fork,
        fork_without_continuing,
    )
    from toolreel._replay.journal_performer import AllowedDifferences, AsyncRehearsal, Rehearsal
    from toolreel._replay.list_server import ListServer, RecordingList
    from toolreel._replay.recordings import (
        RecordedFiles,
        ResumedFiles,
        check_not_recorded,
    )
    from toolreel._replay.recovered_runs import RecoveredRun, TapedEndpoint, recover_runs, save_journals
    from toolreel._replay.replayed_run import (
        BEHIND_PROXY,
        DRIVERS,
        Driver,
        Replayed,
        check_recovered_journals,
        check_same_lines,
        check_tools_unchanged,
        replay,
    )
    from toolreel._replay.resumed_run import aresume, resume
    from toolreel._replay.run_diff import Aspect, Difference, Divergence, TurnPair, diff, plan_changes
    from toolreel._replay.run_page import recording_name, recording_page, runs_page, write_page
    from toolreel._replay.run_stories import (
        MARKS,
        CallSummary,
        TurnLine,
        TurnSummary,
        deciding_event,
        explain_outcome,
        note_line,
        run_warnings,
        story,
        turn_lines,
    )
    from toolreel._replay.run_tree import NumberedItems, RunTree, recorded_run_tree
    from toolreel._replay.trace import Answered, Trace, Traced, Underway, retrace, shorten_line
else:
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__)
