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
from toolreel.surface_limits import check_surface

__all__ = ["Plan"]

_OWNED: Final = ("model", "messages", "tools", "stream")
_OF_TOOLS: Final = ("tool_choice", "parallel_tool_calls")
"""Options that providers refuse in a request without tools."""
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
    """The part of a request's body that follows the messages."""
    options_without_tools: RequestOptions = field(init=False, repr=False, compare=False)
    """The same for a request that lets the model call no tools."""
    output_cap: int | None = field(init=False, repr=False, compare=False)
    """Tokens after which the request has a reply cut, where it says so with a number above 0."""
    calls_per_turn: int | None = field(init=False, repr=False, compare=False)
    """Calls of one reply that are heard."""

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
        tools = {"tools": parse(self.tools.text)} if self.tools.names else {}
        bare = {key: value for key, value in options.items() if key not in _OF_TOOLS}
        try:
            check_surface(self.tools, self.config)
            object.__setattr__(self, "request_options", RequestOptions(canonical({**tools, **options})))
            object.__setattr__(self, "options_without_tools", RequestOptions(canonical(bare)))
            object.__setattr__(self, "digest", self._digest())
        except UnicodeEncodeError as error:
            half = error.object[error.start : error.end]
            raise ConfigError(f"a text holds the lone surrogate {half!r}, which cannot be sent") from None
        object.__setattr__(self, "output_cap", _cap(options))
        object.__setattr__(self, "calls_per_turn", self._calls_per_turn(options))

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

    def _calls_per_turn(self, options: Mapping[str, Json]) -> int | None:
        """One, if the request says so; some models make several calls all the same."""
        limit = self.config.max_tool_calls_per_turn
        return 1 if limit is None and options.get("parallel_tool_calls") is False else limit

    def _digest(self) -> str:
        settings = canonical(self.config.changes())
        texts = (wire(message) for message in self.messages)
        tools = self.tools.text if self.tools.told_whole else self.tools.fingerprint
        return chain("plan", self.model, self.options, tools, settings, str(self.seed), *texts)


def _cap(options: Mapping[str, Json]) -> int | None:
    for key in ("max_completion_tokens", "max_tokens"):
        cap = options.get(key)
        # llama.cpp and LM Studio read -1 as: no limit.
        if isinstance(cap, int) and not isinstance(cap, bool) and cap > 0:
            return cap
    return None
