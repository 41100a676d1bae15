"""Journals: the record of a run on disk, one JSON line an event."""
