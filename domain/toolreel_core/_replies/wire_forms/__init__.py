"""Replies in the forms that servers speak besides chat completions, read as chat completions.

What follows, the normaliser above all, knows one form.
"""
