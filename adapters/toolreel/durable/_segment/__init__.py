"""One segment of a run: its effects, what answers them, and the lines of the journal that come of it."""
