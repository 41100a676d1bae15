"""The recording of a probe: answers are kept as they come, so an interrupted probe asks only for the rest."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Final

import httpx

from toolreel._internal import CassetteError
from toolreel._secrets import scrubbed_url
from toolreel.cassette import Break, Exchange, Recording, RecordTransport, StoredResponse, replayed
from toolreel_core._jsontext import as_tree, read
from toolreel_core._probe import NO_MODEL
from toolreel_core._settings import PATHS, WireForm, form_of

_PASSING: Final = frozenset({401, 402, 407, 408, 425, 429, 502, 503, 504, 520, 521, 522, 523, 524, 529})
"""Statuses that say nothing about a quirk, so that an interrupted probe asks again."""
_KEPT_HEADERS: Final = {"accept": "application/json", "content-type": "application/json"}


class Answers:
    """The answers of an earlier recording, by request; each is given once."""

    def __init__(self, exchanges: tuple[Exchange, ...] = ()) -> None:
        self._left: dict[tuple[WireForm, bytes], deque[tuple[int, StoredResponse | Break]]] = {}
        for number, exchange in enumerate(exchanges, start=1):
            self._left.setdefault(_key(exchange.url, exchange.body), deque()).append(
                (number, exchange.answer)
            )
        self.most = max(map(len, self._left.values()), default=0)
        """How often the same request is in it, at most."""

    @property
    def left(self) -> int:
        """How many were not given."""
        return sum(map(len, self._left.values()))

    def number(self, form: WireForm, body: bytes) -> int | None:
        """Where the next answer to a request is in the recording, from 1; ``None`` if there is none."""
        found = self._left.get((form, body))
        return found[0][0] if found else None

    def take(self, url: str, body: bytes) -> StoredResponse | Break | None:
        """The next answer to a request."""
        found = self._left.get(_key(url, body))
        return found.popleft()[1] if found else None

    def keep_in(self, tape: Recording, url: str) -> None:
        """Add what was not given to a recording, so that another probe finds it."""
        base, question, query = _base(url).partition("?")
        for (form, body), answers in self._left.items():
            for _, answer in answers:
                if isinstance(answer, StoredResponse):
                    there = f"{base}{PATHS[form]}{question}{query}"
                    tape.append("POST", there, _KEPT_HEADERS, body, answer)


def earlier_answers(path: Path, url: str, model: str) -> Answers:
    """The answers in a file that say something; none if there is no file.

    :param url: of chat completions at the server that is probed
    :raises CassetteError: if the file is no recording, or one of another server or model
    """
    if not path.exists():
        return Answers()
    exchanges = Recording.load(path).exchanges
    base = _base(scrubbed_url(url))
    others = [_base(each.url) for each in exchanges if _base(each.url) != base]
    models = {model_of(each) for each in exchanges} - {model, NO_MODEL}
    if others or models:
        whose = f"the server {others[0]}" if others else f"the model {sorted(models)[0]!r}"
        raise CassetteError(f"{path}: is of {whose}; write to another name, or replace it with --overwrite")
    return Answers(tuple(each for each in exchanges if _says_something(each)))


def model_of(exchange: Exchange) -> str:
    """The model that a request names; empty if it names none."""
    model = as_tree(read(exchange.body.decode("utf-8", "replace")).value_or("")).get("model")
    return model if isinstance(model, str) else ""


def _base(url: str) -> str:
    path, question, query = url.partition("?")
    return f"{path.removesuffix(PATHS[form_of(url)])}{question}{query}"


def _says_something(exchange: Exchange) -> bool:
    answer = exchange.answer
    return isinstance(answer, StoredResponse) and answer.broke is None and answer.status not in _PASSING


def _key(url: str, body: bytes) -> tuple[WireForm, bytes]:
    return form_of(url), body


class ProbeTransport(RecordTransport):
    """Answers from earlier ones, then over the network; records both, in the order of the requests."""

    def __init__(self, tape: Recording, inner: httpx.BaseTransport, answers: Answers, *, limit: int) -> None:
        super().__init__(tape, inner, limit=limit)
        self._tape = tape
        self._answers = answers

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The earlier answer to a request, or a new one."""
        url, body = str(request.url), request.read()
        stored = self._answers.take(url, body)
        if isinstance(stored, StoredResponse):
            kept = self._tape.append(request.method, url, request.headers, body, stored)
            return replayed(kept, self._tape.path, request)
        return super().handle_request(request)


class AnswersTransport(httpx.BaseTransport):
    """Answers from a recording alone."""

    def __init__(self, answers: Answers, path: Path) -> None:
        self._answers = answers
        self._path = path

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The recorded answer, which the caller has looked up."""
        stored = self._answers.take(str(request.url), request.read())
        assert stored is not None, "asked for without looking"  # noqa: S101 - a bug, not a recording
        return replayed(stored, self._path, request)
