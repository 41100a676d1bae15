"""The catalogue of scenarios, and their groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from toolreel_core._conversation.message import wire
from toolreel_core._errors import ConfigError
from toolreel_core._internal.names import unknown_name
from toolreel_core._jsontext.canonical import canonical
from toolreel_core._jsontext.digest import chain
from toolreel_core.evals._scenarios.packs.ambiguity import AMBIGUITY
from toolreel_core.evals._scenarios.packs.basics import BASICS
from toolreel_core.evals._scenarios.packs.chains import CHAINS
from toolreel_core.evals._scenarios.packs.choice import CHOICE
from toolreel_core.evals._scenarios.packs.injection import INJECTION
from toolreel_core.evals._scenarios.packs.locales import LOCALES
from toolreel_core.evals._scenarios.packs.restraint import RESTRAINT
from toolreel_core.evals._scenarios.packs.tool_failures import FAULTS
from toolreel_core.evals._scenarios.reference import CAPPED, REFERENCE
from toolreel_core.evals._scenarios.scenario import Scenario

SCENARIOS: Final[tuple[Scenario, ...]] = (
    *REFERENCE,
    *FAULTS,
    *BASICS,
    *RESTRAINT,
    *CHOICE,
    *CHAINS,
    *INJECTION,
    *AMBIGUITY,
    *LOCALES,
    *CAPPED,
)
"""All scenarios, the reference's eight first."""

_BY_NAME: Final = {one.name: one for one in SCENARIOS}
_ALL: Final = tuple(one.name for one in REFERENCE)


def _in_group(group: str) -> tuple[str, ...]:
    return tuple(one.name for one in SCENARIOS if group in one.groups)


GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    **{group: _in_group(group) for group in ("default", "smoke", "typical", "simple", "extreme")},
    **dict.fromkeys(("all", "full", "*"), _ALL),
    **{
        pack: tuple(one.name for one in SCENARIOS if one.pack == pack)
        for pack in dict.fromkeys(one.pack for one in SCENARIOS)
    },
    "packs": tuple(one.name for one in SCENARIOS if one.pack not in {"reference", "capped"}),
    "everything": tuple(_BY_NAME),
}
"""Words that stand for several scenarios, and their names in catalogue order.

``all`` is the reference's eight, so that numbers can be compared; ``packs`` is what goes beyond them, and
``everything`` is both and what has the reference's caps.
"""

_KNOWN: Final = (*GROUPS, *_BY_NAME)


def scenario(name: str) -> Scenario:
    """The scenario of that name.

    :raises ConfigError: if there is none; the text names the nearest
    """
    if name not in _BY_NAME:
        raise ConfigError(unknown_name("scenario", name, _BY_NAME))
    return _BY_NAME[name]


def select_scenarios(words: Iterable[str]) -> tuple[Scenario, ...]:
    """The scenarios that groups and names mean, in catalogue order; nothing means ``default``.

    A word with ``!`` before it takes away what it means.

    >>> [one.name for one in select_scenarios(["simple", "!chat_only"])]
    ['happy_path']

    :raises ConfigError: if a word means nothing, or nothing is left
    """
    given = [word.strip() for word in words if word.strip()]
    wanted = [word for word in given if not word.startswith("!")] or ["all" if given else "default"]
    unwanted = [word[1:].strip() for word in given if word.startswith("!")]
    names = _meant(wanted) - _meant(unwanted)
    if not names:
        raise ConfigError(
            f"scenarios: {', '.join(given)} leaves none; name at least one that is not excluded"
        )
    return tuple(one for one in SCENARIOS if one.name in names)


def _meant(words: Iterable[str]) -> frozenset[str]:
    names = set[str]()
    for word in words:
        low = word.lower()
        if low not in _KNOWN:
            raise ConfigError(f"scenarios: {unknown_name('scenario or group', word, _KNOWN)}")
        names |= {low} if low in _BY_NAME else set(GROUPS[low])
    return frozenset(names)


def fingerprint(one: Scenario) -> str:
    """SHA-256 over what a model may notice of a scenario, and what its checks are called."""
    setting = one.begin("")
    said = (wire(message) for message in setting.messages)
    checks = [f"{check.layer}:{check.name}" for check in one.checks]
    # The repr includes prepared answers and mishaps, which `contents` does not show at the beginning.
    head = canonical([one.name, one.version, one.changes.changes(), checks, repr(setting.world)])
    return chain("scenario", head, setting.tools.fingerprint, *said)


CATALOGUE: Final = chain("catalogue", *(fingerprint(one) for one in SCENARIOS))
"""SHA-256 over the words, tools, worlds and checks of all scenarios: the same, the same catalogue."""
