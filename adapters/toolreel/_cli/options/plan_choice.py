"""Options that say what a run is asked and how: with a model, a prompt and tools they make its plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import click

from toolreel._cli.options.attachments import attach_option
from toolreel._cli.options.fallbacks import FallbackChoice, with_fallbacks
from toolreel._cli.options.option_bundle import bundle
from toolreel._cli.options.output_schema import output_schema_option
from toolreel._cli.options.presets import PresetChoice, preset_options
from toolreel._cli.options.settings import parse_settings, settings_option
from toolreel._cli.options.sources import Sources, allow_option, deny_option
from toolreel_core._conversation.content.part import Media
from toolreel_core._conversation.message import SystemMessage
from toolreel_core._conversation.message_input import user_message
from toolreel_core._plan.output.spec import OutputSpec
from toolreel_core._plan.plan import Plan


@dataclass(frozen=True, slots=True)
class PlanChoice:
    """The values of the options."""

    allow: tuple[str, ...]
    deny: tuple[str, ...]
    system: str | None
    attached: tuple[Media, ...]
    presets: PresetChoice
    output: OutputSpec | None
    settings: tuple[str, ...]

    def plan(
        self,
        model: str,
        prompt: str,
        available: Sources,
        fallbacks: Iterable[FallbackChoice],
        more: Mapping[str, str] | None = None,
    ) -> Plan:
        """The plan of a run with these tools.

        :param more: settings in addition to those of ``--set``
        :raises ConfigError: if the options contradict each other
        """
        chosen, text = parse_settings(self.settings), available.system_message(self.system)
        user = user_message([prompt, *self.attached])
        plan = self.presets.preset(model).plan(
            model=model,
            messages=[SystemMessage(text), user] if text else [user],
            tools=available.surface(self.allow, self.deny),
            options=chosen.options,
            settings={**chosen.config, **chosen.provider, **(more or {})},
            output=self.output,
        )
        return with_fallbacks(plan, fallbacks, self.presets.catalogues)


plan_options = bundle(
    "wanted",
    PlanChoice,
    allow_option,
    deny_option,
    click.option("--system", metavar="TEXT", help="System message."),
    attach_option,
    preset_options,
    output_schema_option,
    settings_option(
        "Set a loop setting (max_turns=5), a provider setting (id_style=openai), a request option "
        "(temperature=0) or any other key of the request body (body.cache_prompt=false). Repeatable.",
    ),
)
"""Adds the options to a command, which receives them as one argument ``wanted``."""
