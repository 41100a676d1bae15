"""The files of an evaluation."""
