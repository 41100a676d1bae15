"""Probe an endpoint over HTTP, or replay a recorded probe."""

from __future__ import annotations

import os
import re
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx

from toolreel._internal import CassetteError, toml_text
from toolreel._secrets import Secret
from toolreel._secrets import known_secrets as known_secrets_of
from toolreel.cassette import CassetteTransport, Exchange, Session, replay_response
from toolreel.http import (
    AUTHORIZATION,
    NO_HEADERS,
    HttpEndpoint,
    checked_chat_url,
    pooled_transport,
)
from toolreel_core._errors import ConfigError, ReplayMismatch
from toolreel_core._jsontext import Tree, as_tree, read_json, text_at
from toolreel_core._plan import Preset
from toolreel_core._probe import (
    MOST_REPEATS,
    REPEAT,
    Ask,
    Compared,
    Finding,
    ProbedReply,
    ProbeFailure,
    Probing,
    Question,
    Setting,
    SettingRules,
    WrittenRequest,
    compare_with_preset,
    decided_settings,
    findings,
    preset_tree,
    questions_in_catalogue,
    select_questions,
)
from toolreel_core._protocol import SendRequest
from toolreel_core._settings import API_PREFIX, WireForm, wire_form_of_url

_EARLIEST = 1_577_836_800
"""The year 2020: before, a server's clock is wrong."""
_LATEST = 4_102_444_800
"""The year 2100: a time in milliseconds is later."""


@cache
def _read_question_catalogue() -> dict[str, Any]:
    return tomllib.loads((files("toolreel.probe") / "questions.toml").read_text("utf-8"))


@cache
def all_questions() -> tuple[Question, ...]:
    return questions_in_catalogue(_read_question_catalogue())


def probe_catalogue_rules() -> SettingRules:
    rules: SettingRules = _read_question_catalogue()["rules"]
    return rules


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
    def stopped(self) -> ProbeFailure | None:
        """Why it ended early; ``None`` if it did not."""
        return self.probing.stopped

    @property
    def findings(self) -> tuple[Finding, ...]:
        """One for each question that was answered, then what was observed in all answers."""
        return findings(self.probing)

    @property
    def unstable(self) -> tuple[Finding, ...]:
        """The findings about which repeated answers disagree; no setting hangs on them."""
        return tuple(each for each in self.findings if not each.is_stable)

    @property
    def settings(self) -> tuple[Setting, ...]:
        """What the findings decide, also where it is the default."""
        return decided_settings(self.findings, probe_catalogue_rules())

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
        return Preset.of(name or self.name, self._preset_tree)

    def toml(self, name: str = "") -> str:
        """The preset as a catalogue, for ``--preset FILE``."""
        lines = ["Made by `toolreel probe`. Use it with --preset and the name of this file."]
        if self.stopped:
            lines.append(f"Stopped early: {self.stopped.message}")
        for each in self.unstable:
            words = ", ".join(f"{word} {n} times" for word, n in each.words)
            lines.append(f"Not stable, so not set: {each.name}: {words}.")
        return toml_text({"preset": {name or self.name: self._preset_tree}}, lines)

    @property
    def _preset_tree(self) -> Tree:
        evidence = f"toolreel probe of {self.model}{f': {self.record.name}' if self.record else ''}"
        return preset_tree(self.settings, f"{self.model}, as probed.", self.day, [evidence])

    def compare(self, preset: Preset) -> tuple[Compared, ...]:
        """The findings compared with another preset, differences first."""
        return compare_with_preset(self.settings, preset, probe_catalogue_rules())


def day_of_answers(probing: Probing) -> str:
    """The day of the last answer, by the server's clock; empty if none says when it was created."""
    answers = [each.observation for each in probing.tries if isinstance(each.observation, ProbedReply)]
    created = [each.body.get("created") for each in answers]
    sane = [value for value in created if isinstance(value, int) and _EARLIEST < value < _LATEST]
    return datetime.fromtimestamp(max(sane), UTC).date().isoformat() if sane else ""


ProbingListener = Callable[[Probing], None]

