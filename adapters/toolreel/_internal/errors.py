"""Errors of the adapters: files, servers and settings that cannot be used.

::

    ToolreelError
    ├── ReplayMismatch            (core) a replayed run differs from its recording
    └── AdapterError
        ├── MissingExtra          an optional dependency is not installed
        ├── CassetteError         a cassette cannot be read, trusted or written
        │   └── SecretFound       a cassette was not written because it would hold a secret
        ├── ProjectSettingsError  [tool.toolreel] in pyproject.toml has a key or a value that is not usable
        ├── SecretRulesError      a project's own rules about secrets cannot be used
        ├── VaryError             a rule about what may vary in a recording cannot be used, or was not used
        ├── JournalError          a journal cannot be read, trusted or written
        ├── CatalogueError        a catalogue of presets cannot be read or used
        ├── EvalPlanError         the plan of an evaluation cannot be read or used
        ├── ForkError             a recorded run cannot be forked at this event or with this change
        ├── ToolModuleError       a module that should hold tools cannot be used
        ├── McpConfigError        a configuration of MCP servers cannot be read or used
        ├── McpServerError        an MCP server cannot be started, or does not list its tools
        ├── SkillError            an Agent Skill cannot be used
        ├── DurableError          a durable run, or its database, cannot be used in this way
        ├── ResultsError          the results of an evaluation cannot be read, continued or written
        ├── OutputError           a run has no value of the type that was asked for
        ├── TokenizerError        a file that should hold a tokenizer cannot be used
        ├── ProxyConfigError      the settings of a proxy contradict each other, or cannot be used
        ├── EndpointConfigError   an endpoint's settings are not usable
        └── BodyError             (http) a response body was rejected
            ├── Stalled
            ├── TooLarge
            └── UndecodableBody

Each message names the place and the remedy. Failures of a server are not among them: the HTTP adapter reports
them as events.
"""

from __future__ import annotations

from collections.abc import Callable

from toolreel_core._errors import ToolreelError


def check_format_version(
    found: object, expected: int, what: str, remedy: str, error: type[AdapterError]
) -> None:
    """Refuse a record of another version.

    :param remedy: what to do, such as ``record it again``
    :param what: its place and kind, such as ``chat.journal.jsonl, line 1: a journal``
    """
    if type(found) is not int or found != expected:  # not ==, for which True is 1
        raise error(f"{what} of version {found!r}; this toolreel reads version {expected}: {remedy}")


class AdapterError(ToolreelError):
    """Base class of all errors that adapters raise."""


class MissingExtra(AdapterError, ImportError):
    """An optional dependency is not installed; the message has the command to install it."""

    @classmethod
    def of(cls, extra: str, package: str) -> MissingExtra:
        """The error for a missing package of an extra."""
        remedy = f"it comes with the extra {extra!r}, pip install 'toolreel[{extra}]'"
        return cls(f"{package} is not installed: {remedy}", name=package)

    @classmethod
    def among(cls, extra: str) -> Callable[[ImportError], MissingExtra | None]:
        """What a package raises where a module of its extra is missing.

        Modules that several packages share name an extra that may be only a part of this one's.
        """

        def instead(error: ImportError) -> MissingExtra | None:
            if isinstance(error, cls | ModuleNotFoundError):
                return cls.of(extra, str(error.name).partition(".")[0])
            return None

        return instead


class CassetteError(AdapterError):
    """A cassette that cannot be read, trusted or written; names the file, the place and the remedy."""


class SecretFound(CassetteError):
    """A cassette was not written, because it would contain a secret; names the place, never the secret."""


class ProjectSettingsError(AdapterError, ValueError):
    """``[tool.toolreel]`` in ``pyproject.toml`` that cannot be used; names the file and the key."""


class SecretRulesError(AdapterError, ValueError):
    """A file of rules about secrets that cannot be read or used; names the file and the key."""


class VaryError(AdapterError, ValueError):
    """A rule about what may vary in a recording that cannot be used, or fits nothing; names the rule."""


class JournalError(AdapterError):
    """A journal that cannot be read, trusted or written; names the file, the line and the remedy."""


class CatalogueError(AdapterError, ValueError):
    """A catalogue of presets that cannot be read or used; names the file, the place and what is allowed."""


class EvalPlanError(AdapterError, ValueError):
    """The plan of an evaluation that cannot be read or used; names the file, the option or the variable."""


class ForkError(AdapterError):
    """A recorded run cannot be forked at this event or with this change; says where it can be."""


class ToolModuleError(AdapterError):
    """A module of tools that cannot be imported, or lacks the attribute."""


class McpConfigError(AdapterError, ValueError):
    """A configuration of MCP servers that cannot be read or used; names the file and the place in it."""


class McpServerError(AdapterError):
    """An MCP server that cannot be started, or does not list its tools; has its name and the reason."""


class SkillError(AdapterError, ValueError):
    """An Agent Skill that cannot be read or used; names its folder and all problems."""


class DurableError(AdapterError, ValueError):
    """A durable run or its database that cannot be used in this way; says what to do."""


class ResultsError(AdapterError, ValueError):
    """The results of an evaluation that cannot be read, continued or written; names file and line."""


class TokenizerError(AdapterError):
    """A file that is not a tokenizer; names the file."""


class OutputError(AdapterError, ValueError):
    """A run without a value of the type that was asked for; says how it ended, or what is wrong with it."""


class ProxyConfigError(AdapterError, ValueError):
    """Settings of a proxy that contradict each other, or cannot be used; says what to write instead."""


class EndpointConfigError(AdapterError, ValueError):
    """An endpoint's setting that is not usable; names the setting, its value and what is allowed."""


for _error in [*vars().values()]:
    if isinstance(_error, type) and issubclass(_error, AdapterError):
        _error.__module__ = "toolreel.errors"  # a traceback names the path from which users import it
