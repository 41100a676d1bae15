"""OpenTelemetry: spans and metrics of every run.

``instrument()`` turns them on for this process. They follow the semantic conventions for generative AI.
"""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.otel._attributes import (
        CONTENT_VARIABLE,
        captures_content,
        labelled,
        provider_of,
        redacted_json_text,
        server_host_and_port,
    )
    from toolreel.otel._run_watch import instrument, uninstrument
else:
    from toolreel._internal import MissingExtra
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__, instead=MissingExtra.among("otel"))

# Public; the other names are for this project's own packages and tests.
__all__ = [
    "instrument",
    "labelled",
    "uninstrument",
]