REPLY_SECONDS = 60.0
"""Seconds that one reply may take."""
_LIMIT = 4 * 2**20
"""Bytes of a reply: what a probe asks for has a thousandth of it."""


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
    timeout: float = REPLY_SECONDS,
    known_secrets: Mapping[str, str] | None = None,
    watch: ProbingListener | None = None,
    wait: Callable[[float], None] = time.sleep,
    transport: httpx.BaseTransport | None = None,
) -> Probed:
    """Ask a model up to fifty small questions, each about one quirk, and find the preset that fits.

    A failure of the server does not raise: it is in :attr:`Probed.stopped`, next to what was found before.

    :param record: the cassette to write, a new YAML file; also if you interrupt the probe
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
    :raises CassetteError: if the recording is there already, or cannot be written
    """
    questions = select_questions(all_questions(), tuple(only))
    if not 1 <= repeat <= MOST_REPEATS:
        raise ConfigError(f"repeat: expected 1 to {MOST_REPEATS}, got {repeat!r}")
    path = Path(record) if record is not None else None
    if path and path.exists():
        raise CassetteError(f"{path}: exists already; write to another name, or replace it with --overwrite")
    tape, url = Session(path or Path("probe.yaml"), "record"), checked_chat_url(base_url, api_prefix)
    inner = transport or pooled_transport(url)
    probing = Probing(model, questions, repeat)
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
        transport=CassetteTransport(tape, inner, limit=_LIMIT),
    ) as endpoint:
        try:
            while ask := probing.ask:
                wait(ask.wait_ms / 1000) if ask.wait_ms else None
                probing = probing.with_answer(ask, endpoint.send(_request_effect(ask)))
                if watch:
                    watch(probing)
        finally:
            if path and probing.tries:  # of a server that never answered, there is nothing to keep
                known = known_secrets_of(os.environ) if known_secrets is None else known_secrets
                tape.save({**known, **endpoint.secrets})
    return Probed(probing, path, day_of_answers(probing) or datetime.now(UTC).date().isoformat())


def replay_probe(cassette: str | os.PathLike[str]) -> Probed:
    """The result of a recorded probe, from its recording alone.

    :raises CassetteError: if the file is missing, or is not a recording of a probe
    :raises toolreel.ReplayMismatch: if it has requests that this version of toolreel does not make
    """
    path = Path(cassette)
    exchanges = Session(path).exchanges
    model = next(filter(None, map(_model_of, exchanges)), "")
    if not model:
        raise CassetteError(f"{path}: not a recording of a probe: none of its requests names a model")
    left: dict[tuple[WireForm, bytes], list[int]] = {}
    for number, each in enumerate(exchanges, 1):
        left.setdefault((wire_form_of_url(each.url), each.body), []).append(number)
    # Equal requests are repetitions, so that the most of one kind is the ``repeat`` of the probe.
    probing = Probing(model, all_questions(), max(map(len, left.values())))

    def answer(request: httpx.Request) -> httpx.Response:
        number = left[wire_form_of_url(str(request.url)), request.read()].pop(0)
        return replay_response(exchanges[number - 1].answer, path, request)

    with HttpEndpoint("http://recorded.invalid/v1", transport=httpx.MockTransport(answer)) as endpoint:
        while ask := probing.ask:
            effect = _request_effect(ask)
            if numbers := left.get((ask.form, effect.request.body.encode())):
                probing = probing.with_answer(replace(ask, number=numbers[0]), endpoint.send(effect))
            else:
                probing = probing.with_skipped_question(ask)
    if unused := sum(map(len, left.values())):
        raise ReplayMismatch(
            f"{path}: {unused} of its requests are not made by this version of toolreel; "
            "probe again with --overwrite"
        )
    return Probed(replace(probing, passed=()), path, day_of_answers(probing))


def _model_of(exchange: Exchange) -> str:
    return text_at(as_tree(read_json(exchange.body.decode("utf-8", "replace")).value_or("")), "model")


def _request_effect(ask: Ask) -> SendRequest:
    return SendRequest(ask.number, WrittenRequest.of(ask.body, ask.form))
