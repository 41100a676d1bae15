"""Select models, sampling profiles and strategies by name, tag or pattern; ignores case, in catalogue order.

``?`` and ``[`` are glob characters only in a word with a star, since model names contain them. A word without
a star is a whole name, a vendor or a tag, as in the filters of the case study; others match parts of names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TypeVar

from toolreel_core._config_checks import unknown_name_message
from toolreel_core._errors import ConfigError
from toolreel_core._plan import Model, Presets, SamplingProfile

_Item = TypeVar("_Item")


def split_comma_separated(text: str) -> tuple[str, ...]:
    """Split a comma-separated list into words."""
    return tuple(word for word in map(str.strip, text.split(",")) if word)


def select_by_filter(
    words: Iterable[str], what: str, items: Sequence[_Item], candidates: Callable[[_Item], Iterable[str]]
) -> tuple[_Item, ...]:
    """The items that the words of a filter leave, in their order; without any word, all of them.

    :param what: what errors call an item
    :param candidates: by what an item can be named; the first is its name
    """
    named = [(item, [*map(str.lower, candidates(item))]) for item in items]
    known = dict.fromkeys(name for _, names in named for name in names)
    included, excluded = set[str](), set[str]()
    for word in map(str.lower, words):
        bare = word.removeprefix("!").strip()
        side = included if bare == word else excluded
        side |= _matching_names(bare, what, known) if bare else set()
    included = included or {*known}
    left = tuple(item for item, names in named if included & {*names} and not excluded & {*names})
    if not left:
        raise ConfigError(f"no {what} is left by {', '.join(words) or 'an empty catalogue'}")
    return left


def _matching_names(word: str, what: str, known: Collection[str]) -> set[str]:
    """The names that a word means; a whole name is just that, so that ``default`` is not ``grok_default``."""
    if word in known:
        return {word}
    if word in ("all", "full", "*"):
        return {*known}
    # In brackets, `?` and `[` are literal to fnmatch.
    plain = re.sub(r"[?[]", r"[\g<0>]", word)
    pattern = word if "*" in word else f"*{plain}*"
    found = {name for name in known if fnmatchcase(name, pattern)}
    if not found:
        raise ConfigError(unknown_name_message(what, word, known))
    return found


AUTO = "auto"
"""Stands for the first profile recommended for a model, or the default profile."""
DEFAULT_PROFILE = "default"


def select_models(
    presets: Presets, words: tuple[str, ...] | None, further: tuple[str, ...]
) -> tuple[str, ...]:
    """The models that a filter selects, then the further ones.

    :param words: ``None`` if no filter was given, so take only the further models, or else the stable ones
    """
    known = [model for model in presets.models if not model.family]
    words = ("stable",) if words is None and not further else words

    def names(model: Model) -> Iterable[str]:
        """Name, name without its route, vendor, tags."""
        vendor, slash, _ = model.name.partition("/")
        return (model.name, model.name.partition(":")[0], *([vendor] if slash else []), *model.tags)

    chosen = () if words is None else select_by_filter(words, "model", known, names)
    return tuple(dict.fromkeys((*(model.name for model in chosen), *further)))


def profiles_by_model(
    presets: Presets, words: tuple[str, ...], models: Iterable[str], *, enforce: bool = True
) -> dict[str, tuple[SamplingProfile, ...]]:
    """The profiles that each model is run with; ``auto`` is the first that is recommended for it.

    :param words: of a filter; ``auto`` is the first profile of the catalogue that is recommended for a model
    :param enforce: leave out profiles that are not for the model; if none is left, take the default profile
    """
    named = tuple(word for word in words if word.lower() != AUTO)
    auto = len(named) < len(words)
    every: tuple[SamplingProfile, ...] = presets.profiles
    chosen = (
        select_by_filter(named, "sampling profile", every, lambda one: (one.name, *one.tags))
        if named or not auto
        else ()
    )
    found = {}
    for model in models:
        fitting = [profile for profile in every if profile.fits(model)]
        names = {profile.name for profile in chosen if profile in fitting or not enforce}
        if auto:
            names.add(next((one.name for one in fitting if "recommended" in one.tags), DEFAULT_PROFILE))
        found[model] = tuple(one for one in every if one.name in (names or {DEFAULT_PROFILE}))
    return found
