"""The tools of a run as the model sees them: definitions with their names and schemas, and the surface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias, TypedDict, Unpack

from toolreel_core._config_checks import Table, matches_wildcard, unknown_name_message
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import (
    Json,
    JsonText,
    as_list,
    as_tree,
    canonical,
    chained_digest,
    digest,
    json_text,
    parse,
    quote,
)
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._schema import check_schema, map_subschemas
from toolreel_core._settings import LoopConfig

# Names of tools: the inner name, and the outward name that the model sees.
#
# Providers reject names that do not match ``^[a-zA-Z0-9_-]{1,64}$``. An inner name such as ``files.read``
# becomes ``files_read``. Models write either, so both are accepted.


_MAX_INNER = 256
_INNER = lazy_pattern(rf"[a-zA-Z0-9_./:-]{{1,{_MAX_INNER}}}")
_FOREIGN = lazy_pattern(r"[^a-zA-Z0-9_-]")
"""A character that providers refuse in names of functions."""
_UNFIT = lazy_pattern(r"[^a-zA-Z0-9_./:-]")
"""A character that an inner name cannot have."""
_MAX_LENGTH = 64
_MAX_SHOWN = 80
"""Characters of a name in an error text: wider than what providers take."""
_DIGITS = 8
"""Digits of a digest at the end of a shortened name."""


def check_name(name: str) -> None:
    if not _INNER.fullmatch(name):
        raise ConfigError(
            f"tool name {name!r} does not fit {_INNER.pattern}; use letters, digits and _ . / : - only"
        )


def outward_name(name: str) -> str:
    """The name that is sent to a provider, such as ``files_read`` for ``files.read``."""
    fitting = _FOREIGN.sub("_", name)
    if len(fitting) <= _MAX_LENGTH:
        return fitting
    return f"{fitting[: _MAX_LENGTH - _DIGITS - 1]}_{digest(name)[:_DIGITS]}"


def prefixed_name(*parts: str) -> str:
    """The inner name of a source's tool, such as ``mcp_my_files_read.text``; see :func:`name_with_digest`."""
    name = "_".join(parts)
    fitting = _UNFIT.sub("_", name)
    return fitting if _INNER.fullmatch(fitting) else name_with_digest(fitting, name)


def name_with_digest(name: str, whole: str) -> str:
    """A name made unique by the digest of what it stands for."""
    return f"{name[: _MAX_INNER - _DIGITS - 1]}_{digest(whole)[:_DIGITS]}"


def shortened_name(name: str) -> str:
    """A name for error texts, shortened: models invent names as long as a page."""
    return name if len(name) <= _MAX_SHOWN else f"{name[:_MAX_SHOWN]}…"


def matches_tool_name(pattern: str, name: str) -> bool:
    """Whether a pattern matches an inner name or its outward form; ``*`` stands for any text."""
    return any(matches_wildcard(pattern, form) for form in {name, outward_name(name)})


# Schemas of a tool's parameters: read from a mapping or a model class, checked, and put as they are sent.


_DEFS = "#/$defs/"


class HasJsonSchema(Protocol):
    """An object with a schema, such as pydantic's ``TypeAdapter``; only the method counts."""

    def json_schema(self) -> Mapping[str, Any]: ...


class HasModelJsonSchema(Protocol):
    def model_json_schema(self) -> Mapping[str, Any]: ...


SchemaLike: TypeAlias = Mapping[str, Json] | HasJsonSchema | HasModelJsonSchema


def schema_tree(given: SchemaLike) -> Mapping[str, Json]:
    if isinstance(given, Mapping):
        return given
    write = getattr(given, "model_json_schema", None) or getattr(given, "json_schema", None)
    if not callable(write):
        raise ConfigError(
            f"{given!r} gives no schema; expected a JSON Schema as a mapping, "
            "or something with json_schema() or model_json_schema()"
        )
    try:
        tree = write()
    except Exception as error:  # noqa: BLE001 - whatever it is, there is no schema
        why, _, _ = str(error).partition("\n")
        raise ConfigError(f"the schema of {given!r} failed with {type(error).__name__}: {why}") from None
    if not isinstance(tree, Mapping):
        raise ConfigError(f"{given!r} returned a {type(tree).__name__}; expected a JSON Schema as a mapping")
    return resolve_root_reference(tree)


def schema_text(tree: Mapping[str, Json]) -> JsonText:
    """The canonical text of a schema; :class:`ConfigError` if it is not JSON, or allows no object."""
    text = json_text(tree, "parameters")
    kinds = tree.get("type", "object")
    if "object" not in as_list(kinds):
        raise ConfigError(
            f"parameters: arguments are an object, but the schema has the type {canonical(kinds)}; "
            "make it a property of an object"
        )
    return text


