"""Performers that answer a run from its journal.

A rehearsal follows the journal line by line. Requests are answered by an endpoint (a cassette) or the
journal, tool calls by real tools or the journal, and a cancelled run is cancelled again at the same place.
Each effect must be the recorded one. The order of the checks matters: a cassette is asked before the journal,
since its error shows the difference; a tool runs after the check, so that no tool runs for another call than
the recorded one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from math import inf
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar, assert_never, cast

from toolreel._driver import (
    NOT_MEASURED,
    AsyncEndpoint,
    AsyncToolHost,
    Endpoint,
    Journal,
    Lap,
    Observer,
    Run,
    ToolHost,
    Wanted,
    arun,
    aspeak,
    await_if_awaitable,
    immediately,
    items_without_suspending,
    run,
    secrets_of_ports,
    speak,
)
from toolreel._journal import JournalRecord, Recorded, is_withheld_result
from toolreel._replay.trace import join_runs, retrace
from toolreel.cassette import Vary, apply_rules_to_body
from toolreel_core._errors import ReplayMismatch
from toolreel_core._plan import Plan, Request
from toolreel_core._protocol import (
    AskApproval,
    CancelRequested,
    Event,
    ReplyReceived,
    RequestFailed,
    RunTool,
    SendRequest,
    ToolReturned,
    UserSpoke,
    Wait,
    fingerprint,
    type_name,
)
from toolreel_core._replies import Delta, deltas_in
from toolreel_core._settings import PATHS

if TYPE_CHECKING:
    from toolreel.cassette import Session


def with_recorded_time(event: ReplyReceived | RequestFailed | ToolReturned, record: JournalRecord) -> Event:
    """The new event with the recorded time, so that limits on time decide the same."""
    return replace(event, at_ms=getattr(record.event, "at_ms", None))


def describe_effect(effect: Wanted) -> str:
    match effect:
        case SendRequest():
            return f"a request with {len(effect.request.sent.texts)} messages"
        case RunTool():
            return f"{effect.name}({effect.arguments})"
        case AskApproval():
            return f"approval of {effect.name}({effect.arguments})"
        case Wait():
            return f"to wait {effect.ms} ms"
        case _:
            assert_never(effect)


_Endpoint = TypeVar("_Endpoint")
_ToolHost = TypeVar("_ToolHost")


class _Rehearsing(Generic[_Endpoint, _ToolHost]):
    """The parts of a rehearsal that are the same on every driver.

    Each line of the journal is used once; effects run concurrently, so a lock guards them. Most lines answer
    an effect, and are found by it. What the user said answers none: it is taken when the run reaches its
    place.
    """

    def __init__(
        self,
        recorded: Recorded,
        *,
        endpoint: _Endpoint | None = None,
        tape: Session | None = None,
        tools: _ToolHost | None = None,
        allowed: AllowedDifferences | None = None,
    ) -> None:
        self._recorded = recorded
        self._endpoint = endpoint
        self._tape = tape
        self._tools = tools
        self._allowed = allowed
        # Ordered: finding the first key of a dict takes linear time once those at its beginning are deleted.
        lines = list(enumerate(recorded.records))
        self._left = OrderedDict((at, one) for at, one in lines if not isinstance(one.event, UserSpoke))
        self._said = OrderedDict((at, one.event) for at, one in lines if isinstance(one.event, UserSpoke))
        """What the user said and the run has not taken yet, by line."""
        self._places: dict[int, int] = {}
        """The line that answered each effect, by its ``ref``."""
        self._lock = Lock()

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials that endpoint and tools send, by name."""
        return secrets_of_ports(self._endpoint, self._tools)

    def messages_before(self, effect: Wanted | None, /) -> Sequence[UserSpoke]:
        """What the user said before the recorded answer to an effect; without one, before the next line."""
        with self._lock:
            end = None if effect is None else self._places.get(effect.ref)
            end = next(iter(self._left), None) if end is None else end
            return [self._said.pop(at) for at in [*self._said] if end is None or at < end]

    def _next_message(self) -> UserSpoke | None:
        with self._lock:
            first, at = next(iter(self._left), None), next(iter(self._said), None)
            is_next = at is not None and (first is None or at < first)
            return self._said.popitem(last=False)[1] if is_next else None

    def lap_of(self, effect: Wanted, /) -> Lap | None:
        """The recorded times of an effect; ``None`` at the end of the record of a paused run."""
        with self._lock:
            place = self._places.get(effect.ref)
        return None if place is None else self._recorded.records[place].lap or NOT_MEASURED

    def in_recorded_order(
        self, answers: Iterable[tuple[Wanted, Event | None]], /
    ) -> Sequence[tuple[Wanted, Event | None]]:
        """The answers to effects performed together; one without a line, where the run rests, comes last."""
        return sorted(answers, key=lambda answer: self._places.get(answer[0].ref, inf))

    def finish(self) -> None:
        """Check that every line of the journal was used.

        :raises toolreel.ReplayMismatch: if one was not
        """
        if places := sorted({*self._left, *self._said}):
            first = self._recorded.records[places[0]]
            raise ReplayMismatch(
                f"{self._recorded.source}: the run ended, but {len(places)} recorded events are left, "
                f"from line {first.line} ({first.kind}) on"
            )

    def _take_recorded_line(self, effect: Wanted) -> tuple[JournalRecord, bool] | None:
        """The line that answers the effect, else the first unused one, and which of them it is.

        Parallel effects may come in any order, so the fingerprint is searched in all unused lines. The first
        unused line serves for the error message, and for a recorded cancellation. After the last line, there
        is none for an approval, since a run may rest there.
        """
        wanted = fingerprint(effect)
        with self._lock:
            place = next((at for at, record in self._left.items() if record.fp == wanted), None)
            if place is None and self._allowed:
                same = self._allowed.matches_effect
                place = next((at for at, record in self._left.items() if same(record, effect)), None)
            answers = place is not None
            if place is None:
                place = next(iter(self._left), None)
            if place is not None:
                self._places[effect.ref] = place
                return self._left.pop(place), answers
        if isinstance(effect, AskApproval):
            return None
        raise ReplayMismatch(
            f"{self._recorded.source}: the journal ends, but the run wants {describe_effect(effect)}; "
            "if it was killed, `toolreel resume` (or resume() in Python) finishes it"
        )

    def _answering_endpoint(self, effect: Wanted, record: JournalRecord) -> _Endpoint | None:
        """The endpoint, if there was a complete response; why there was none is in the journal."""
        if not isinstance(effect, SendRequest):
            return None
        cancelled = isinstance(record.event, CancelRequested)
        if not cancelled and has_whole_response(record.event):
            return self._endpoint
        if self._tape:  # of a cancelled request, all of the reply may have come, and was not read any more
            self._tape.skip_exchange(*exchange_key(effect), whole=cancelled)
        return None

    def _checked_event(
        self,
        effect: Wanted,
        record: JournalRecord,
        answers: bool,
        reply: ReplyReceived | RequestFailed | None = None,
    ) -> Event:
        if isinstance(record.event, CancelRequested):
            return record.event
        if not answers or record.kind != type_name(type(effect)):
            raise ReplayMismatch(
                f"{self._recorded.source}, line {record.line}: the run wants {describe_effect(effect)}, but "
                f"that is not the {record.kind} recorded here; the plan, a tool or toolreel has changed: "
                "record again"
            )
        return record.event if reply is None else with_recorded_time(reply, record)

    async def _play(
        self,
        plan: Plan,
        journal: Journal | None,
        observe: Observer | None,
        begin: Callable[..., Run | Awaitable[Run]],
        go_on: Callable[..., Run | Awaitable[Run]],
    ) -> Run:
        done = await await_if_awaitable(begin(plan, self, journal=journal, observe=observe, inbox=self))
        while said := self._next_message():
            next_run = go_on(done, said, self, journal=journal, observe=observe, inbox=self)
            done = join_runs(done, await await_if_awaitable(next_run))
        return done

    async def _perform(self, effect: Wanted) -> Event | None:
        line = self._take_recorded_line(effect)
        if line is None:
            return None
        endpoint: Any = self._answering_endpoint(effect, line[0])
        if endpoint:
            return self._checked_event(effect, *line, await await_if_awaitable(endpoint.send(effect)))
        event, tools = self._checked_event(effect, *line), cast("Any", self._tools)
        # A withheld result stays so: what the tool returns now is not what the model saw.
        if tools is None or not isinstance(event, ToolReturned) or is_withheld_result(event):
            return event
        return with_recorded_time(await await_if_awaitable(tools.run(effect)), line[0])

    async def _stream(self, effect: SendRequest) -> AsyncGenerator[Delta | Event | None, None]:
        event = await self._perform(effect)
        if effect.request.streamed and isinstance(event, ReplyReceived):
            for delta in deltas_in(event.body, effect.request.form, whole=True):
                yield delta
        yield event


