"""``Vary``: one rule that says which place of a request may differ from the recorded one.

======================  ===================================================================================
``at``                  the value there is left out of the comparison, and may be missing
``at``, ``becomes``     the value there is replaced: it may be anything, but has to be there
``pattern``             each match, in any text of the body, is replaced by ``becomes``
``at``, ``pattern``     the same, in the texts at this place and below it
======================  ===================================================================================

A rule must leave something to compare. Whether it does is tried, not guessed from its form: a rule under
which two requests that ask for different things become the same is an error (``PAIRS``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from toolreel._internal import VaryError
from toolreel_core._jsontext import Json, canonical, read

PLACEHOLDER: Final = "<varies>"
"""What a match of a pattern becomes, unless the rule says otherwise."""

_ANY: Final = "*"
_POINTER: Final = re.compile(r"(?:/(?:[^/~]|~[01])*)*")
"""A JSON pointer (RFC 6901, 3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vary:
    r"""A place in requests that may differ between a recording and its replay.

    Before a recorded and a new request are compared, both are put through the rules; what is recorded and
    what is sent stay as they are.

    >>> Vary(at="/metadata/trace_id")
    Vary(at='/metadata/trace_id')
    >>> Vary(pattern="Now: [0-9:]+", becomes="Now: <time>").text
    "pattern='Now: [0-9:]+', becomes='Now: <time>'"

    :raises VaryError: if the rule cannot be used, or would make different requests equal; says which part
    """

    at: str | None = None
    """A JSON Pointer (RFC 6901) into the body, such as ``/messages/0/content``; ``*`` is any key or index."""
    pattern: str | None = None
    """A regular expression of :mod:`re`, searched in texts; it fits no empty text."""
    becomes: str | None = None
    """The placeholder, taken literally; without one, see the table of this module."""

    def __post_init__(self) -> None:
        for name in _FIELDS:
            if not isinstance(value := getattr(self, name), str | None):
                raise VaryError(f"{name}: expected a text, found {type(value).__name__}")
        if self.at is None and self.pattern is None:
            raise VaryError("a rule needs at (a JSON Pointer), pattern (a regular expression), or both")
        if self.at is not None:
            pointer_steps(self.at)
        if self.pattern is not None:
            _check_pattern(self.pattern)
        check_requests_differ([self])

    def __repr__(self) -> str:
        return f"Vary({self.text})"

    @property
    def text(self) -> str:
        """The rule in one line, for reports."""
        return ", ".join(f"{name}={value!r}" for name, value in rule_as_mapping(self).items())

    @property
    def placeholder(self) -> str:
        """What a place becomes."""
        return PLACEHOLDER if self.becomes is None else self.becomes


_FIELDS: Final = ("at", "pattern", "becomes")


def rule_of(entry: object, place: str = "") -> Vary:
    """The rule in a table of TOML or a mapping of YAML.

    :param place: of the entry, for messages
    :raises VaryError: if it is none
    """
    if not isinstance(entry, Mapping):
        raise VaryError(f"{place}: expected a table with {_LISTED}, found {type(entry).__name__}")
    for key in entry:
        if key not in _FIELDS:
            raise VaryError(f"{place}: {key!r} is no part of a rule; there are {_LISTED}")
    try:
        return Vary(**entry)
    except VaryError as error:
        raise VaryError(f"{place}: {error}") from None


_LISTED: Final = ", ".join(_FIELDS)


def rule_as_mapping(rule: Vary) -> dict[str, str]:
    """The rule as a mapping, for a file."""
    given = ((name, getattr(rule, name)) for name in _FIELDS)
    return {name: value for name, value in given if value is not None}


def distinct_rules(*rules: Iterable[Vary]) -> tuple[Vary, ...]:
    """All rules in order, each once."""
    return tuple(dict.fromkeys(rule for some in rules for rule in some))


class Compared(NamedTuple):
    """A body as it is compared."""

    body: bytes
    """Canonical text if it is JSON."""
    used: tuple[Vary, ...]
    """The rules that fit it."""


def apply_rules_to_body(body: bytes, rules: Sequence[Vary]) -> Compared:
    r"""A body after the rules.

    >>> apply_rules_to_body(b'{"user": "u-17", "n": 1}', [Vary(at="/user")]).body
    b'{"n":1}'
    >>> apply_rules_to_body(b'{"q": "id 17"}', [Vary(pattern=r"\d+")])
    Compared(body=b'{"q":"id <varies>"}', used=(Vary(pattern='\\d+'),))
    """
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return Compared(body, ())
    tree = read(text).value_or(_NO_JSON)
    if tree is _NO_JSON:  # a form or plain text: one text, which has no places
        changed, used = apply_rules(text, [rule for rule in rules if rule.at is None])
        return Compared(str(changed).encode(), used)
    changed, used = apply_rules(tree, rules)
    return Compared(canonical(changed).encode(), used)


def apply_rules(tree: Json, rules: Sequence[Vary]) -> tuple[Json, tuple[Vary, ...]]:
    """A JSON value after the rules, and the rules that fit it."""
    used: list[Vary] = []
    for rule in rules:
        found = list[Json]()
        tree = _apply_rule(rule, tree, pointer_steps(rule.at or ""), found)
        used += [rule] if found else []
    return tree, tuple(used)


def _apply_rule(rule: Vary, value: Json, path: Sequence[str], found: list[Json]) -> Json:
    """The value with what is at a path replaced; what the rule fits is added to a list."""
    if not path and rule.pattern is None:
        found.append(value)
        return _LEFT_OUT if rule.becomes is None else rule.becomes
    if not path and isinstance(value, str):
        changed, count = re.subn(rule.pattern or "", lambda _: rule.placeholder, value)
        found += [value] * bool(count)
        return changed
    step, rest = (path[0], path[1:]) if path else (_ANY, ())  # a pattern fits texts at any depth
    if isinstance(value, Mapping):
        inner = {
            key: _apply_rule(rule, one, rest, found) if step in {_ANY, key} else one
            for key, one in value.items()
        }
        return {key: one for key, one in inner.items() if one is not _LEFT_OUT}
    if isinstance(value, list):
        items = [
            _apply_rule(rule, one, rest, found) if step in {_ANY, str(at)} else one
            for at, one in enumerate(value)
        ]
        # An item that is left out keeps its place: the places behind it stay what they are.
        return [None if one is _LEFT_OUT else one for one in items]
    return value


_NO_JSON: Final[Json] = "\0not JSON"
_LEFT_OUT: Final[Json] = "\0left out"
"""Compared by identity."""


@lru_cache(maxsize=256)
def pointer_steps(pointer: str) -> tuple[str, ...]:
    """The keys and indices of a JSON Pointer.

    >>> pointer_steps("/messages/*/a~1b")
    ('messages', '*', 'a/b')

    :raises VaryError: if it is none
    """
    if not _POINTER.fullmatch(pointer):
        raise VaryError(
            f"at: {pointer!r} is no JSON Pointer: write '/' before each key and index, as in "
            "/messages/0/content, and '~' and '/' in a key as '~0' and '~1'"
        )
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def _check_pattern(pattern: str) -> None:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise VaryError(f"pattern: {pattern!r} is no regular expression: {error}") from None
    if compiled.search(""):
        raise VaryError(f"pattern: {pattern!r} fits an empty text; write one that needs at least a character")


def check_requests_differ(rules: Sequence[Vary]) -> None:
    """Check that different requests stay different under some rules.

    :raises VaryError: names the rules
    """
    for one, other in PAIRS:
        if apply_rules(one, rules)[0] == apply_rules(other, rules)[0]:
            which = "; ".join(rule.text for rule in rules)
            raise VaryError(
                f"{which}: would make every request the same, so that nothing is compared; name the part "
                "that varies, as in pattern='Now: [0-9: -]+'"
            )


def _sample_bodies(*texts: str) -> tuple[Json, ...]:
    """Bodies with these texts: chat completions, Responses, completions and embeddings."""
    chat: list[Json] = [{"role": "user", "content": text} for text in texts]
    in_parts: list[Json] = [{"role": "user", "content": [{"type": "text", "text": text}]} for text in texts]
    forms: tuple[tuple[str, Json], ...] = (
        ("messages", chat),
        ("messages", in_parts),
        ("input", texts[1]),
        ("input", chat),
        ("prompt", texts[1]),
    )
    return tuple({"model": "m", key: content} for key, content in forms)


# Two conversations that have nothing in common but the shape: words as long, capitals, and marks.
PAIRS: Final = tuple(
    zip(
        _sample_bodies("Be brief.", "How many pins are left?", "Let me see.", '{"part":"pin"}', "And nails?"),
        _sample_bodies("Be quick.", "Has your barn any door?", "Let us try.", '{"name":"bob"}', "All ropes?"),
        strict=True,
    )
)
"""Pairs of requests that ask for different things."""


class RulesInUse:
    """Rules that apply together.

    :param own: those of the session and its recording, which have to fit a request of it
    :param shared: those that other recordings use too
    :raises VaryError: if they would make every request the same together
    """

    def __init__(self, own: Sequence[Vary] = (), shared: Sequence[Vary] = ()) -> None:
        self.all: Final = distinct_rules(own, shared)
        self._own: Final = frozenset(own)
        self._fits: Final = Counter[Vary]()
        check_requests_differ(self.all)

    def compared_body(self, body: bytes) -> Compared:
        """A body in the form in which it is compared."""
        return apply_rules_to_body(body, self.all)

    def count(self, compared: Compared) -> None:
        """Count a request of the session."""
        self._fits.update(compared.used)

    @property
    def fits(self) -> Mapping[Vary, int]:
        """For each rule, the number of requests of the session that it fits."""
        return {rule: self._fits[rule] for rule in self.all}

    def fits_in(self, bodies: Iterable[bytes]) -> Mapping[Vary, int]:
        """For each rule, the number of these bodies that it fits."""
        found = Counter(rule for body in bodies for rule in self.compared_body(body).used)
        return {rule: found[rule] for rule in self.all}

    def check(self, place: object) -> None:
        """Check that the session's own rules were used.

        :param place: the recording, for messages
        :raises VaryError: names the rule
        """
        for rule, count in self.fits.items():
            if not count and rule in self._own:
                raise VaryError(
                    f"{place}: the rule ({rule.text}) fits no request of this session: correct or remove it"
                )
