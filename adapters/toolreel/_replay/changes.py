"""What a fork changes: parts of the plan by name, and one tool's result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Final, cast

from toolreel._errors import ForkError
from toolreel_core._conversation.message import Message, SystemMessage, UserMessage
from toolreel_core._jsontext.canonical import Json, JsonText, Tree, canonical, parse
from toolreel_core._jsontext.of_python import json_text
from toolreel_core._plan.plan import Plan
from toolreel_core._plan.presets.preset import Preset
from toolreel_core._settings.config import LoopConfig
from toolreel_core._settings.overrides import merged
from toolreel_core._settings.provider import Provider
from toolreel_core._tools.surface import ToolSurface

__all__ = ["NOTHING_CHANGED", "Changes"]

_NO_PRESET: Final = Preset()


@dataclass(frozen=True, slots=True)
class Changes:
    """One or more changes to a recorded run; what is not given stays as it was recorded."""

    model: str | None = None
    prompt: str | None = None
    """Stands for the last user message of the plan."""
    system: str | None = None
    """Stands for the first system message of the plan, or before all messages where there is none."""
    preset: Preset = _NO_PRESET
    """Goes over all that was recorded, for example ``shipped().merged(["qwen2_5_coder"])``."""
    config: Mapping[str, Json] = field(default_factory=dict)
    """Settings of :class:`~toolreel_core._settings.config.LoopConfig`, over the preset."""
    provider: Mapping[str, Json] = field(default_factory=dict)
    """Settings of :class:`~toolreel_core._settings.provider.Provider`."""
    options: Mapping[str, Json] = field(default_factory=dict)
    """Options of the request, such as ``temperature``."""
    overrides: Mapping[str, Json] = field(default_factory=dict)
    """Keys that go over the body of the request, merged deeply into the recorded ones."""
    tools: ToolSurface | None = None
    seed: int | None = None
    """Another seed gives later calls other idempotency keys, so that tools which know the recorded run act
    once more."""
    tool_result: str | None = None
    """In the place of the recorded output, where the last event that is kept is the result of a tool."""

    def plan(self, was: Plan) -> Plan:
        """The plan with these changes.

        >>> was = Plan.of(model="m", messages="hi", config=LoopConfig(max_turns=3))
        >>> now = Changes(model="other", options={"temperature": 0}).plan(was)
        >>> now.model, now.options, now.config.max_turns
        ('other', '{"temperature":0}', 3)

        :raises ToolreelError: if the parts do not make a plan, or a message is not there to be changed
        """
        provider = self._provider(was.provider)
        options = {**merged(_tree(was.options), self._preset_options(was, provider)), **self.options}
        overrides = merged(_tree(was.overrides), self.preset.changes()["request_overrides"])
        return replace(
            was,
            model=was.model if self.model is None else self.model,
            messages=_messages(was.messages, self.prompt, self.system),
            options=_patched("options", was.options, options),
            tools=was.tools if self.tools is None else self.tools,
            config=self._config(was.config),
            seed=was.seed if self.seed is None else self.seed,
            provider=provider,
            overrides=_patched("overrides", was.overrides, merged(overrides, self.overrides)),
            presets=tuple(dict.fromkeys((*was.presets, *self.preset.names))),
        )

    def _config(self, was: LoopConfig) -> LoopConfig:
        over = Preset(config=canonical(was.changes())).merged(self.preset)
        return LoopConfig.of({**over.changes()["config"], **self.config})

    def _provider(self, was: Provider) -> Provider:
        return Provider.of({**was.changes(), **self.preset.changes()["provider"], **self.provider})

    def _preset_options(self, was: Plan, provider: Provider) -> Tree:
        """What the preset asks for, as far as the provider takes it."""
        traits = {setting.name: getattr(provider, setting.name) for setting in fields(provider)}
        tools = was.tools if self.tools is None else self.tools
        plan = self.preset.plan(model=was.model, messages=was.messages, tools=tools, settings=traits)
        return _tree(plan.options)


NOTHING_CHANGED: Final = Changes()


def _messages(was: tuple[Message, ...], prompt: str | None, system: str | None) -> tuple[Message, ...]:
    messages = [*was]
    if prompt is not None:
        asked = [at for at, message in enumerate(messages) if isinstance(message, UserMessage)]
        if not asked:
            raise ForkError("prompt: the recorded plan has no user message that it could stand for")
        messages[asked[-1]] = UserMessage(prompt)
    if system is not None:
        told = [at for at, message in enumerate(messages) if isinstance(message, SystemMessage)]
        at, end = (told[0], told[0] + 1) if told else (0, 0)
        messages[at:end] = [SystemMessage(system)]
    return tuple(messages)


def _patched(part: str, was: JsonText, now: Mapping[str, Json]) -> JsonText:
    """The text of an object, which stays as it is where nothing has changed."""
    return was if now == _tree(was) else json_text(now, part)


def _tree(text: JsonText) -> Tree:
    return cast("Tree", parse(text))
