"""The ways in which models write tool calls as text, and the one scanner that reads them all.

:mod:`toolreel.text_dialects` is the way in. A dialect is data in :mod:`~toolreel.dialects.catalogue`,
its openers stand in :mod:`~toolreel.dialects.markers`, and a small decoder says what follows them.
"""

__all__: list[str] = []
