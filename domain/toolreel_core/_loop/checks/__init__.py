"""Checks of results and answers: sizes, claims and repeated effects; and what a model is told again."""