class Rehearsal(_Rehearsing[Endpoint, ToolHost]):
    """A performer that replays a journal; approvals are not asked for again, and waits take no time.

    ``stream(plan, Rehearsal(recorded))`` shows a recorded run again.

    :param endpoint: answers requests instead of the journal
    :param tape: the recording that the endpoint answers from, which has failed exchanges too
    :param tools: runs tools instead of the journal
    :param allowed: requests that count as the recorded ones though they differ
    """

    def play(self, plan: Plan, *, journal: Journal | None = None, observe: Observer | None = None) -> Run:
        """Run a plan as the journal has it, with all that the user said between and after its exchanges."""
        return immediately(self._play(plan, journal, observe, run, speak))

    def perform(self, effect: Wanted) -> Event | None:
        """The recorded event; ``None`` at the end of the record of a paused run.

        :raises toolreel.ReplayMismatch: if the recorded effect was another one, or the journal has ended
        """
        return immediately(self._perform(effect))

    def stream(self, effect: SendRequest) -> Generator[Delta | Event | None, None, None]:
        """Each piece of the recorded reply, at once, and last what :meth:`perform` returns."""
        return items_without_suspending(self._stream(effect))


class AsyncRehearsal(_Rehearsing[AsyncEndpoint, AsyncToolHost]):
    """The async version of :class:`Rehearsal`."""

    async def play(
        self, plan: Plan, *, journal: Journal | None = None, observe: Observer | None = None
    ) -> Run:
        """Run a plan as the journal has it, with all that the user said between and after its exchanges."""
        return await self._play(plan, journal, observe, arun, aspeak)

    async def perform(self, effect: Wanted) -> Event | None:
        """The recorded event; ``None`` at the end of the record of a paused run.

        :raises toolreel.ReplayMismatch: if the recorded effect was another one, or the journal has ended
        """
        return await self._perform(effect)

    def stream(self, effect: SendRequest) -> AsyncGenerator[Delta | Event | None, None]:
        """The async version of :meth:`Rehearsal.stream`."""
        return self._stream(effect)


