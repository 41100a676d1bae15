"""The drivers: they perform effects and feed the events back, sync and async.

``sync`` and ``aio`` have the same structure. ``ports`` defines the protocols that a driver needs;
``performer`` combines them into one ``perform(effect) -> event``.
"""
