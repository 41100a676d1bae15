"""Explain a run turn by turn, and compare two runs."""