def has_whole_response(event: Event) -> bool:
    """Whether there was a complete response, which every cassette stores."""
    return not isinstance(event, RequestFailed) or event.failure == "status"


def exchange_key(effect: SendRequest) -> tuple[str, str, *tuple[bytes, ...]]:
    return "POST", PATHS[effect.request.form], *effect.request.pieces()


# What may differ between a recorded run and its replay, by rules about requests.
#
# A journal has only fingerprints of requests. Folding it makes each request again, and the fingerprint proves
# that it is the one. So a new request counts as the recorded one if it has the same place in the run, and
# both are the same after the rules.


@dataclass(eq=False)
class AllowedDifferences:
    recorded: Recorded
    rules: Sequence[Vary]
    _known: dict[str, bytes] = field(default_factory=dict)
    """Digests of requests after the rules, by their own digest: each is compared more than once."""

    def matches(self, record: JournalRecord, effect: Wanted | None, event: Event) -> bool:
        """Whether an effect of the replay and its answer count as those of a recorded line.

        A tool's result, and what the user says, may differ if the next request, which tells it to the model,
        is the same after the rules.
        """
        was = record.event
        if record.fp is not None and (effect is None or not self.matches_effect(record, effect)):
            return False
        if was == event:
            return record.fp is not None
        match was, event:
            case ToolReturned(), ToolReturned():
                is_same = replace(event, output=was.output, parts=was.parts) == was
            case UserSpoke(), UserSpoke():
                is_same = replace(event, content=was.content, parts=was.parts) == was
            case _:
                return False
        is_told = any(isinstance(later, SendRequest) for later in self._recorded_effects[record.n :])
        return is_same and is_told

    def matches_effect(self, record: JournalRecord, effect: Wanted) -> bool:
        if record.fp == fingerprint(effect):
            return True
        was = self._recorded_effects[record.n - 1]
        return (
            isinstance(was, SendRequest)
            and isinstance(effect, SendRequest)
            and was.ref == effect.ref
            and self._request_digest(was.request) == self._request_digest(effect.request)
        )

    def _request_digest(self, request: Request) -> bytes:
        known = self._known.get(request.digest)
        if known is None:
            body = apply_rules_to_body(b"".join(request.pieces()), self.rules)[0]
            known = self._known[request.digest] = sha256(body).digest()
        return known

    @cached_property
    def _recorded_effects(self) -> Sequence[Wanted | None]:
        return tuple(traced.effect for traced in retrace(self.recorded).events)
