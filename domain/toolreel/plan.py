"""The plan: everything that a run depends on, fixed before it begins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from toolreel.config import LoopConfig
from toolreel.digest import chain
from toolreel.errors import ConfigError
from toolreel.jsontext import MAX_DEPTH, Json, JsonText, canonical, nesting, parse
from toolreel.messages import Message, UserMessage, wire
from toolreel.request import RequestOptions
from toolreel.surface import ToolDefinition, ToolSurface

__all__ = ["Plan"]

_OWNED: Final = ("model", "messages", "tools", "stream")
_NO_OPTIONS: Final = canonical({})
_NO_TOOLS: Final = ToolSurface()
_DEFAULTS: Final = LoopConfig()


@dataclass(frozen=True, slots=True)
class Plan:
    """Nothing outside a plan may influence a request of its run.

    :raises ConfigError: if the parts do not make a run
    """

    model: str
    """The model's name, as the provider knows it."""
    messages: tuple[Message, ...]
    """The conversation so far; at least one message."""
    options: JsonText = _NO_OPTIONS
    """A JSON object with further keys of the request body, such as ``temperature``."""
    tools: ToolSurface = _NO_TOOLS
    config: LoopConfig = _DEFAULTS
    seed: int = 0
    """Whatever the run draws by chance is drawn from this."""
    digest: str = field(init=False, repr=False, compare=False)
    """SHA-256 over all of the above; names the run."""
    request_options: RequestOptions = field(init=False, repr=False, compare=False)
    """The part of every request's body that follows the messages."""

    def __post_init__(self) -> None:
        if not self.model:
            raise ConfigError("model: expected the name of a model, got an empty text")
        if not self.messages:
            raise ConfigError("messages: expected at least one message to begin with")
        if nesting(self.options, enough=MAX_DEPTH + 1) > MAX_DEPTH:
            raise ConfigError(f"options: nested deeper than {MAX_DEPTH} levels")
        options = parse(self.options)
        if not isinstance(options, Mapping):
            raise ConfigError(f"options: expected a JSON object, got {self.options}")
        for key in _OWNED:
            if key in options:
                raise ConfigError(f"options: {key!r} is set by the run itself; give it to the plan instead")
        tools = {"tools": parse(self.tools.text)} if self.tools.definitions else {}
        try:
            object.__setattr__(self, "request_options", RequestOptions(canonical({**tools, **options})))
            object.__setattr__(self, "digest", self._digest())
        except UnicodeEncodeError as error:
            half = error.object[error.start : error.end]
            raise ConfigError(f"a text holds the lone surrogate {half!r}, which cannot be sent") from None

    @classmethod
    def of(
        cls,
        *,
        model: str,
        messages: str | Iterable[Message],
        options: Mapping[str, Json] | None = None,
        tools: ToolSurface | Iterable[ToolDefinition] = (),
        config: LoopConfig | None = None,
        seed: int = 0,
    ) -> Plan:
        """A plan from everyday values.

        >>> Plan.of(model="m", messages="Say hello.", options={"temperature": 0}).messages
        (UserMessage(content='Say hello.'),)
        """
        return cls(
            model,
            (UserMessage(messages),) if isinstance(messages, str) else tuple(messages),
            canonical(options or {}),
            tools if isinstance(tools, ToolSurface) else ToolSurface(tuple(tools)),
            config or LoopConfig(),
            seed,
        )

    def _digest(self) -> str:
        settings = canonical(self.config.changes())
        texts = (wire(message) for message in self.messages)
        return chain("plan", self.model, self.options, self.tools.text, settings, str(self.seed), *texts)