def resolve_root_reference(tree: Mapping[str, Json]) -> Mapping[str, Json]:
    """A schema with a reference at its root resolved: providers require ``type: object`` there."""
    # msgspec, and pydantic for recursive models, put everything under ``$defs``.
    reference, parts = tree.get("$ref"), tree.get("$defs")
    if not isinstance(reference, str) or not isinstance(parts, Mapping):
        return tree
    part = parts.get(reference.removeprefix(_DEFS))
    if not isinstance(part, Mapping):
        return tree
    root = {**part, **{key: value for key, value in tree.items() if key not in {"$ref", "$defs"}}}
    others = {name: value for name, value in parts.items() if name != reference.removeprefix(_DEFS)}
    # A recursive model refers to itself by its definition, which then stays.
    if quote(reference) in json_text({**root, "$defs": others}, "parameters"):
        return {**root, "$defs": parts}
    return {**root, "$defs": others} if others else root


def without_empty_required(schema: Json) -> Json:
    """A schema without empty ``required`` lists, at any depth."""
    # Draft 4 forbids them, and so do validators of that draft (python-jsonschema/jsonschema#339).
    if not isinstance(schema, Mapping):
        return schema
    kept = {keyword: value for keyword, value in schema.items() if keyword != "required" or value}
    return map_subschemas(kept, without_empty_required)


# OpenAI refuses an object schema that has no `properties` (spring-projects/spring-ai#4776).
_NO_PARAMETERS = canonical({"type": "object", "properties": {}, "additionalProperties": False})
_BRANCHES = {"$ref", "allOf", "anyOf", "oneOf"}
_LIMITS = ("deadline_ms", "max_args_bytes", "max_output_bytes")


class ToolFlags(TypedDict, total=False):
    """Optional fields of :class:`ToolDefinition`."""

    read_only: bool
    polling: bool
    needs_approval: bool
    exposed: bool
    deadline_ms: int | None
    idempotent: bool
    max_args_bytes: int | None
    max_output_bytes: int | None


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """One tool: its description for the model, and how to run it.

    :raises ConfigError: if the name, a text, the schema or a limit is invalid
    """

    name: str
    """The inner name, unique in a surface, such as ``files.read``: letters, digits and ``_ . / : -``, at
    most 256. The model sees :attr:`outward`."""
    description: str = ""
    parameters: JsonText = _NO_PARAMETERS
    """JSON Schema (draft 2020-12) of the arguments, an object."""
    read_only: bool = False
    """Changes nothing, so its calls may run concurrently."""
    polling: bool = False
    """Meant to be called repeatedly with the same arguments."""
    needs_approval: bool = False
    """Each call needs approval."""
    exposed: bool = True
    """Sent to the model and callable; otherwise it counts as masked."""
    deadline_ms: int | None = None
    """Timeout of a call in milliseconds; ``None``: the host's default."""
    idempotent: bool = False
    """Called again with the same arguments or the same key, it changes nothing more; see
    :func:`toolreel_core._loop.reducer.uncertain`."""
    max_args_bytes: int | None = None
    """Maximum UTF-8 bytes of a call's arguments; ``None``: the limit of the configuration."""
    max_output_bytes: int | None = None
    """Maximum UTF-8 bytes of output; ``None``: the limit of the configuration."""
    source: str = field(default="", compare=False)
    """Name of its source, for people; not part of its identity."""
    left_out: tuple[str, ...] = field(default=(), compare=False)
    """Parts of its schema that cannot be used, and why; not part of its identity."""

    def __post_init__(self) -> None:
        check_name(self.name)
        limits = Table((), {limit: getattr(self, limit) for limit in _LIMITS})
        try:
            for limit in _LIMITS:
                limits.value(limit, int | None)
            json_text(self.description, "description")
            json_text(self.parameters, "parameters")
            check_schema(self.parameters)
        except ConfigError as error:
            raise ConfigError(f"tool {self.name!r}: {error}") from None

    @classmethod
    def of(
        cls,
        name: str,
        description: str = "",
        parameters: SchemaLike | None = None,
        **flags: Unpack[ToolFlags],
    ) -> ToolDefinition:
        """A definition from plain values.

        >>> ToolDefinition.of("files.list", "List all files.", read_only=True).outward
        'files_list'

        :param description: if empty, the description in the schema, unless ``parameters`` is a mapping
        :param parameters: a schema, or anything with ``json_schema()`` or ``model_json_schema()``; without
            one, the tool takes no arguments
        """
        if parameters is None:
            return cls(name, description, **flags)
        try:
            tree = schema_tree(parameters)
            text = schema_text(tree)
        except ConfigError as error:
            raise ConfigError(f"tool {name!r}: {error}") from None
        if not description and tree is not parameters:
            description = str(tree.get("description", ""))
        return cls(name, description, text, **flags)

    @property
    def outward(self) -> str:
        """The name under which the model sees it."""
        return outward_name(self.name)

    def seconds(self, default: float | None) -> float | None:
        """The deadline of a call in seconds, or that of the host."""
        return default if self.deadline_ms is None else self.deadline_ms / 1000

    def tree(self) -> Json:
        """The definition as an entry of a request's ``tools``."""
        function = {
            "name": self.outward,
            "description": self.description,
            "parameters": self._parameters_to_send(),
        }
        return {"type": "function", "function": function}

    def _parameters_to_send(self) -> Json:
        schema = as_tree(without_empty_required(parse(self.parameters)))
        # OpenAI refuses a root without both, as MCP servers write it for a tool without arguments
        # (mark3labs/mcphost#88, inboxapi/cli#106). It refuses branches at the root in any case, and
        # llama.cpp ignores `allOf` beside `properties`.
        return schema if _BRANCHES & schema.keys() else {"type": "object", "properties": {}, **schema}

    @property
    def size(self) -> int:
        """UTF-8 bytes of its entry in a request's ``tools``."""
        return len(canonical(self.tree()).encode())

    @property
    def is_sent_whole(self) -> bool:
        """Whether its name, description and parameters, as sent, are its whole definition."""
        as_sent = self.outward == self.name and canonical(self._parameters_to_send()) == self.parameters
        return as_sent and self == ToolDefinition(self.name, self.description, self.parameters)

    @property
    def fingerprint(self) -> str:
        """SHA-256 over its definition: what the model sees, and how it is run."""
        flags: Json = [self.read_only, self.polling, self.needs_approval, self.exposed, self.idempotent]
        limits: Json = [self.deadline_ms, self.max_args_bytes, self.max_output_bytes]
        told = (self.name, self.description, self.parameters)
        return chained_digest("tool", *told, canonical(flags), canonical(limits))


