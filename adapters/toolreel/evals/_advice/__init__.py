"""Advice from evaluations: recommendations, and the figures of the case study."""
