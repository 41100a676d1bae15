"""The journal of a run under way: folds its events, and writes each as the line that its step stores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from toolreel._driver import Lap, Wanted, Watches
from toolreel._internal import DurableError, SecretFound
from toolreel._journal import Recorded, event_line, parse_journal, withheld
from toolreel._replay import retrace
from toolreel._secrets import refuse_secrets_in_blobs, refuse_secrets_in_line
from toolreel.durable._store import Written
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import Json, either, read
from toolreel_core._loop import pending, step
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    CancelRequested,
    Event,
    Settled,
    State,
    ToolReturned,
    blob_lines,
    blobs_in,
    decode_event,
    fingerprint,
    header_line,
    with_blobs,
)

HIDDEN: Final = "a reply was not stored, because it holds a secret"


def plan_lines(plan: Plan, secrets: Mapping[str, str]) -> str:
    """The first lines of the journal of a run: what is written of its plan, once.

    :raises SecretFound: if the plan contains a secret
    """
    header = header_line(plan)
    refuse_secrets_in_line(header, secrets, "the plan")
    refuse_secrets_in_blobs(blobs_in(plan), secrets, "the plan")
    return "".join(f"{line}\n" for line in (header, *blob_lines(plan).values()))


def number_of(line: str) -> int:
    """The number of an event's line; 0 for a line with a blob.

    >>> number_of('{"n":3,"kind":"wait"}'), number_of('{"blob":"…"}')
    (3, 0)
    """
    return int(line[5 : line.index(",")]) if line.startswith('{"n":') else 0


@dataclass(frozen=True, slots=True)
class StoredJournal:
    """What the steps of a run tell: its journal without gaps, and answers that came before others."""

    text: str
    early: tuple[tuple[str, ...], ...] = ()
    """The lines of each parallel call after one whose step was never stored, since its worker died."""

    @classmethod
    def of(cls, plan: str, stored: Iterable[Written]) -> StoredJournal:
        """Put the steps of all segments in order, each event with its blobs."""
        found: dict[int, list[str]] = {}
        for written in stored:
            with_event: list[str] = []
            for line in written.lines:
                with_event.append(line)
                if number := number_of(line):
                    found.setdefault(number, with_event)
                    with_event = []
        whole, events = list[str](), 0
        while events + 1 in found:
            events += 1
            whole += found.pop(events)
        rest = tuple(tuple(found[number]) for number in sorted(found))
        return cls(plan + "".join(f"{line}\n" for line in whole), rest)


def fingerprint_of(lines: Sequence[str]) -> str | None:
    """The fingerprint in the lines of an event."""
    fp = _object(lines[-1])["fp"]
    return None if fp is None else str(fp)


def retold(text: str, source: str) -> tuple[Recorded, State]:
    """Read what is stored of a run, and fold it; each effect has to be the one that was recorded.

    :raises DurableError: if the reducer of this release wants another effect; nothing was changed
    """
    recorded = parse_journal(text, source)
    try:
        return recorded, retrace(recorded).run.state
    except ReplayMismatch as drift:
        raise DurableError(
            f"{source}: this release of toolreel would do something else than what is recorded ({drift}). "
            "Nothing was changed. Finish it with a worker of the release that began it, after `toolreel "
            "durable adopt --failed` there; or export it and fork it"
        ) from None


class Book:
    """A run under way: its state, and the lines that its next step stores."""

    def __init__(self, recorded: Recorded, state: State, secrets: Mapping[str, str]) -> None:
        self.state = state
        self.events = len(recorded.records)
        self._blobs: dict[str, str] = blob_lines(recorded.plan)
        for event in recorded.events:
            self._blobs |= blob_lines(event, self._blobs)
        self._secrets = secrets
        self._source = recorded.source
        self.watches = Watches([], state, None)
        """What watches the run while its effects are performed."""

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        """The effects that are to be performed."""
        return pending(self.state)

    def lines(
        self, effect: Wanted | None, event: Event, lap: Lap | None = None, ahead: int = 0
    ) -> tuple[tuple[str, ...], Event]:
        """The lines of an event, and the event as it is written: one with a secret is replaced.

        :param ahead: how many events come before it that are not written yet
        """
        number = self.events + ahead + 1
        line, place = event_line(number, effect, event, lap), f"{self._source}, event {number}"
        try:
            refuse_secrets_in_line(line, self._secrets, place)
            refuse_secrets_in_blobs(blobs_in(event), self._secrets, place)
        except SecretFound:
            safe = withheld(event, "secret") if isinstance(event, ToolReturned) else CancelRequested(HIDDEN)
            return (event_line(number, effect, safe, lap),), safe
        return (*blob_lines(event, self._blobs).values(), line), event

    def add(self, effect: Wanted | None, event: Event, lap: Lap | None = None) -> tuple[str, ...]:
        """Write an event and take it; nothing is written of a cancellation that comes after the end."""
        if isinstance(event, CancelRequested) and isinstance(self.state.phase, Settled):
            return ()
        lines, kept = self.lines(effect, event, lap)
        self._blobs |= blob_lines(kept, self._blobs)
        self._fold(kept)
        return lines

    def take(self, lines: Iterable[str]) -> None:
        """Read the events of lines that were stored, and take them.

        :raises DurableError: if one answers another effect than this run wants
        """
        for line in lines:
            tree = _object(line)
            if not number_of(line):
                self._blobs[str(tree["blob"])] = line
                continue
            self._check_fingerprint(tree["fp"])
            blobs = {digest: str(_object(text)["base64"]) for digest, text in self._blobs.items()}
            self._fold(decode_event(with_blobs(tree["event"], blobs, self._source)))

    def _fold(self, event: Event) -> None:
        after = step(self.state, event)
        self.watches.stepped(self._effect_of(event), event, after)
        self.state = after.state
        self.events += 1

    def _effect_of(self, event: Event) -> Wanted | None:
        ref = getattr(event, "ref", None)
        return next((effect for effect in self.wanted if effect.ref == ref), None)

    def _check_fingerprint(self, fp: Json) -> None:
        if fp is not None and fp not in [fingerprint(effect) for effect in self.wanted]:
            raise DurableError(
                f"{self._source}, event {self.events + 1}: it answers another effect than this release of "
                "toolreel wants; finish the run with a worker of the release that began it"
            )


def _object(text: str) -> Mapping[str, Json]:
    return cast("Mapping[str, Json]", either(read(text)))