# The surface: the tools of a run, frozen as the model sees them.


@dataclass(frozen=True, slots=True)
class ToolSurface:
    """The tools of one run, frozen before it begins.

    :raises ConfigError: if two tools share a name, or a name for the model
    """

    definitions: tuple[ToolDefinition, ...] = ()
    """The callable tools, in the order in which the model sees them."""
    masked: tuple[str, ...] = ()
    """Inner names of existing tools that are neither sent nor run."""
    text: JsonText = field(init=False, repr=False, compare=False)
    """The canonical text of the ``tools`` array."""
    by_name: Mapping[str, ToolDefinition] = field(init=False, repr=False, compare=False)
    """The callable tools, by inner and by outward name."""
    known: frozenset[str] = field(init=False, repr=False, compare=False)
    """All inner and outward names of callable and masked tools."""
    schemas: Mapping[str, Any] = field(init=False, repr=False, compare=False)
    """The parsed parameters of the callable tools, by inner and by outward name."""

    def __post_init__(self) -> None:
        by_outward: dict[str, ToolDefinition] = {}
        for tool in self.definitions:
            if not isinstance(tool, ToolDefinition):
                raise ConfigError(
                    f"tools: expected definitions, got {type(tool).__name__}; "
                    "write tools=PythonTools([function, ...]).surface"
                )
            # Where outward names are unique, no inner name is another's outward name either.
            if (other := by_outward.setdefault(tool.outward, tool)) is not tool:
                both = f"{_name_and_source_text(other)} and {_name_and_source_text(tool)}"
                raise ConfigError(
                    f"tools {both} are both {tool.outward!r} to the model; rename one, or leave it out"
                )
        for name in self.masked:
            if outward_name(name) in by_outward:
                raise ConfigError(
                    f"tool {name!r} is masked and may be called at once; leave one of the two out"
                )
        by_name = {name: tool for tool in self.definitions for name in (tool.name, tool.outward)}
        masked = (form for name in self.masked for form in (name, outward_name(name)))
        parsed = {name: parse(tool.parameters) for name, tool in by_name.items()}
        object.__setattr__(
            self, "text", canonical([tool.tree() for tool in self.definitions if tool.exposed])
        )
        object.__setattr__(self, "schemas", parsed)
        object.__setattr__(self, "by_name", by_name)
        object.__setattr__(self, "known", frozenset([*by_name, *masked]))

    @property
    def names(self) -> tuple[str, ...]:
        """The outward names of the tools that are sent, in order."""
        return tuple(definition.outward for definition in self.definitions if definition.exposed)

    @property
    def size(self) -> int:
        """UTF-8 bytes of the ``tools`` array."""
        return len(self.text.encode())

    @property
    def is_sent_whole(self) -> bool:
        """Whether the ``tools`` array, as sent, is the whole definition of the surface."""
        return not self.masked and all(definition.is_sent_whole for definition in self.definitions)

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the definitions, without their sources."""
        tools = (definition.fingerprint for definition in self.definitions)
        return chained_digest(chained_digest("tool_surface", self.text, *tools), "masked", *self.masked)

    def inner_name(self, name: str) -> str:
        """The inner name of a tool by either name; an unknown name is returned unchanged."""
        tool = self.by_name.get(name)
        return name if tool is None else tool.name


def _name_and_source_text(tool: ToolDefinition) -> str:
    return repr(tool.name) + (f" (source {tool.source!r})" if tool.source else "")


# Sources of tools, composed into one surface, without the tools that patterns exclude.


def masked(
    surface: ToolSurface, *, allow: Iterable[str] | None = None, deny: Iterable[str] = ()
) -> ToolSurface:
    """The surface without the tools that the patterns exclude; masked tools are neither sent nor run.

    A pattern is an inner or outward name in which ``*`` stands for any text.

    :param allow: the tools to keep; ``None`` for all, an empty list for none
    :param deny: the tools to exclude, even if ``allow`` has them
    :raises ConfigError: if a pattern matches no tool
    """
    names = [tool.name for tool in surface.definitions]
    allowed = {*names} if allow is None else _matching_names("allow", allow, surface)
    kept = allowed - _matching_names("deny", deny, surface)
    gone = [name for name in names if name not in kept]
    if not gone:
        return surface
    definitions = tuple(tool for tool in surface.definitions if tool.name in kept)
    return ToolSurface(definitions, (*surface.masked, *gone))


def _matching_names(mask: str, patterns: Iterable[str], surface: ToolSurface) -> set[str]:
    """The names that match; a pattern that matches nothing is a typo, which could let tools through."""
    if isinstance(patterns, str):
        raise ConfigError(f"{mask}: expected a list of names, got {patterns!r}")
    names, found = (*(tool.name for tool in surface.definitions), *surface.masked), set[str]()
    for pattern in patterns:
        matching = {name for name in names if matches_tool_name(pattern, name)}
        if not matching:
            forms = dict.fromkeys(form for name in names for form in (name, outward_name(name)))
            raise ConfigError(f"{mask}: {unknown_name_message('tool', pattern, forms)}")
        found |= matching
    return found


@dataclass(frozen=True, slots=True)
class ToolSource:
    """Tools of one origin, such as a module or an MCP server."""

    name: str
    """Its name in errors and listings."""
    definitions: tuple[ToolDefinition, ...]


def compose(
    *sources: ToolSource, allow: Iterable[str] | None = None, deny: Iterable[str] = ()
) -> ToolSurface:
    """One surface of the tools of several sources, in order.

    >>> files = ToolSource("files", (ToolDefinition.of("files.read"), ToolDefinition.of("files.delete")))
    >>> web = ToolSource("web", (ToolDefinition.of("fetch"),))
    >>> compose(files, web, deny=["*.delete"]).names
    ('files_read', 'fetch')

    :raises ConfigError: if sources or tools share a name, or a pattern matches no tool
    """
    for source in sources:
        if not isinstance(source, ToolSource):  # a caller without a type checker
            raise ConfigError(
                f"compose: expected ToolSource values, one argument each, got {type(source).__name__}; "
                'write compose(ToolSource("name", definitions), …)'
            )
    names = [source.name for source in sources]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ConfigError(f"source {twice[0]!r} is given twice; rename one of the two")
    tools = (replace(tool, source=source.name) for source in sources for tool in source.definitions)
    return masked(ToolSurface(tuple(tools)), allow=allow, deny=deny)


# Limits of the number and size of the tools that are sent.


_MAX_NAMED = 5
"""How many of the largest tools an error names."""


def check_surface(surface: ToolSurface, config: LoopConfig) -> None:
    """Check the number and the size of the tools that are sent; an error names the largest."""
    if config.tool_use_mode == "disabled":
        return
    for setting, amount, what in (
        ("max_tool_definitions_count", len(surface.names), "tools"),
        ("max_tool_definitions_bytes", surface.size, "bytes of tools"),
    ):
        limit = getattr(config, setting)
        if amount > limit:
            sent = [tool for tool in surface.definitions if tool.exposed]
            largest = sorted(sent, key=lambda tool: -tool.size)[:_MAX_NAMED]
            named = ", ".join(f"{_name_and_source_text(tool)} ({tool.size} bytes)" for tool in largest)
            raise ConfigError(
                f"{setting}: {amount} {what} would be sent, the limit is {limit}; the largest: {named}; "
                "mask some (allow, deny, or exposed=False), or raise the limit"
            )
