"""Errors that the adapters raise: something around the core cannot be used, read or trusted.

::

    ToolreelError
    ├── ReplayMismatch            (core) a recording disagrees with the run that replays it
    └── AdapterError
        ├── MissingExtra          an optional dependency is not installed
        ├── CassetteError         a cassette cannot be read, trusted or written
        │   └── SecretFound       a cassette was not written because it would hold a secret
        ├── SecretRulesError      a project's own rules about secrets cannot be used
        ├── JournalError          a journal cannot be read, trusted or written
        ├── CatalogueError        a catalogue of presets cannot be read or used
        ├── EvalPlanError         the plan of an evaluation cannot be read or used
        ├── ForkError             a recorded run cannot be forked where or as it was asked for
        ├── ToolModuleError       a module that should hold tools cannot be used
        ├── McpConfigError        a configuration of MCP servers cannot be read or used
        ├── McpServerError        an MCP server cannot be started, or does not say what it offers
        ├── SkillError            an Agent Skill cannot be used
        ├── OpenApiError          an OpenAPI document cannot be read, or its operations be called
        ├── ResultsError          the results of an evaluation cannot be read, gone on with or written
        ├── TokenizerError        a file that should hold a tokenizer cannot be used
        ├── EndpointConfigError   an endpoint's settings are not usable
        └── BodyError             (bounded) a response body was not taken in
            ├── Stalled
            ├── TooLarge
            └── UndecodableBody

Each text names the place and the remedy. A far side that fails is none of these: the HTTP
adapter turns it into an event.
"""

from __future__ import annotations

from toolreel_core._errors import ToolreelError

__all__ = [
    "AdapterError",
    "CassetteError",
    "CatalogueError",
    "EndpointConfigError",
    "EvalPlanError",
    "ForkError",
    "JournalError",
    "McpConfigError",
    "McpServerError",
    "MissingExtra",
    "OpenApiError",
    "ResultsError",
    "SecretFound",
    "SecretRulesError",
    "SkillError",
    "TokenizerError",
    "ToolModuleError",
]


class AdapterError(ToolreelError):
    """Anything that an adapter itself raises."""


class MissingExtra(AdapterError, ImportError):
    """An optional dependency is not installed; the text has the command that installs it."""

    @classmethod
    def of(cls, extra: str, package: str) -> MissingExtra:
        """The error for one extra of toolreel and the package that was looked for.

        >>> print(MissingExtra.of("record", "vcrpy"))
        vcrpy is not installed: it comes with the extra 'record', pip install 'toolreel[record]'
        """
        remedy = f"it comes with the extra {extra!r}, pip install 'toolreel[{extra}]'"
        return cls(f"{package} is not installed: {remedy}")


class CassetteError(AdapterError):
    """A cassette that cannot be read, trusted or written; names the file, the place and the remedy."""


class SecretFound(CassetteError):
    """A cassette that was not written, because it would hold a secret; says where, never what."""


class SecretRulesError(AdapterError, ValueError):
    """A file of rules about secrets that cannot be read or used; names the file and the key."""


class JournalError(AdapterError):
    """A journal that cannot be read, trusted or written; names the file, the line and the remedy."""


class CatalogueError(AdapterError, ValueError):
    """A catalogue of presets that cannot be read or used; names the file, the line and what is allowed."""


class EvalPlanError(AdapterError, ValueError):
    """The plan of an evaluation that cannot be read or used; names the file, the option or the variable."""


class ForkError(AdapterError):
    """A recorded run that cannot be forked where or as it was asked for; says where it can be."""


class ToolModuleError(AdapterError):
    """A module that should hold tools and cannot be imported, or does not hold what was asked for."""


class McpConfigError(AdapterError, ValueError):
    """A configuration of MCP servers that cannot be read or used; names the file and the place in it."""


class McpServerError(AdapterError):
    """An MCP server that cannot be started, or does not say what it offers; names it, and what it said."""


class SkillError(AdapterError, ValueError):
    """An Agent Skill that cannot be read or used; names its folder, and all that is wrong with it."""


class OpenApiError(AdapterError, ValueError):
    """An OpenAPI document that cannot be read, or does not offer what was asked for; names the place."""


class ResultsError(AdapterError, ValueError):
    """The results of an evaluation that cannot be read, gone on with or written; names file and line."""


class TokenizerError(AdapterError):
    """A file that should hold a tokenizer, and cannot be read as one; names the file."""


class EndpointConfigError(AdapterError, ValueError):
    """An endpoint's setting that is not usable; names the setting, its value and what is allowed."""


for _name in __all__:
    # A traceback then names an error by the path from which users import it.
    globals()[_name].__module__ = "toolreel"
