"""The catalogue of scenarios, their groups, and the scripted models that run them without a network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, get_args

from toolreel_core._conversation import wire
from toolreel_core._errors import ConfigError
from toolreel_core._internal import unknown_name
from toolreel_core._jsontext import Tree, canonical, chain
from toolreel_core.evals._scenarios.builtin.crowded import CROWDED
from toolreel_core.evals._scenarios.builtin.dialogues import ASKING, DIALOGUES
from toolreel_core.evals._scenarios.builtin.exact_arguments import EXACT
from toolreel_core.evals._scenarios.builtin.faults import FAULTS
from toolreel_core.evals._scenarios.builtin.long_histories import LONG
from toolreel_core.evals._scenarios.builtin.lookups import CHAINS, INJECTION, RESTRAINT
from toolreel_core.evals._scenarios.builtin.mcp_tools import MCP
from toolreel_core.evals._scenarios.builtin.plain_orders import AMBIGUITY, BASICS, CHOICE, LOCALES
from toolreel_core.evals._scenarios.builtin.reference import CAPPED, REFERENCE
from toolreel_core.evals._scenarios.builtin.unreliable_tools import UNRELIABLE
from toolreel_core.evals._scenarios.builtin.wire_forms import SIGNED, STREAMED
from toolreel_core.evals._scenarios.case_study import CASE_STUDY
from toolreel_core.evals._scenarios.scenario import Scenario
from toolreel_core.evals._scenarios.scripted_model import Kind, ScenarioScripts, scripted_reply

_PRODUCTION: Final = (
    *(*DIALOGUES, *ASKING, *LONG, *UNRELIABLE, *EXACT, *CROWDED),
    *(*SIGNED, *STREAMED, *MCP),
)
"""What breaks in production."""

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
    *_PRODUCTION,
    *CAPPED,
)
"""All scenarios, those of the reference's eight kinds first."""

WITH_CASE_STUDY: Final = (*SCENARIOS, *CASE_STUDY)
"""All, and those of the case study as it ran them, which are versioned apart."""

_BY_NAME: Final = {one.name: one for one in WITH_CASE_STUDY}
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
    "production": tuple(one.name for one in _PRODUCTION),
    "packs": tuple(one.name for one in SCENARIOS if one.pack not in {"reference", "capped"}),
    "everything": tuple(one.name for one in SCENARIOS),
    "case-study": tuple(one.name for one in CASE_STUDY),
}
"""Words that stand for several scenarios, and their names in catalogue order.

``all`` is the reference's eight kinds; ``packs`` is what goes beyond them, ``production`` the part of it that
is about what breaks in production, and ``everything`` is all and what has the reference's caps.
``case-study`` is the reference's default group as the study ran it, for ``eval report --case-study``.
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
    return tuple(one for one in WITH_CASE_STUDY if one.name in names)


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
    case = one.begin("")
    said = (*(wire(message) for message in case.messages), *case.follow_ups)
    checks = [f"{check.layer}:{check.name}" for check in case.checks]
    # The repr includes prepared answers and mishaps, which `contents` does not show at the beginning.
    head = canonical([one.name, one.version, one.changes.changes(), checks, repr(case.world)])
    return chain("scenario", head, case.tools.fingerprint, *said)


KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
"""The kinds that there are."""

PREFIX: Final = "scripted:"
"""How the names of such models begin."""


def kind_of(model: str) -> Kind | None:
    """The kind of script that a model's name asks for; ``None`` for a model that is none.

    >>> kind_of("scripted:good"), kind_of("openai/gpt-5.2")
    ('good', None)

    :raises ConfigError: if there is no such kind
    """
    if not model.startswith(PREFIX):
        return None
    word = model.removeprefix(PREFIX)
    for kind in KINDS:
        if kind == word:
            return kind
    raise ConfigError(f"model {model!r}: {unknown_name('scripted model', word, KINDS)}")


def scripts_of(one: Scenario, seed: str) -> ScenarioScripts:
    """The scripts of one trial.

    :raises ConfigError: if nobody has written a script for the scenario
    """
    scripts = one.begin(seed).scripts
    if scripts is None:
        raise ConfigError(f"scenario {one.name!r} has no scripts; run it with a model")
    return scripts


def reply_of(kind: Kind, scripts: ScenarioScripts, messages: Sequence[Tree]) -> Tree:
    """The body of the next reply of a scripted model.

    :param messages: the conversation so far, as a request tells it
    """
    return scripted_reply(scripts.of(kind), messages, model=f"{PREFIX}{kind}")
