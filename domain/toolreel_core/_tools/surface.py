"""The tools of a run: their definitions, frozen as the model sees them, and schemas of their arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias, TypedDict, Unpack

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import Json, JsonText, canonical, parse, quote, sound
from toolreel_core._jsontext.digest import chain
from toolreel_core._jsontext.trees import json_text
from toolreel_core._schema.validation import check_schema
from toolreel_core._schema.walk import changed_within
from toolreel_core._tools.names import check_name, outward_name

_DEFS: Final = "#/$defs/"


class HasJsonSchema(Protocol):
    """An object with a schema, such as pydantic's ``TypeAdapter``; only the method counts."""

    def json_schema(self) -> Mapping[str, Any]:
        """The schema."""
        ...


class HasModelJsonSchema(Protocol):
    """A class with a schema, such as a pydantic model."""

    def model_json_schema(self) -> Mapping[str, Any]:
        """The schema."""
        ...


SchemaLike: TypeAlias = Mapping[str, Json] | HasJsonSchema | HasModelJsonSchema
"""A schema, or an object that has one."""


def schema_tree(given: SchemaLike) -> Mapping[str, Json]:
    """The schema as parsed JSON, with a reference at its root resolved.

    :raises ConfigError: if there is no schema
    """
    if isinstance(given, Mapping):
        return given
    for method in ("model_json_schema", "json_schema"):
        write = getattr(given, method, None)
        if callable(write):
            return opened(_written(write, f"{method}() of {given!r}"))
    raise ConfigError(
        f"{given!r} gives no schema; expected a JSON Schema as a mapping, "
        "or something with json_schema() or model_json_schema()"
    )


def schema_text(tree: Mapping[str, Json]) -> JsonText:
    """The canonical text of a schema.

    :raises ConfigError: if a part of it is not JSON, with its place
    """
    return json_text(tree, "parameters")


def opened(tree: Mapping[str, Json]) -> Mapping[str, Json]:
    """A schema with a reference at its root resolved.

    msgspec, and pydantic for recursive models, put everything under ``$defs``; providers require
    ``type: object`` at the root.

    >>> opened({"$ref": "#/$defs/P", "$defs": {"P": {"type": "object"}}})
    {'type': 'object'}
    """
    reference, parts = tree.get("$ref"), tree.get("$defs")
    if not isinstance(reference, str) or not isinstance(parts, Mapping):
        return tree
    part = parts.get(reference.removeprefix(_DEFS))
    if not isinstance(part, Mapping):
        return tree
    root = {**part, **{key: value for key, value in tree.items() if key not in {"$ref", "$defs"}}}
    others = {name: value for name, value in parts.items() if name != reference.removeprefix(_DEFS)}
    if quote(reference) in schema_text({**root, "$defs": others}):
        return {**root, "$defs": parts}
    return {**root, "$defs": others} if others else root


def _written(write: Any, what: str) -> Mapping[str, Json]:  # noqa: ANN401 - a method of anything
    try:
        tree = write()
    except Exception as error:  # noqa: BLE001 - whatever it is, there is no schema
        why, _, _ = str(error).partition("\n")
        hint = "; of a class, it has to be a class method" if isinstance(error, TypeError) else ""
        raise ConfigError(f"{what} failed with {type(error).__name__}: {why}{hint}") from None
    if not isinstance(tree, Mapping):
        raise ConfigError(f"{what} returned a {type(tree).__name__}; expected a JSON Schema as a mapping")
    return tree


def sendable(schema: Json) -> Json:
    """A schema without empty ``required`` lists, at any depth; validators of older drafts reject those.

    >>> sendable({"type": "object", "required": [], "default": {"required": []}})
    {'type': 'object', 'default': {'required': []}}
    """
    if not isinstance(schema, Mapping):
        return schema
    kept = {keyword: value for keyword, value in schema.items() if keyword != "required" or value}
    return changed_within(kept, sendable)


