"""What the table of trials says: totals, the answer, comparisons, gates, files."""
