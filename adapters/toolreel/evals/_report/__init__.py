"""The report of an evaluation: one self-contained HTML page; the same results give the same bytes."""
