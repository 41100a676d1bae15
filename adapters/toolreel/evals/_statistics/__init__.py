"""Statistics that need SciPy: intervals, paired tests, power."""
