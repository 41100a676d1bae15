"""HTTP endpoints over pyreqwest, a client in Rust, for thousands of concurrent runs (extra ``fast``)."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.http.fast._public import *
else:
    from toolreel._internal.lazy import names_of

    __getattr__, __dir__ = names_of(__name__)
