"""Select models, sampling profiles and strategies by name, tag or pattern.

A word with a star is a shell glob: ``*`` also matches ``/``, ``?`` is any character, ``[…]`` one of a set.
Without a star, ``?`` and ``[`` are ordinary characters, since model names contain them: the word is a whole
name (a model's with or without its route), a vendor or a tag, as in the filters of the case study; only if
it is none of these, it matches parts of names. ``!word`` excludes, any other word includes, and ``all``,
``full`` or ``*`` includes everything. Matching ignores case, and the result is in catalogue order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, TypeVar

from toolreel_core._errors import ConfigError
from toolreel_core._internal import unknown_name
from toolreel_core._plan import Model, Presets, SamplingProfile

EVERYTHING: Final = ("all", "full", "*")

_Item = TypeVar("_Item")


def comma_separated(text: str) -> tuple[str, ...]:
    """Split a comma-separated list into words.

    >>> comma_separated(" stable, !openai,, ")
    ('stable', '!openai')
    """
    return tuple(word for word in map(str.strip, text.split(",")) if word)


@dataclass(frozen=True, slots=True)
class Filter:
    """The words of a filter."""

    words: tuple[str, ...]
    """Without any word, everything is included."""

    @property
    def inclusions(self) -> tuple[str, ...]:
        """The including words, in lower case."""
        return tuple(word.lower() for word in self.words if not word.startswith("!"))

    @property
    def exclusions(self) -> tuple[str, ...]:
        """The excluded patterns, in lower case."""
        patterns = (word[1:].strip().lower() for word in self.words if word.startswith("!"))
        return tuple(pattern for pattern in patterns if pattern)

    def select(
        self, what: str, items: Sequence[_Item], candidates: Callable[[_Item], Iterable[str]]
    ) -> tuple[_Item, ...]:
        """The items that the filter selects, in their order.

        >>> Filter(("all", "!b")).select("letter", ["a", "b"], lambda item: [item])
        ('a',)

        :param candidates: by what an item can be named; the first is its name
        :raises ConfigError: if a word matches no item, or nothing is left
        """
        named = [(item, tuple(name.lower() for name in candidates(item))) for item in items]
        known = dict.fromkeys(name for _, names in named for name in names)
        includes = {word: _pattern(word, known) for word in self.inclusions or ("*",)}
        excludes = {word: _pattern(word, known) for word in self.exclusions}
        for word, pattern in (*includes.items(), *excludes.items()):
            if word not in EVERYTHING and not _fits(known, (pattern,)):
                raise ConfigError(unknown_name(what, word, known))
        left = tuple(
            item
            for item, names in named
            if _fits(names, includes.values()) and not _fits(names, excludes.values())
        )
        if not left:
            raise ConfigError(f"no {what} is left by {', '.join(self.words) or 'an empty catalogue'}")
        return left


def _pattern(word: str, known: Collection[str]) -> str:
    """The glob of a word: a whole name where there is one, so that ``default`` is not ``grok_default``."""
    if word in EVERYTHING or "*" in word:
        return "*" if word in EVERYTHING else word
    plain = re.sub(r"[?[]", r"[\g<0>]", word)
    return plain if word in known else f"*{plain}*"


def _fits(names: Iterable[str], patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


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

    def names(model: Model) -> Iterable[str]:
        """Name, name without its route, vendor, tags."""
        vendor, slash, _ = model.name.partition("/")
        return dict.fromkeys((model.name, model.name.partition(":")[0], *[vendor][: len(slash)], *model.tags))

    select = () if words is None else Filter(words).select("model", known, names)
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
    return not profile.applies_to or any(fnmatchcase(model, pattern) for pattern in profile.applies_to)
