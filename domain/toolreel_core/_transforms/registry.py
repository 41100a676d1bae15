"""Transforms by kind and name: configuration contains only names, so it stays data.

A transform takes a tree and returns a tree; an equal one means that nothing changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias, cast, get_args

from toolreel_core._config_checks import Registry, unknown_name
from toolreel_core._errors import ConfigError, TransformError
from toolreel_core._jsontext import JsonText, Tree, canonical, parse

TransformKind: TypeAlias = Literal["message", "tool", "response", "tool_call", "tool_result"]
"""What a transform is applied to: a message in its wire form, an entry of ``tools``, the body of a response,
an entry of a reply's ``tool_calls``, or the envelope of a result."""

KINDS: Final[tuple[TransformKind, ...]] = get_args(TransformKind)

Change: TypeAlias = Callable[[Tree], Tree]
"""A pure function of any tree; it must not change its argument."""


class Transform(NamedTuple):
    """One transform."""

    name: str
    """Unique in its kind."""
    kind: TransformKind
    about: str
    """One sentence: what it does, and for which servers or models."""
    evidence: tuple[str, ...]
    """Public threads, as ``owner/name#number``, or pages that show the need for it."""
    apply: Change


class Applied(NamedTuple):
    """The result of applying transforms to a tree."""

    tree: Tree
    changed: tuple[str, ...] = ()
    """The names of the transforms that changed something, in order."""


_REGISTRY: Final = {kind: Registry[Transform](f"{kind} transform") for kind in KINDS}
"""The built-in transforms, and those that users register."""


def register_transform(
    kind: TransformKind, name: str, *, about: str, evidence: tuple[str, ...] = ()
) -> Callable[[Change], Change]:
    """Register a transform, as a decorator, before you make or load a plan that names it.

    ::

        @register_transform("message", "without_names", about="Leaves out names, which our server refuses.")
        def without_names(message: Tree) -> Tree:
            return {key: value for key, value in message.items() if key != "name"}

    :raises ConfigError: if the kind is unknown, the name is invalid or taken, or ``about`` is empty
    """
    found = _registry_of_kind(kind)
    if not about.strip():
        raise ConfigError(f"transform {name!r}: about is empty; say in a sentence what it does")

    def registered(change: Change) -> Change:
        found.add(name, Transform(name, kind, about, evidence, change))
        return change

    return registered


def _registry_of_kind(kind: TransformKind) -> Registry[Transform]:
    if kind not in KINDS:
        raise ConfigError(unknown_name("kind of transform", kind, KINDS))
    return _REGISTRY[kind]


def transform(kind: TransformKind, name: str) -> Transform:
    """The transform of that name.

    >>> transform("tool", "schema_inline_def")
    Traceback (most recent call last):
    ...
    toolreel_core.ConfigError: there is no tool transform 'schema_inline_def'; did you mean ...

    :raises ConfigError: if there is none, with the nearest name
    """
    return _registry_of_kind(kind)[name]


def transform_names(kind: TransformKind) -> tuple[str, ...]:
    """The names of all transforms of a kind, sorted."""
    return tuple(sorted(_registry_of_kind(kind)))


def apply_all(kind: TransformKind, chosen: Iterable[str], tree: Tree) -> Applied:
    """Apply transforms in order to a copy of a tree.

    >>> message = {"role": "assistant", "content": " ", "tool_calls": [{}]}
    >>> apply_all("message", ["assistant_tool_calls_content_null_if_blank"], message)
    Applied(tree={'role': 'assistant', 'content': None, 'tool_calls': [{}]}, \
changed=('assistant_tool_calls_content_null_if_blank',))

    :raises ConfigError: if there is no transform of a name
    :raises TransformError: if one raises, or returns anything but a JSON object
    """
    found = [transform(kind, name) for name in chosen]
    if not found:
        return Applied(tree)
    # As text, which shows whether any byte changed.
    before = canonical(tree)
    changed: list[str] = []
    for each in found:
        after = _text_after(each, before)
        if after != before:
            changed.append(each.name)
        before = after
    return Applied(cast("Tree", parse(before)), tuple(changed)) if changed else Applied(tree)


def _text_after(each: Transform, before: JsonText) -> JsonText:
    where = f"the {each.kind} transform {each.name!r}"
    try:
        # A copy, since a user's function may change its argument.
        after = each.apply(cast("Tree", parse(before)))
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise TransformError(f"{where} failed with {why}; it has to take any tree") from error
    if not isinstance(after, Mapping):
        raise TransformError(f"{where} returned {after!r}; a transform returns a tree")
    try:
        return canonical(after)
    except (TypeError, ValueError, RecursionError) as error:
        raise TransformError(f"{where} returned a tree that is not JSON: {error}") from error
