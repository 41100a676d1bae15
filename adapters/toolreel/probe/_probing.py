"""Probe an endpoint over HTTP, or replay a recorded probe."""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import httpx

from toolreel._internal import CassetteError, toml_text
from toolreel._secrets import Secret, scrubbed_url
from toolreel._secrets import known_secrets as known_secrets_of
from toolreel.cassette import CassetteTransport, Exchange, Recording, StoredResponse, replayed
from toolreel.http import (
    AUTHORIZATION,
    CONNECTIONS,
    NO_HEADERS,
    HttpEndpoint,
    checked_chat_url,
    sync_transport,
)
from toolreel_core._errors import ConfigError, ReplayMismatch
from toolreel_core._jsontext import Tree, as_tree, read
from toolreel_core._plan import Preset
from toolreel_core._probe import (
    NO_MODEL,
    REPEAT,
    Answered,
    Ask,
    Compared,
    Finding,
    Probing,
    Setting,
    Stopped,
    WrittenRequest,
    compared,
    findings,
    preset_tree,
    selected,
    settings,
)
from toolreel_core._protocol import SendRequest
from toolreel_core._settings import API_PREFIX, PATHS, WireForm, form_of

_EARLIEST: Final = 1_577_836_800
"""The year 2020: before, a server's clock is wrong."""
_LATEST: Final = 4_102_444_800


@dataclass(frozen=True, slots=True)
class Probed:
    """What a probe has found; every finding names its requests in the recording."""

    probing: Probing
    record: Path | None = None
    """The recording."""
    day: str = ""
    """The day of the answers, as ``YYYY-MM-DD``."""

    @property
    def model(self) -> str:
        """The model that was asked for."""
        return self.probing.model

    @property
    def stopped(self) -> Stopped | None:
        """Why it ended early; ``None`` if it did not."""
        return self.probing.stopped

    @property
    def findings(self) -> tuple[Finding, ...]:
        """One for each question that was answered, then what was observed in all answers."""
        return findings(self.probing)

    @property
    def unstable(self) -> tuple[Finding, ...]:
        """The findings about which repeated answers disagree; no setting hangs on them."""
        return tuple(each for each in self.findings if not each.stable)

    @property
    def settings(self) -> tuple[Setting, ...]:
        """What the findings decide, also where it is the default."""
        return settings(self.findings)

    @property
    def is_stable(self) -> bool:
        """Whether all answers agree on which a setting hangs."""
        return not any(each.decides for each in self.unstable)

    @property
    def name(self) -> str:
        """A name for the preset, from that of the model."""
        return re.sub(r"[^a-z0-9]+", "_", self.model.lower()).strip("_") or "probed"

    def preset(self, name: str = "") -> Preset:
        """The preset that fits: the settings that differ from the defaults."""
        return Preset.of(name or self.name, self._tree)

    def toml(self, name: str = "") -> str:
        """The preset as a catalogue, for ``--preset FILE``."""
        lines = ["Made by `toolreel probe`. Use it with --preset and the name of this file."]
        if self.stopped:
            lines.append(f"Stopped early: {self.stopped.message}")
        for each in self.unstable:
            words = ", ".join(f"{word} {n} times" for word, n in each.words)
            lines.append(f"Not stable, so not set: {each.name}: {words}.")
        return toml_text(self._tree, lines, "preset", name or self.name)

    @property
    def _tree(self) -> Tree:
        evidence = f"toolreel probe of {self.model}{f': {self.record.name}' if self.record else ''}"
        return preset_tree(self.settings, f"{self.model}, as probed.", self.day, [evidence])

    def compare(self, preset: Preset) -> tuple[Compared, ...]:
        """The findings compared with another preset, differences first."""
        return compared(self.settings, preset)


def day_of(probing: Probing) -> str:
    """The day of the last answer, by the server's clock; empty if none says when it was created."""
    bodies = [each.observation.body for each in probing.tries if isinstance(each.observation, Answered)]
    created = [value for body in bodies if isinstance(value := body.get("created"), int)]
    sane = [value for value in created if _EARLIEST < value < _LATEST]
    return datetime.fromtimestamp(max(sane), UTC).date().isoformat() if sane else ""


