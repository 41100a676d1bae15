"""``Changes``: what a fork changes in the plan, and in one tool result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Final, cast

from toolreel._internal import ForkError
from toolreel_core._conversation import Message, SystemMessage, UserMessage
from toolreel_core._jsontext import Json, JsonText, Tree, json_text, merged, parse
from toolreel_core._plan import OutputSpec, Plan, Preset, exact_config
from toolreel_core._settings import Provider
from toolreel_core._tools import SchemaLike, ToolSurface

_NO_PRESET: Final = Preset()


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes to a recorded run, for ``fork``; what you do not give stays as recorded."""

    model: str | None = None
    prompt: str | None = None
    """Replaces the last user message of the plan."""
    system: str | None = None
    """Replaces the first system message of the plan; without one, it is put before all messages."""
    preset: Preset = _NO_PRESET
    """A preset that overrides recorded settings, for example ``shipped().merged(["qwen2_5_coder"])``."""
    config: Mapping[str, Json] = field(default_factory=dict)
    """Settings of :class:`~toolreel_core._settings.loop_config.LoopConfig`, which override the preset; a list
    of names adds to what was recorded, an empty one clears, and ``{"only": names}`` replaces."""
    provider: Mapping[str, Json] = field(default_factory=dict)
    """Settings of :class:`~toolreel_core._settings.provider_support.Provider`."""
    options: Mapping[str, Json] = field(default_factory=dict)
    """Options of the request, such as ``temperature``."""
    overrides: Mapping[str, Json] = field(default_factory=dict)
    """Keys of the request body that override all others, merged deeply with the recorded ones."""
    tools: ToolSurface | None = None
    output: SchemaLike | OutputSpec | None = None
    """What the final answer has to be, as for ``Plan.of``."""
    seed: int | None = None
    """Another seed gives later calls new idempotency keys, so that tools act again even if they remember the
    recorded run."""
    tool_result: str | None = None
    """Replaces the recorded output of a tool; the last kept event must be a tool result."""
    said: str | None = None
    """Replaces what the user said in a conversation; the last kept event must be a message of the user."""

    def plan(self, was: Plan) -> Plan:
        """The plan with these changes.

        >>> was = Plan.of(model="m", messages="hi", config=LoopConfig(max_turns=3))
        >>> now = Changes(model="other", options={"temperature": 0}).plan(was)
        >>> now.model, now.options, now.config.max_turns
        ('other', '{"temperature":0}', 3)

        :raises ToolreelError: if a setting is invalid, or there is no user message to replace
        """
        preset = self.preset.changes()["provider"]
        provider = Provider.of({**was.provider.changes(), **preset, **self.provider})
        tools = was.tools if self.tools is None else self.tools
        # Of the options of the preset, those that the provider supports
        traits = {setting.name: getattr(provider, setting.name) for setting in fields(provider)}
        own = self.preset.plan(model=was.model, messages=was.messages, tools=tools, settings=traits)
        options = {**merged(_tree(was.options), _tree(own.options)), **self.options}
        overrides = merged(_tree(was.overrides), self.preset.changes()["request_overrides"])
        return replace(
            was,
            model=was.model if self.model is None else self.model,
            # The recorded price is of the recorded model alone.
            price=self.preset.price or (was.price if self.model in {None, was.model} else None),
            messages=_messages(was.messages, self.prompt, self.system),
            options=_patched("options", was.options, options),
            tools=tools,
            config=Preset(config=exact_config(was.config)).merged(self.preset).config_with(self.config),
            seed=was.seed if self.seed is None else self.seed,
            provider=provider,
            output=was.output if self.output is None else OutputSpec.of(self.output),
            overrides=_patched("overrides", was.overrides, merged(overrides, self.overrides)),
            presets=tuple(dict.fromkeys((*was.presets, *self.preset.names))),
        )


NOTHING_CHANGED: Final = Changes()


def _messages(was: tuple[Message, ...], prompt: str | None, system: str | None) -> tuple[Message, ...]:
    messages = [*was]
    if prompt is not None:
        user = [at for at, message in enumerate(messages) if isinstance(message, UserMessage)]
        if not user:
            raise ForkError("prompt: the recorded plan has no user message to replace")
        messages[user[-1]] = UserMessage(prompt)
    if system is not None:
        found = [at for at, message in enumerate(messages) if isinstance(message, SystemMessage)]
        at, end = (found[0], found[0] + 1) if found else (0, 0)
        messages[at:end] = [SystemMessage(system)]
    return tuple(messages)


def _patched(part: str, was: JsonText, now: Mapping[str, Json]) -> JsonText:
    """The text of an object; unchanged if nothing differs, so that the plan keeps its digest."""
    return was if now == _tree(was) else json_text(now, part)


def _tree(text: JsonText) -> Tree:
    return cast("Tree", parse(text))
