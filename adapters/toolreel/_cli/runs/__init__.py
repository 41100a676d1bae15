"""Commands about one run: ``run``, ``replay``, ``resume``, ``fork`` and ``diff``."""