_PASSING: Final = frozenset({401, 402, 407, 408, 425, 429, 502, 503, 504, 520, 521, 522, 523, 524, 529})
"""Statuses that say nothing about a quirk, so that an interrupted probe asks again."""


class Answers:
    """The answers of a recording, by request; each is given once."""

    def __init__(self, exchanges: tuple[Exchange, ...] = ()) -> None:
        self._left: dict[tuple[WireForm, bytes], deque[tuple[int, StoredResponse]]] = {}
        for number, each in enumerate(exchanges, start=1):
            self._left.setdefault((form_of(each.url), each.body), deque()).append((number, each.answer))
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

    def take(self, url: str, body: bytes) -> StoredResponse | None:
        """The next answer to a request."""
        found = self._left.get((form_of(url), body))
        return found.popleft()[1] if found else None


def earlier_exchanges(path: Path, url: str, model: str) -> tuple[Exchange, ...]:
    """The exchanges in a file whose answers say something; none if there is no file.

    :param url: of chat completions at the server that is probed
    :raises CassetteError: if the file is no recording, or one of another server or model
    """
    if not path.exists():
        return ()
    exchanges = Recording.load(path).exchanges
    base = _base(scrubbed_url(url))
    others = [_base(each.url) for each in exchanges if _base(each.url) != base]
    models = {model_of(each) for each in exchanges} - {model, NO_MODEL}
    if others or models:
        whose = f"the server {others[0]}" if others else f"the model {sorted(models)[0]!r}"
        raise CassetteError(f"{path}: is of {whose}; write to another name, or replace it with --overwrite")
    return tuple(each for each in exchanges if _says_something(each))


def model_of(exchange: Exchange) -> str:
    """The model that a request names; empty if it names none."""
    model = as_tree(read(exchange.body.decode("utf-8", "replace")).value_or("")).get("model")
    return model if isinstance(model, str) else ""


def _base(url: str) -> str:
    path, question, query = url.partition("?")
    return f"{path.removesuffix(PATHS[form_of(url)])}{question}{query}"


def _says_something(exchange: Exchange) -> bool:
    answer = exchange.answer
    return answer.broke is None and answer.status not in _PASSING


