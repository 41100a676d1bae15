"""``Secret``: a value that a program may hold and never shows."""

from __future__ import annotations

from typing import NoReturn, Self

from toolreel_core._errors import ConfigError


class Secret:
    """A text, such as a key, that is in no ``repr``, traceback or pickle; :meth:`reveal` gives it.

    >>> Secret("3f2a90bc71")
    Secret('…')
    """

    __slots__ = ("_value",)

    def __init__(self, value: str | Secret) -> None:
        self._value = value.reveal() if isinstance(value, Secret) else value

    def reveal(self) -> str:
        """The text itself, for the request that carries it."""
        return self._value

    def __repr__(self) -> str:
        return "Secret('…')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise ConfigError("a key is not pickled; name the variable that holds it, with api_key_env=")
