"""Time in runs: clocks, what takes how long, and what is left."""
