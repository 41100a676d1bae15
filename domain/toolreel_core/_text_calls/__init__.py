"""The ways in which models write tool calls as text, and the one scanner that reads them all.

``parse`` is the way in. A dialect is data in ``catalogue``,
its openers stand in ``markers``, and a small decoder says what follows them.
"""

__all__: list[str] = []
