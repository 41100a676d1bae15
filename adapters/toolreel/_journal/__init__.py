"""Journals: the record of a run on disk, one JSON line an event."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel._journal.file import (
        ROOM,
        FileJournal,
        ReopenedJournal,
        fsync_folder_and_ancestors,
        lock_file,
        make_folders,
        parse_unclosed_journal,
    )
    from toolreel._journal.format import (
        JournalRecord,
        MemoryJournal,
        Reason,
        Recorded,
        RunSource,
        cassette_path,
        is_withheld_result,
        journal_path,
        journal_paths_of_cassette,
        load_recorded_run,
        parse_journal,
        part_path,
        read_journal,
        recording_files,
        remove_seal,
        seal_text,
        timed_event_line,
        withhold_result,
    )
else:
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__)
