"""The rules of one session, and how many of its requests each fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import Final

from toolreel._internal.errors import VaryError
from toolreel.cassette._varying.rule import Compared, Vary, check_rest, distinct, put_through


class RulesInUse:
    """Rules that apply together. Thread-safe.

    :param own: those of the session and its recording, which have to fit a request of it
    :param shared: those that other recordings use too
    :raises VaryError: if they would make every request the same together
    """

    def __init__(self, own: Sequence[Vary] = (), shared: Sequence[Vary] = ()) -> None:
        self.all: Final = distinct(own, shared)
        self._own: Final = frozenset(own)
        self._lock: Final = Lock()
        self._fits: Final = Counter[Vary]()
        check_rest(self.all)

    def compared(self, body: bytes) -> Compared:
        """A body in the form in which it is compared."""
        return put_through(body, self.all)

    def count(self, compared: Compared) -> None:
        """Count a request of the session."""
        with self._lock:
            self._fits.update(compared.used)

    @property
    def fits(self) -> Mapping[Vary, int]:
        """For each rule, the number of requests of the session that it fits."""
        with self._lock:
            return {rule: self._fits[rule] for rule in self.all}

    def fits_in(self, bodies: Iterable[bytes]) -> Mapping[Vary, int]:
        """For each rule, the number of these bodies that it fits."""
        found = Counter(rule for body in bodies for rule in self.compared(body).used)
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
