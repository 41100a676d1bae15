"""Stock vcrpy: import its cassettes, export to its format."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.cassette.vcr._public import *
else:
    from toolreel._internal.lazy import names_of

    __getattr__, __dir__ = names_of(__name__)
