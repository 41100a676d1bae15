"""The answers of a recorded run, given to another run for as long as it asks for the same.

A replay holds a run to its recording byte for byte. Here another strategy asks, which sends other options and
writes the conversation in other ways, so a recorded answer is given where the request tells the model the
same (``_records/request_content.py``). Answers are given in their order, each at most once.
"""

from __future__ import annotations

import json
from typing import cast

import httpx

from toolreel.cassette._responses import replayed
from toolreel.cassette._tape import Exchange, Recording
from toolreel_core._jsontext.canonical import Tree
from toolreel_core.evals._records.request_content import Divergence, Told, parting, told_in

__all__ = ["Diverged", "RecordedAnswers"]


class Diverged(Exception):
    """A run asks for something that its recording does not answer, and nobody else does."""

    def __init__(self, divergence: Divergence) -> None:
        super().__init__(divergence.what)
        self.divergence = divergence


class RecordedAnswers(httpx.BaseTransport):
    """Answers from a recording.

    :param beyond: answers from the first request on that the recording has no answer for; without it,
        that request raises :class:`Diverged`
    """

    def __init__(self, recording: Recording, beyond: httpx.BaseTransport | None = None) -> None:
        self._path = recording.path
        self._exchanges = [(told_in(_tree(one.body)), one) for one in recording.exchanges]
        self._next = 0
        self._beyond = beyond
        self.diverged: Divergence | None = None
        """Where the recording ended to be of use, once it has."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The recorded answer, or that of whoever answers beyond the recording.

        :raises Diverged: if nobody does
        """
        asked = told_in(_tree(request.read()))
        found = None if self.diverged else self._found(asked)
        if found is not None:
            return replayed(found.answer, self._path)
        self.diverged = self.diverged or parting(self._expected, asked)
        if self._beyond is None:
            raise Diverged(self.diverged)
        return self._beyond.handle_request(request)

    def _found(self, asked: Told) -> Exchange | None:
        """The next answer to the same; what was asked between was of the recorded strategy alone."""
        for place, (told, exchange) in enumerate(self._exchanges[self._next :], self._next + 1):
            if told == asked:
                self._next = place
                return exchange
        return None

    @property
    def _expected(self) -> Told | None:
        """What the recorded run asked at this place; the last that it asked, if it asked nothing more."""
        told = [told for told, _ in self._exchanges]
        return next(iter(told[self._next :] or told[-1:]), None)


def _tree(body: bytes) -> Tree:
    return cast("Tree", json.loads(body))
