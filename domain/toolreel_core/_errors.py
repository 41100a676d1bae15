"""Errors that are exceptions: somebody misused toolreel, or a record disagrees with it.

::

    ToolreelError
    ├── ProtocolError     the caller stepped the machine with an event that its phase cannot take
    ├── ConfigError       a plan, a limit, a preset or a tool definition is not usable
    ├── CodecError        a stored value cannot be read back
    ├── TransformError    a transform of the caller's own fails, or gives back no JSON object
    └── ReplayMismatch    a recording does not agree with the run that replays it

A model or a tool that misbehaves is never an exception but a :class:`~toolreel_core._tools.results.Fault`,
told to the model; a far side that fails is an event,
:class:`~toolreel_core._protocol.events.RequestFailed`.
"""

from __future__ import annotations

__all__ = [
    "CodecError",
    "ConfigError",
    "ProtocolError",
    "ReplayMismatch",
    "ToolreelError",
    "TransformError",
]


class ToolreelError(Exception):
    """Anything that toolreel itself raises; its text names the place and the remedy."""


class ProtocolError(ToolreelError):
    """The caller's bug: an event that the phase of the run cannot take."""


class ConfigError(ToolreelError, ValueError):
    """A value that a plan cannot be made of; the text names the key, the value and what is allowed."""


class CodecError(ToolreelError, ValueError):
    """A stored state, event, effect or plan that cannot be read; the text names the place."""


class TransformError(ToolreelError):
    """The caller's bug: a registered transform that raised, or gave back something else than a tree.

    In a run, it is the outcome ``transform_failed``.
    """


class ReplayMismatch(ToolreelError):
    """A recording disagrees with the run that replays it: the fixture or the code has changed."""


for _name in __all__:
    # A traceback then names an error by the path from which users import it.
    globals()[_name].__module__ = "toolreel_core"
