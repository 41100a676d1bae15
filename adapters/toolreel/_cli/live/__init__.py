"""Live sessions on the command line: ``run``, ``resume`` and ``fork`` against a server."""
