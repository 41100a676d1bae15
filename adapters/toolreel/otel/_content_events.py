"""The event with the content of a request, for those who keep content out of spans."""

from __future__ import annotations

from typing import Final

from opentelemetry._logs import LoggerProvider, LogRecord, get_logger
from opentelemetry.context import Context

from toolreel.otel._attributes import Attributes
from toolreel.otel._instruments import SCOPE

_NAME: Final = "gen_ai.client.inference.operation.details"


class ContentEvents:
    """Emits events through the API for logs."""

    def __init__(self, provider: LoggerProvider | None) -> None:
        self._logger = get_logger(SCOPE, logger_provider=provider)

    def emit(self, attributes: Attributes, context: Context) -> None:
        """Emit one event, which belongs to the span of the context."""
        self._logger.emit(LogRecord(context=context, event_name=_NAME, attributes=attributes))
