"""The definition of a tool: its description for the model, and how to run it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypedDict, Unpack

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, JsonText, canonical, chain, parse, sound
from toolreel_core._schema import check_schema
from toolreel_core._tools.names import check_name, outward_name
from toolreel_core._tools.parameter_schemas import SchemaLike, schema_text, schema_tree, sendable

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
    left_out: tuple[str, ...] = field(default=(), compare=False)
    """Parts of its schema that cannot be used, and why; not part of its identity."""

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
        flags: Json = [self.read_only, self.polling, self.needs_approval, self.exposed, self.idempotent]
        limits: Json = [self.deadline_ms, self.max_args_bytes, self.max_output_bytes]
        told = (self.name, self.description, self.parameters)
        return chain("tool", *told, canonical(flags), canonical(limits))
