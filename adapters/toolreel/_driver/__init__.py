"""The drivers: a loop of a few lines that performs effects, sync and async.

``sync`` and ``aio`` are twins. ``ports`` has the protocols that a driver needs, ``performer`` makes
one ``perform(effect) -> event`` out of them.
"""
