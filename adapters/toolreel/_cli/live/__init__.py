"""Live runs against a server, for ``run``, ``resume`` and ``fork``."""
