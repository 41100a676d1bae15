"""``Vary``: one rule that says which place of a request may differ from the recorded one.

======================  ===================================================================================
``at``                  the value there is left out of the comparison, and may be missing
``at``, ``becomes``     the value there is replaced: it may be anything, but has to be there
``pattern``             each match, in any text of the body, is replaced by ``becomes``
``at``, ``pattern``     the same, in the texts at this place and below it
======================  ===================================================================================

Rules must leave something to compare. Whether they do is tried, not guessed from their form: rules under
which a request in other words becomes the same are an error, for sample requests when a rule is made, and
for the requests of a session at its end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from string import ascii_lowercase

from toolreel._internal import VaryError
from toolreel_core._jsontext import Json, canonical, read_json

_ANY = "*"
_POINTER = re.compile(r"(?:/(?:[^/~]|~[01])*)*")
"""A JSON pointer (RFC 6901, 3)."""
_FIELDS = ("at", "pattern", "becomes")
_LISTED = ", ".join(_FIELDS)


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
        pointer_steps(self.at or "")
        try:
            # Without a pattern, one that does not fit an empty text.
            fits_nothing = re.search(self.pattern or "never", "")
        except re.error as error:
            raise VaryError(f"pattern: {self.pattern!r} is not a regular expression: {error}") from None
        if fits_nothing:
            raise VaryError(
                f"pattern: {self.pattern!r} fits an empty text; write one that needs at least a character"
            )
        check_rules_distinguish_requests([self])

    def __repr__(self) -> str:
        return f"Vary({self.text})"

    @property
    def text(self) -> str:
        """The rule in one line, for reports."""
        return ", ".join(f"{name}={value!r}" for name, value in rule_as_mapping(self).items())


def vary_rule_of(entry: object, place: str = "") -> Vary:
    if not isinstance(entry, Mapping) or not entry.keys() <= {*_FIELDS}:
        raise VaryError(f"{place}: expected a table with {_LISTED}, found {entry!r}")
    try:
        return Vary(**entry)
    except VaryError as error:
        raise VaryError(f"{place}: {error}") from None


def rule_as_mapping(rule: Vary) -> dict[str, str]:
    return {name: value for name, value in asdict(rule).items() if value is not None}


def distinct_rules(*rules: Iterable[Vary]) -> tuple[Vary, ...]:
    return tuple(dict.fromkeys(rule for some in rules for rule in some))


def apply_rules_to_body(body: bytes, rules: Sequence[Vary]) -> tuple[bytes, tuple[Vary, ...]]:
    r"""A body after the rules, canonical if it is JSON, and the rules that fit it.

    >>> apply_rules_to_body(b'{"user": "u-17", "n": 1}', [Vary(at="/user")])[0]
    b'{"n":1}'
    >>> apply_rules_to_body(b'{"q": "id 17"}', [Vary(pattern=r"\d+")])
    (b'{"q":"id <varies>"}', (Vary(pattern='\\d+'),))
    """
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return body, ()
    tree = read_json(text).value_or(NOT_JSON)
    if tree is NOT_JSON:  # a form or plain text: one text, which has no places
        changed, used = apply_rules(text, [rule for rule in rules if rule.at is None])
        return str(changed).encode(), used
    changed, used = apply_rules(tree, rules)
    return canonical(changed).encode(), used


def request_counts_by_rule(rules: Sequence[Vary], bodies: Iterable[bytes]) -> dict[Vary, int]:
    fits = Counter(rule for body in bodies for rule in apply_rules_to_body(body, rules)[1])
    return {rule: fits[rule] for rule in rules}


def apply_rules(tree: Json, rules: Sequence[Vary]) -> tuple[Json, tuple[Vary, ...]]:
    used: list[Vary] = []
    for rule in rules:
        found = list[Json]()
        tree = _apply_rule(rule, tree, pointer_steps(rule.at or ""), found)
        used += [rule] if found else []
    return tree, tuple(used)


def _apply_rule(rule: Vary, value: Json, path: Sequence[str], found: list[Json]) -> Json:
    if not path and rule.pattern is None:
        found.append(value)
        return _LEFT_OUT if rule.becomes is None else rule.becomes
    if not path and isinstance(value, str):
        placeholder = "<varies>" if rule.becomes is None else rule.becomes
        changed, count = re.subn(rule.pattern or "", lambda _: placeholder, value)
        found += [value] * bool(count)
        return changed
    step, rest = (path[0], path[1:]) if path else (_ANY, ())  # a pattern fits texts at any depth
    if not isinstance(value, Mapping | list):
        return value
    inner = [
        (str(key), _apply_rule(rule, one, rest, found) if step in {_ANY, str(key)} else one)
        for key, one in (value.items() if isinstance(value, Mapping) else enumerate(value))
    ]
    if isinstance(value, Mapping):
        return {key: one for key, one in inner if one is not _LEFT_OUT}
    # An item that is left out keeps its place: the places behind it stay what they are.
    return [None if one is _LEFT_OUT else one for _, one in inner]


NOT_JSON: Json = "\0not JSON"
"""Stands for the value of a text that is not JSON; compared by identity, as is the next."""
_LEFT_OUT: Json = "\0left out"
"""Compared by identity."""


@lru_cache(maxsize=256)
def pointer_steps(pointer: str) -> tuple[str, ...]:
    if not _POINTER.fullmatch(pointer):
        raise VaryError(
            f"at: {pointer!r} is not a JSON Pointer: write '/' before each key and index, as in "
            "/messages/0/content, and '~' and '/' in a key as '~0' and '~1'"
        )
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


_TEXTS = frozenset({"messages", "input", "prompt", "content", "text"})
"""Keys under which requests have what is said."""
# Rotated small letters keep the shape of a text: words as long, capitals, and marks.
_ROTATED = str.maketrans(ascii_lowercase, ascii_lowercase[13:] + ascii_lowercase[:13])


def with_rotated_texts(value: Json) -> Json:
    if isinstance(value, str):
        rotated = value.translate(_ROTATED)
        return f"{value}?" if rotated == value else rotated
    if isinstance(value, list):
        return [with_rotated_texts(each) for each in value]
    if isinstance(value, Mapping):
        return {key: with_rotated_texts(each) if key in _TEXTS else each for key, each in value.items()}
    return value


def _sample_bodies() -> tuple[Json, ...]:
    texts = ("Be brief.", "How many pins are left?", "Let me see.", '{"part":"pin"}', "And nails?")
    chat: list[Json] = [{"role": "user", "content": text} for text in texts]
    in_parts: list[Json] = [{"role": "user", "content": [{"type": "text", "text": text}]} for text in texts]
    return (
        {"model": "m", "messages": chat},
        {"model": "m", "messages": in_parts},
        {"model": "m", "input": texts[1]},
        {"model": "m", "input": chat},
        {"model": "m", "prompt": texts[1]},
    )


SAMPLES = _sample_bodies()


def check_rules_distinguish_requests(rules: Sequence[Vary], bodies: Iterable[Json] = SAMPLES) -> None:
    for body in bodies:
        other = with_rotated_texts(body)
        if other != body and apply_rules(body, rules)[0] == apply_rules(other, rules)[0]:
            which = "; ".join(rule.text for rule in rules)
            raise VaryError(
                f"{which}: would make every request the same, so that nothing is compared; name the part "
                "that varies, as in pattern='Now: [0-9: -]+'"
            )
