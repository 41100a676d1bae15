"""Models that are scripts: a dry run of an evaluation without a network, and proof of every oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, get_args

from toolreel_core._errors import ConfigError
from toolreel_core._internal.names import unknown_name
from toolreel_core._jsontext.canonical import Tree
from toolreel_core.evals._scenarios.catalogue import scenario
from toolreel_core.evals._scenarios.scripts import Kind, scripted_reply

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


def reply_of(kind: Kind, name: str, messages: Sequence[Tree]) -> Tree:
    """The body of the next reply of a scripted model.

    :param name: of the scenario
    :param messages: the conversation so far, as a request tells it
    :raises ConfigError: if there is no such scenario, or nobody has written a script for it
    """
    scripts = scenario(name).scripts
    if scripts is None:
        raise ConfigError(f"scenario {name!r} has no scripts; run it with a model")
    return scripted_reply(scripts.of(kind), messages, model=f"{PREFIX}{kind}")
