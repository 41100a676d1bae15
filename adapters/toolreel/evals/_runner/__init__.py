"""Run the trials of an evaluation."""