class ProbeTransport(CassetteTransport):
    """Answers from a recording, then over the network, which is recorded too."""

    def __init__(self, tape: Recording, inner: httpx.BaseTransport, answers: Answers) -> None:
        super().__init__(tape, inner, limit=_LIMIT)
        self._path = tape.path
        self._answers = answers

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The earlier answer to a request, or a new one."""
        stored = self._answers.take(str(request.url), request.read())
        return replayed(stored, self._path, request) if stored else super().handle_request(request)


Watch = Callable[[Probing], None]
"""Called after each answer."""

TIMEOUT: Final = 60.0
_LIMIT: Final = 4 * 2**20
"""Bytes of a reply: what a probe asks for has a thousandth of it."""
_MOST_REPEATS: Final = 20
_SAVED_EVERY: Final = 2.0
"""Seconds between two savings of the recording."""


def probe(  # noqa: PLR0913 - settings are keyword arguments
    base_url: str,
    model: str,
    *,
    record: str | os.PathLike[str] | None = None,
    only: Sequence[str] = (),
    repeat: int = REPEAT,
    api_key: str | Secret | None = None,
    api_key_env: str | None = None,
    api_prefix: str = API_PREFIX,
    headers: Mapping[str, str] = NO_HEADERS,
    api_key_header: str = AUTHORIZATION,
    timeout: float = TIMEOUT,
    known_secrets: Mapping[str, str] | None = None,
    watch: Watch | None = None,
    wait: Callable[[float], None] = time.sleep,
    transport: httpx.BaseTransport | None = None,
) -> Probed:
    """Ask a model up to fifty small questions, each about one quirk, and find the preset that fits.

    A failure of the server does not raise: it is in :attr:`Probed.stopped`, next to what was found before.

    :param record: the cassette to write, a YAML file; if it exists, what it answers is not asked again. It is
        written after each answer, also if you interrupt the probe
    :param only: names of questions or of groups of them, with those that they rest on; by default all
    :param repeat: how often a question is asked on which a setting hangs
    :param timeout: seconds that one reply may take
    :param known_secrets: secret values by name, which are not recorded, besides those that are sent; by
        default, those in the environment variables of this process
    :param watch: called after each answer
    :param wait: waits for a number of seconds, when a server asks for fewer requests
    :param transport: an httpx transport to the server, instead of the default one
    :raises EndpointConfigError: if the URL or a header is not usable, or the key's variable is not set
    :raises toolreel.ConfigError: if there is no such question
    :raises CassetteError: if the recording cannot be read or written, or is of another server or model
    """
    questions = selected(tuple(only))
    if not 1 <= repeat <= _MOST_REPEATS:
        raise ConfigError(f"repeat: expected 1 to {_MOST_REPEATS}, got {repeat!r}")
    path = Path(record) if record is not None else None
    url = checked_chat_url(base_url, api_prefix)
    earlier = earlier_exchanges(path, url, model) if path else ()
    answers, tape = Answers(earlier), Recording.blank(path or Path("probe.yaml"))
    for each in earlier:
        tape.append(
            "POST",
            each.url,
            {"accept": "application/json", "content-type": "application/json"},
            each.body,
            each.answer,
        )
    inner = transport or sync_transport(url, proxy=None, http2=False, connections=CONNECTIONS)
    with HttpEndpoint(
        base_url,
        api_key=api_key,
        api_key_env=api_key_env,
        api_prefix=api_prefix,
        headers=headers,
        api_key_header=api_key_header,
        timeout=httpx.Timeout(timeout, connect=min(10.0, timeout)),
        stall_timeout=timeout,
        deadline=timeout,
        max_response_bytes=_LIMIT,
        transport=ProbeTransport(tape, inner, answers),
    ) as endpoint:
        secrets = {**(known_secrets_of(os.environ) if known_secrets is None else known_secrets)}
        secrets |= endpoint.secrets
        probing, saved = Probing(model, questions, repeat), time.monotonic()
        try:
            while ask := probing.ask:
                wait(ask.wait_ms / 1000) if ask.wait_ms else None
                effect = _effect(ask)
                # Evidence is numbered as it is recorded.
                number = answers.number(ask.form, effect.request.body.encode()) or tape.total + 1
                probing = probing.told(replace(ask, number=number), endpoint.send(effect))
                # A probe that is killed loses little, and one of a fast server writes seldom.
                if path and time.monotonic() - saved > _SAVED_EVERY:
                    tape.save(secrets)
                    saved = time.monotonic()
                if watch:
                    watch(probing)
        finally:
            if path and tape.grown:
                tape.save(secrets)
    return Probed(probing, path, day_of(probing) or datetime.now(UTC).date().isoformat())


def replay_probe(cassette: str | os.PathLike[str]) -> Probed:
    """The result of a recorded probe, from its recording alone.

    :raises CassetteError: if the file is missing, or is no recording of a probe
    :raises toolreel.ReplayMismatch: if it has requests that this version of toolreel does not make
    """
    path = Path(cassette)
    tape = Recording.load(path)
    answers = Answers(tape.exchanges)
    model = next(filter(None, map(model_of, tape.exchanges)), "")
    if not model:
        raise CassetteError(f"{tape.path}: is no recording of a probe: none of its requests names a model")
    probing = Probing(model, repeat=max(answers.most, 1))
    # Only requests that have an answer are sent, so nothing goes on to the network.
    transport = ProbeTransport(Recording.blank(path), httpx.BaseTransport(), answers)
    with HttpEndpoint("http://recorded.invalid/v1", transport=transport) as endpoint:
        while ask := probing.ask:
            effect = _effect(ask)
            number = answers.number(ask.form, effect.request.body.encode())
            there = replace(ask, number=number) if number else None
            probing = probing.told(there, endpoint.send(effect)) if there else probing.passing(ask)
    if answers.left:
        raise ReplayMismatch(
            f"{path}: {answers.left} of its requests are not made by this version of toolreel; "
            "probe again with --overwrite"
        )
    return Probed(replace(probing, passed=()), path, day_of(probing))


def _effect(ask: Ask) -> SendRequest:
    return SendRequest(ask.number, WrittenRequest.of(ask.body, ask.form))
