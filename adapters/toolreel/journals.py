"""Journals in memory and files, and what they are read into."""

from toolreel._journal import MemoryJournal, Recorded, ReopenedJournal, parse_journal, read_journal
from toolreel._replay import AsyncRehearsal, Rehearsal

__all__ = [
    "AsyncRehearsal",
    "MemoryJournal",
    "Recorded",
    "Rehearsal",
    "ReopenedJournal",
    "parse_journal",
    "read_journal",
]
