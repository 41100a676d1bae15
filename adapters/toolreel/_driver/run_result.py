"""``Run``: the result of a driver."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple, Self, TypeAlias

from toolreel._driver.outcome_words import (
    NO_SERVER,
    Resting,
    ServerAddress,
    failure_in_words,
    outcome_in_words,
)
from toolreel._driver.ports import Wanted
from toolreel._internal import AdapterError, count_with_noun, printable_text, run_page_module
from toolreel_core._conversation import Message, wire_tree
from toolreel_core._jsontext import Json
from toolreel_core._loop import pending
from toolreel_core._protocol import (
    CancelRequested,
    Completed,
    Event,
    Note,
    Outcome,
    RunTool,
    SendRequest,
    Spent,
    State,
    Wait,
)

_SHOWN = 60
"""Characters of a text that a line shows."""


# How long a run and its parts took: measured in a live run, read from the record in a replay. Times are not
# part of a run: two runs that differ only in them are equal, and no decision depends on them. The times that
# limits need are on the events (``at_ms``).


EffectTimeKind: TypeAlias = Literal["request", "tool", "approval", "wait", "cancelled"]


# Named tuples, since a driver makes one of each for every effect, and they take less than frozen dataclasses.


class Lap(NamedTuple):
    ms: int | None
    """How long its effect took; ``None`` if the record does not say."""
    passed_ms: int | None
    """How long the run went on since the event before: less than ``ms`` where several ran together."""
    first_ms: int | None = None
    """When the first piece of a reply came, where somebody was waiting for pieces."""


NOT_MEASURED = Lap(None, None)
"""The times of an event whose record has none."""


class EffectTime(NamedTuple):
    """How long one request, tool call, approval or wait took."""

    kind: EffectTimeKind
    """``cancelled`` is what was under way when the run was cancelled."""
    name: str
    """The tool's inner name, such as ``files.read``; empty where it is not a tool."""
    ref: int | None
    """The number of the effect, as events and the journal have it."""
    turn: int
    """Of the run, counted from 1."""
    ms: int | None
    """``None`` if the record does not say."""
    passed_ms: int | None
    """How long the run went on since the one before: less than ``ms`` where several ran together."""
    first_ms: int | None = None
    """When the first piece of a streamed reply came; only where the run was streamed."""
    call_id: str = ""
    """Of the tool call, or of that which needs approval; else empty."""

    @classmethod
    def of(cls, effect: Wanted | None, event: Event, lap: Lap, turn: int) -> EffectTime:
        """What an effect took, from its times."""
        if effect is None or isinstance(event, CancelRequested):
            return cls("cancelled", "", None, turn, *lap)
        if isinstance(effect, SendRequest | Wait):
            return cls("request" if isinstance(effect, SendRequest) else "wait", "", effect.ref, turn, *lap)
        kind: EffectTimeKind = "tool" if isinstance(effect, RunTool) else "approval"
        return cls(kind, effect.name, effect.ref, turn, *lap, effect.call_id)


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a run took, in milliseconds, without the time in which nothing performed it.

    A sum is ``None`` if nothing was measured, or if one of its parts was not.
    """

    took: tuple[EffectTime, ...] = ()
    """Every request, tool call, approval and wait, in the order of the journal."""

    @property
    def total_ms(self) -> int | None:
        """The whole run; less than the sum of its parts where tools ran together."""
        return _sum_or_none(took.passed_ms for took in self.took) if self.took else None

    @property
    def model_ms(self) -> int | None:
        """All requests together."""
        return self._total_ms_of_kinds("request")

    @property
    def tools_ms(self) -> int | None:
        """All tool calls together."""
        return self._total_ms_of_kinds("tool")

    @property
    def waiting_ms(self) -> int | None:
        """All waits between retries, and all waiting for approvals."""
        return self._total_ms_of_kinds("wait", "approval")

    @property
    def requests(self) -> tuple[EffectTime, ...]:
        """The requests, with those that failed."""
        return tuple(took for took in self.took if took.kind == "request")

    @property
    def tools(self) -> tuple[EffectTime, ...]:
        """The tool calls."""
        return tuple(took for took in self.took if took.kind == "tool")

    def __add__(self, later: Timing) -> Timing:
        return Timing(self.took + later.took)

    def __str__(self) -> str:
        """For people; empty if the whole is unknown.

        >>> print(
        ...     Timing((EffectTime("request", "", 1, 1, 1150, 1150), EffectTime("tool", "add", 2, 1, 40, 41)))
        ... )
        1.1 s (model 1.1 s, tools 40 ms)
        """
        if self.total_ms is None:
            return ""
        parts = {"model": self.model_ms, "tools": self.tools_ms, "waiting": self.waiting_ms}
        shown = ", ".join(f"{name} {duration_in_words(ms)}" for name, ms in parts.items() if ms)
        return duration_in_words(self.total_ms) + (f" ({shown})" if shown else "")

    def _total_ms_of_kinds(self, *kinds: EffectTimeKind) -> int | None:
        return _sum_or_none(took.ms for took in self.took if took.kind in kinds) if self.took else None


def _sum_or_none(parts: Iterable[int | None]) -> int | None:
    total = 0
    for ms in parts:
        if ms is None:
            return None
        total += ms
    return total


def duration_in_words(ms: int) -> str:
    """Milliseconds for people.

    >>> (
    ...     duration_in_words(40),
    ...     duration_in_words(1234),
    ...     duration_in_words(83_000),
    ...     duration_in_words(3_720_000),
    ... )
    ('40 ms', '1.2 s', '1 min 23 s', '1 h 2 min')
    """
    seconds, minutes = ms // 1000, ms // 60_000
    if not seconds:
        return f"{ms} ms"
    if not minutes:
        return f"{seconds}.{ms % 1000 // 100} s"
    if minutes < 60:
        return f"{minutes} min {seconds % 60} s"
    return f"{minutes // 60} h {minutes % 60} min"


@dataclass(frozen=True, slots=True)
class RunUsage:
    """Tokens of a run, as its provider counts them; 0 if it does not."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    """Those of the prompts that came from the provider's cache."""
    reasoning_tokens: int = 0
    """Those of the completions that were spent on reasoning."""
    prompt_audio_tokens: int = 0
    completion_audio_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Prompts and completions together; the other counts are parts of these."""
        return self.prompt_tokens + self.completion_tokens


class OutcomeError(AdapterError):
    """A run that did not complete, from :meth:`Run.raise_for_outcome`; ``outcome`` says how it ended."""

    def __init__(self, message: str, outcome: Outcome | Resting) -> None:
        super().__init__(message)
        self.outcome = outcome

    # An exception pickles only its `args`, which have no outcome.
    def __reduce__(self) -> tuple[type[OutcomeError], tuple[str, Outcome | Resting]]:
        return type(self), (str(self), self.outcome)


@dataclass(frozen=True, slots=True, repr=False)
class Run:
    """The result of a run that has ended or paused."""

    state: State
    """The last state: conversation, counters (turns, tokens, time) and outcome."""
    notes: tuple[Note, ...]
    """All notes (decisions of the run), in order."""
    timing: Timing = field(default_factory=Timing, compare=False)
    """How long it took, and each request and tool call: as measured, or as recorded if it is a replay.
    Runs with other times are equal."""
    server: ServerAddress = field(default=NO_SERVER, compare=False)
    """The server that it last asked, for what to do if it did not complete."""

    @property
    def outcome(self) -> Outcome | Resting:
        """How the run ended, or what it rests at, for example an approval that nobody has given."""
        return self.state.outcome or Resting(pending(self.state))

    @property
    def completed(self) -> bool:
        """Whether the model gave a final answer."""
        return isinstance(self.outcome, Completed)

    @property
    def text(self) -> str:
        """The final answer; of a run that ended otherwise, the text of its outcome, mostly empty."""
        return str(getattr(self.outcome, "content", ""))

    @property
    def usage(self) -> RunUsage:
        """The tokens of all requests so far, with those of inner agents (``state.tally.by_tools``)."""
        tally = self.state.tally
        return RunUsage(
            tally.prompt_tokens,
            tally.completion_tokens,
            tally.cached_tokens,
            tally.reasoning_tokens,
            tally.prompt_audio_tokens,
            tally.completion_audio_tokens,
        )

    @property
    def cost(self) -> float | None:
        """What the run cost: as its provider reports, in its currency, else by the plan's price.

        ``None`` if the cost of one of its replies is unknown; 0 if the provider says that it was free. The
        runs of inner agents count.
        """
        return self.state.tally.known_cost

    @property
    def spent(self) -> Spent | None:
        """Tokens and cost as one value, for a tool that runs an agent itself: ``spend(run.spent)``."""
        spent, price = self.state.tally.spent, self.state.present.price
        return spent if spent is None or price is None else replace(spent, currency=price.currency)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The whole conversation: what the run began with, and what came of it."""
        return (*self.state.messages.messages,)

    def messages_as_dicts(self) -> list[dict[str, Json]]:
        """The whole conversation in the chat-completions form, which a prompt may have too."""
        return [dict(wire_tree(message)) for message in self.messages]

    def raise_for_outcome(self) -> Self:
        """This run, if the model gave a final answer.

        :raises OutcomeError: if it did not; has the outcome
        """
        if not self.completed:
            raise OutcomeError(self._shown(failure_in_words(self.outcome, self.server)), self.outcome)
        return self

    def view(self, file: Path | str | None = None, *, open_page: bool = True) -> Path:
        """Write this run as one self-contained HTML page, and open it; returns the page's path.

        A run of an agent that was recorded (``record=``) has raw requests and replies there, too.

        :param file: where the page goes; by default a file in a new temporary folder
        :param open_page: whether it opens in the browser, where there is a display
        :raises AdapterError: if the page cannot be written
        """
        page = run_page_module().view_run(self, self._recording_path(), file, self._shown, opens=open_page)
        return Path(page)

    def _recording_path(self) -> Path | None:
        return None

    def _shown(self, text: str) -> str:
        return printable_text(text)

    def __repr__(self) -> str:
        line = " ".join((self.text or outcome_in_words(self.outcome, self.server).sentence).split())
        tally = self.state.tally
        said = repr(line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…")
        calls = count_with_noun(tally.tool_calls, "tool call")
        ignored = f", {tally.ignored_calls} ignored" if tally.ignored_calls else ""
        turns = count_with_noun(tally.turns, "turn")
        return f"<Run {self.outcome.name}: {self._shown(said)}; {turns}, {calls}{ignored}>"

    def _repr_html_(self) -> str:
        from html import escape

        words = "; ".join(filter(None, outcome_in_words(self.outcome, self.server)[:2]))
        rows = {
            self.outcome.name: self.text or words,
            "model": self.state.present.model,
            **run_statistics_as_text(self),
        }
        cells = (
            f'<tr><th style="text-align:left">{escape(name)}</th>'
            f'<td style="text-align:left;white-space:pre-wrap">{escape(self._shown(text))}</td></tr>'
            for name, text in rows.items()
        )
        page = run_page_module().notebook_html(self, self._recording_path(), self._shown)
        return f"<div><table>{''.join(cells)}</table>{page}</div>"


def run_statistics_as_text(run: Run) -> dict[str, str]:
    """What a run did, took and cost, for people; of most, 0 and what is not known is left out."""
    tally, spent = run.state.tally, run.state.tally.by_tools
    some = {
        "failed calls": tally.failed_calls,
        "ignored calls": tally.ignored_calls,
        "from the cache": tally.cached_tokens,
        "for reasoning": tally.reasoning_tokens,
        "tokens of inner agents": spent.prompt_tokens + spent.completion_tokens if spent else 0,
    }
    return {
        "turns": f"{tally.turns:,}",
        "tool calls": f"{tally.tool_calls:,}",
        "tokens": f"{tally.prompt_tokens:,} + {tally.completion_tokens:,}",
        **{name: f"{count:,}" for name, count in some.items() if count},
        **{name: text for name, text in (("cost", cost_in_words(run)), ("time", str(run.timing))) if text},
    }


def cost_in_words(run: Run) -> str:
    """The cost for people: ``unknown`` if it is, and empty if no model has replied."""
    tally, price = run.state.tally, run.state.present.price
    if run.cost is None:
        return "unknown" if tally.unpriced else ""
    return f"{run.cost:.6g}" + ("" if price is None else f" {price.currency}")
