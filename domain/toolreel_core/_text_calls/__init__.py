"""The ways in which models write tool calls as text, and the one scanner that reads them all.

:mod:`toolreel_core._text_calls.parse` is the way in. A dialect is data in :mod:`~toolreel_core._text_calls.catalogue`,
its openers stand in :mod:`~toolreel_core._text_calls.markers`, and a small decoder says what follows them.
"""

__all__: list[str] = []
