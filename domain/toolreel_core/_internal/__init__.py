"""Building blocks that the rest of the core shares."""
