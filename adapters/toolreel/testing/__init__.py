"""Test agents: assertions about runs, scripted endpoints and tools, and the pytest fixture ``reel``."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.testing._public import *
else:
    from toolreel._internal.lazy import names_of

    __getattr__, __dir__ = names_of(__name__)
