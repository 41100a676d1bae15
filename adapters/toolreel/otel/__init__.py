"""OpenTelemetry: spans and metrics of every run.

``instrument()`` turns them on for this process. They follow the semantic conventions for generative AI.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.otel._public import *

else:
    from toolreel._internal.lazy import names_of

    __getattr__, __dir__ = names_of(__name__, "otel")
