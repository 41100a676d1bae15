"""Drift: whether what was measured once is still so, and where two runs of one task part."""
