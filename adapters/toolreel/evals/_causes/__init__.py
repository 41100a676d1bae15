"""Finds the causes of lost runs: bisect, minimise, flakes."""
