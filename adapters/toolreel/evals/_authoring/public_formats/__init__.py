"""Public data sets as scenarios: what cannot be carried over is named, case by case."""
