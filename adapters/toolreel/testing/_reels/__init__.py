"""The reel of a test: its recording, and the runs that go through it."""
