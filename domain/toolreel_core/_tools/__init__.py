"""Tools as the model sees them: definitions, names, limits, and results."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

from toolreel_core._tools.faults import (
    Fault,
    FaultCode,
    arguments_in_envelope,
    arguments_not_json,
    arguments_not_object,
    arguments_too_deep,
    arguments_too_large,
    arguments_truncated,
    arguments_violate_schema,
    call_abandoned,
    call_cancelled,
    call_denied,
    output_not_alone,
    output_not_json,
    output_too_early,
    output_too_large,
    parts_too_large,
    result_unknown,
    tool_changed,
    tool_not_allowed,
    tool_not_allowed_as_text,
    tool_not_found,
    tool_not_implemented,
)
from toolreel_core._tools.names import (
    check_name,
    matches,
    outward_name,
    prefixed_name,
    shown,
    with_digest,
)
from toolreel_core._tools.parameter_schemas import SchemaLike, opened, schema_text, schema_tree, sendable
from toolreel_core._tools.result_envelope import (
    Envelope,
    ToolFailure,
    already_done,
    envelope_of,
    failed,
    plain_text,
)
from toolreel_core._tools.surface import ToolSurface
from toolreel_core._tools.surface_limits import SourceShare, check_surface, largest, shares
from toolreel_core._tools.tool_definition import ToolDefinition, ToolFlags

if TYPE_CHECKING:
    from toolreel_core._tools.sources import ToolSource, compose, masked
else:

    def __getattr__(name: str) -> object:
        """Load what few programs need when it is first used."""
        match name:
            case "ToolSource" | "compose" | "masked":
                from toolreel_core._tools import sources as home
            case _:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(home, name)
