"""Cassettes: record and replay the HTTP traffic of a session.

Start with ``use_cassette``, which works with any client of httpx or httpx2. The transports are its building
blocks.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.cassette._public import *

else:
    from toolreel._internal.lazy import names_of

    __getattr__, __dir__ = names_of(__name__)
