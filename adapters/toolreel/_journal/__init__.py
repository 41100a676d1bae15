"""Journals: the record of a run on disk, one JSON line an event."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel._journal.file import FileJournal, ReopenedJournal
    from toolreel._journal.format import (
        MemoryJournal,
        Record,
        Recorded,
        Source,
        blob_lines,
        companion,
        event_line,
        header_line,
        opened,
        parse_journal,
        read_journal,
        recording_files,
        sealed,
        unfinished,
        unsealed,
    )
    from toolreel._journal.part_file import ROOM, made_folders, sync_folders, taken
    from toolreel._journal.withheld_results import Reason, is_withheld, withheld
else:
    from toolreel._internal.lazy import face

    __getattr__, __dir__ = face(__name__)
