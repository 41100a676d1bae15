"""Finds the causes of lost runs: bisect, flakes."""
