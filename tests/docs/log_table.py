"""The table of loggers in docs/observe.md, from the code."""

from __future__ import annotations

from dataclasses import fields

from toolreel._driver import CONTENT, LEVELS, logged_field_name
from toolreel._internal import CONCERNS, RENAMED
from toolreel_core._protocol import type_name

# What is logged without a note; a test compares loggers, levels and events with the calls in the code.
OTHERS = (
    ("loop", "debug", "run_began", ("model",)),
    ("loop", "info", "run_rests", ("turn",)),
    ("loop", "info", "run_stopped", ("turn",)),
    ("loop", "info", "run_broke", ("turn", "error")),
    ("tools", "error", "error", ("tool", "call_id", "turn")),
    ("tools", "warning", "listing_ended", ("why",)),
    ("tools", "warning", "skill_not_as_specified", ("why",)),
    ("tools", "warning", "tool_left_out", ("tool", "why")),
    ("cassette", "debug", "cassette_loaded", ("path",)),
    ("cassette", "info", "cassette_saved", ("path",)),
    ("cassette", "warning", "read_past_the_recording", ("path",)),
    ("durable", "debug", "event_stored", ("effect", "n", "ms")),
    ("durable", "info", "run_rests", ("status",)),
    ("durable", "warning", "run_rests", ("status",)),
    ("durable", "warning", "run_queued_again", ("interruption", "error")),
    (
        "proxy",
        "debug",
        "request_answered",
        ("path", "model", "status", "ms", "repairs", "noticed", "added", "problem", "conversation"),
    ),
    ("proxy", "error", "error", ("path", "model")),
    ("proxy", "warning", "not_recorded", ("conversation", "conversations", "status")),
)


def rows() -> list[tuple[str, str, str, tuple[str, ...]]]:
    """Each kind of record: its logger, its level, its event and its fields."""
    found: list[tuple[str, str, str, tuple[str, ...]]] = [*OTHERS]
    for kind, (concern, level) in LEVELS.items():
        called = (logged_field_name(kind, each.name) for each in fields(kind) if each.name not in CONTENT)
        found.append((concern, level, type_name(kind), tuple(RENAMED.get(name, name) for name in called)))
    order: list[str] = [*CONCERNS]
    levels = ["error", "warning", "info", "debug"]
    return sorted(found, key=lambda row: (order.index(row[0]), levels.index(row[1]), row[2]))


def table() -> str:
    """A row for each kind of record, by logger and level."""
    lines = ["| logger | level | `event` | fields |", "|---|---|---|---|"]
    for logger, severity, event, shown in rows():
        told = ", ".join(f"`{name}`" for name in shown)
        lines.append(f"| `toolreel.{logger}` | {severity.upper()} | `{event}` | {told} |")
    return "\n".join(lines)
