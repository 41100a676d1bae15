"""Pairs: which models are evaluated, and with which sampling profiles."""

from __future__ import annotations

from collections.abc import Iterable

from toolreel_core._errors import ConfigError
from toolreel_core._plan.presets.collection import Model, Presets, SamplingProfile
from toolreel_core.evals._plan.filters import Filter, glob_matches

AUTO = "auto"
"""Stands for the first profile recommended for a model, or the default profile."""
DEFAULT = "default"


def select_models(
    presets: Presets, words: tuple[str, ...] | None, further: tuple[str, ...]
) -> tuple[str, ...]:
    """The names of the models that a filter leaves, in catalogue order, and then the further ones.

    :param words: ``None`` where nobody gave a filter: the further ones are all then, or else the stable ones
    :raises ConfigError: if a word means no model, or nothing is left
    """
    known = [model for model in presets.models if not model.family]
    words = ("stable",) if words is None and not further else words
    select = () if words is None else Filter(words).select("model", known, _of_model)
    return tuple(dict.fromkeys((*(model.name for model in select), *further)))


def select_profiles(presets: Presets, words: tuple[str, ...]) -> tuple[SamplingProfile, ...]:
    """The profiles that a filter leaves; ``auto`` is none of them.

    :raises ConfigError: if a word means no profile, or nothing is left
    """
    named = tuple(word for word in words if word.lower() != AUTO)
    if AUTO in Filter(words).inclusions and not Filter(named).inclusions:
        if named:
            raise ConfigError(f"{', '.join(named)} takes nothing from {AUTO}; leave it out")
        return ()
    return Filter(named).select("sampling profile", presets.profiles, lambda each: (each.name, *each.tags))


def profiles_for(
    presets: Presets,
    model: str,
    select: tuple[SamplingProfile, ...],
    *,
    auto: bool = False,
    enforce: bool = True,
) -> tuple[SamplingProfile, ...]:
    """The profiles that a model is run with, in catalogue order.

    :param select: those that the filter leaves
    :param auto: whether what ``auto`` chooses is among them
    :param enforce: whether those are left out that are not for the model; if nothing is left then, the
        default is taken
    """
    fit = [profile for profile in select if not enforce or applies(profile, model)]
    wanted = [*fit, *([auto_profile(presets, model)] if auto else [])]
    names = {profile.name for profile in wanted} or {DEFAULT}
    return tuple(profile for profile in presets.profiles if profile.name in names)


def auto_profile(presets: Presets, model: str) -> SamplingProfile:
    """The profile that ``auto`` selects for a model: the first one in the catalogue recommended for it."""
    for profile in presets.profiles:
        if "recommended" in profile.tags and applies(profile, model):
            return profile
    return presets.profile(DEFAULT)


def applies(profile: SamplingProfile, model: str) -> bool:
    """Whether a profile applies to a model; patterns match its full name, route included.

    >>> from toolreel_core._jsontext.canonical import NOTHING
    >>> glm = SamplingProfile("glm", NOTHING, ("z-ai/glm-4.7:nitro",))
    >>> applies(glm, "z-ai/glm-4.7:nitro"), applies(glm, "z-ai/glm-4.7")
    (True, False)
    """
    return not profile.applies_to or any(glob_matches(pattern, model) for pattern in profile.applies_to)


def _of_model(model: Model) -> Iterable[str]:
    """Name, name without its route, vendor, tags."""
    vendor, slash, _ = model.name.partition("/")
    return dict.fromkeys(
        (model.name, model.name.partition(":")[0], *([vendor] if slash else []), *model.tags)
    )