_NO_PARAMETERS: Final = canonical({"type": "object", "properties": {}, "additionalProperties": False})
_LIMITS: Final = {"deadline_ms": "milliseconds", "max_args_bytes": "bytes", "max_output_bytes": "bytes"}


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

    def __post_init__(self) -> None:
        check_name(self.name)
        for limit, unit in _LIMITS.items():
            value = getattr(self, limit)
            if value is not None and (type(value) is not int or value < 1):
                why = f"expected whole {unit} of at least 1, or None, got {value!r}"
                raise ConfigError(f"tool {self.name!r}: {limit}: {why}")
        for part, text in (("description", self.description), ("parameters", self.parameters)):
            if sound(text) != text:
                raise ConfigError(f"tool {self.name!r}: {part}: holds a lone surrogate, which cannot be sent")
        try:
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

    def tree(self) -> Json:
        """The definition as an entry of a request's ``tools``."""
        parameters = sendable(parse(self.parameters))
        function = {"name": self.outward, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": function}

    @property
    def size(self) -> int:
        """UTF-8 bytes of its entry in a request's ``tools``."""
        return len(canonical(self.tree()).encode())

    @property
    def told_whole(self) -> bool:
        """Whether its name, description and parameters, as sent, are its whole definition."""
        as_sent = self.outward == self.name and canonical(sendable(parse(self.parameters))) == self.parameters
        return as_sent and self == ToolDefinition(self.name, self.description, self.parameters)

    @property
    def fingerprint(self) -> str:
        """SHA-256 over its definition: what the model sees, and how it is run."""
        flags: Json = [self.read_only, self.polling, self.needs_approval, self.exposed, self.deadline_ms]
        digest = chain("tool", self.name, self.description, self.parameters, canonical(flags))
        # What was added later counts only where it is used, so that older surfaces keep their fingerprints.
        later = (self.idempotent, self.max_args_bytes, self.max_output_bytes)
        return digest if later == (False, None, None) else chain(digest, canonical(later))


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
        _check_definitions(self.definitions)
        _check_distinct(self.definitions, self.masked)
        tree = [definition.tree() for definition in self.definitions if definition.exposed]
        callable_ = {name: tool for tool in self.definitions for name in (tool.name, tool.outward)}
        masked = (form for name in self.masked for form in (name, outward_name(name)))
        parsed = {name: parse(tool.parameters) for name, tool in callable_.items()}
        object.__setattr__(self, "text", canonical(tree))
        object.__setattr__(self, "schemas", parsed)
        object.__setattr__(self, "by_name", callable_)
        object.__setattr__(self, "known", frozenset([*callable_, *masked]))

    @property
    def names(self) -> tuple[str, ...]:
        """The outward names of the tools that are sent, in order."""
        return tuple(definition.outward for definition in self.definitions if definition.exposed)

    @property
    def size(self) -> int:
        """UTF-8 bytes of the ``tools`` array."""
        return len(self.text.encode())

    @property
    def told_whole(self) -> bool:
        """Whether the ``tools`` array, as sent, is the whole definition of the surface."""
        return not self.masked and all(definition.told_whole for definition in self.definitions)

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the definitions, without their sources."""
        tools = (definition.fingerprint for definition in self.definitions)
        return chain(chain("tool_surface", self.text, *tools), "masked", *self.masked)

    def inner(self, name: str) -> str:
        """The inner name of a tool by either name; an unknown name is returned unchanged."""
        tool = self.by_name.get(name)
        return name if tool is None else tool.name


def _check_definitions(definitions: Iterable[object]) -> None:
    for tool in definitions:
        if not isinstance(tool, ToolDefinition):
            raise ConfigError(
                f"tools: expected definitions, got {type(tool).__name__}; "
                "write tools=PythonTools([function, ...]).surface"
            )


def _check_distinct(definitions: Sequence[ToolDefinition], masked: Sequence[str]) -> None:
    """Check that outward names are unique; then no inner name is another's outward name either."""
    seen: dict[str, ToolDefinition] = {}
    for tool in definitions:
        other = seen.setdefault(tool.outward, tool)
        if other is not tool:
            raise ConfigError(_clash(other, tool))
    for name in masked:
        if outward_name(name) in seen:
            raise ConfigError(f"tool {name!r} is masked and may be called at once; leave one of the two out")


def _clash(one: ToolDefinition, other: ToolDefinition) -> str:
    if one.name != other.name:
        both = " and ".join(f"{tool.name!r}{_from(tool)}" for tool in (one, other))
        return f"tools {both} are both {one.outward!r} to the model; rename one of the two"
    if one.source == other.source:
        return f"tool {one.name!r} is defined twice{_from(one)}; rename one of the two"
    return (
        f"tool {one.name!r} comes from {one.source!r} and from {other.source!r}; "
        "rename one of the two, or leave one source out"
    )


def _from(tool: ToolDefinition) -> str:
    return f" (source {tool.source!r})" if tool.source else ""
