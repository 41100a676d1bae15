"""One target under atheris, in a process of its own: ``python -m tests.fuzz.worker TARGET OPTION…``.

The core is instrumented while it is imported, so nothing here imports it before.
"""

from __future__ import annotations

import importlib
import sys


def main() -> None:
    # By its name: it has no types, and is not there on every system.
    atheris = importlib.import_module("atheris")
    name, *options = sys.argv[1:]
    with atheris.instrument_imports(include=["toolreel_core"]):
        targets = importlib.import_module("tests.fuzz.targets")
    atheris.Setup([name, *options], targets.TARGETS[name].check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
