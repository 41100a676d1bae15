"""Journals: the record of a run on disk, one JSON line an event."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel._journal.file import ROOM, FileJournal, ReopenedJournal, made_folders, sync_folders, taken
    from toolreel._journal.format import (
        MemoryJournal,
        Reason,
        Record,
        Recorded,
        Source,
        companion,
        event_line,
        is_withheld,
        opened,
        parse_journal,
        read_journal,
        recording_files,
        sealed,
        unfinished,
        unsealed,
        withheld,
    )
else:
    from toolreel_core._lazy_names import face

    __getattr__, __dir__ = face(__name__)
