"""``fork``: continue a recorded run from one of its events, with something changed.

The kept events stay as they were recorded, and the state is computed under the changed plan, although the
requests that they answer are different now. A record answers what follows as far as it fits: the next reply
answers a request, whatever its content; a result or an approval only an equal call; the order is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, cast

from toolreel._driver import (
    Observer,
    Performer,
    Run,
    Wanted,
    go_on,
)
from toolreel._internal import ForkError
from toolreel._journal import MemoryJournal, Recorded, RunSource, load_recorded_run, parse_journal
from toolreel._replay.journal_performer import describe_effect
from toolreel._replay.trace import Answered, Trace, Traced, Underway, retrace
from toolreel_core._conversation import Message, SystemMessage, UserMessage
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import Json, JsonText, Tree, json_text, merged, parse
from toolreel_core._plan import OutputSpec, Plan, Preset, exact_config_patch
from toolreel_core._protocol import AskApproval, Outcome, RunTool, Settled, events
from toolreel_core._settings import Provider
from toolreel_core._tools import SchemaLike, ToolSurface

_NO_PRESET = Preset()


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes to a recorded run, for ``fork``; what you do not give stays as recorded."""

    model: str | None = None
    prompt: str | None = None
    """Replaces the last user message of the plan."""
    system: str | None = None
    """Replaces the first system message of the plan; without one, it is put before all messages."""
    preset: Preset = _NO_PRESET
    """A preset that overrides recorded settings, for example ``shipped().merged(["qwen2_5_coder"])``."""
    config: Mapping[str, Json] = field(default_factory=dict)
    """Settings of :class:`~toolreel_core._settings.loop_config.LoopConfig`, which override the preset; a list
    of names adds to what was recorded, an empty one clears, and ``{"only": names}`` replaces."""
    provider: Mapping[str, Json] = field(default_factory=dict)
    """Settings of :class:`~toolreel_core._settings.provider_support.Provider`."""
    options: Mapping[str, Json] = field(default_factory=dict)
    """Options of the request, such as ``temperature``."""
    overrides: Mapping[str, Json] = field(default_factory=dict)
    """Keys of the request body that override all others, merged deeply with the recorded ones."""
    tools: ToolSurface | None = None
    output: SchemaLike | OutputSpec | None = None
    """What the final answer has to be, as for ``Plan.of``."""
    seed: int | None = None
    """Another seed gives later calls new idempotency keys, so that tools act again even if they remember the
    recorded run."""
    tool_result: str | None = None
    """Replaces the recorded output of a tool; the last kept event must be a tool result."""
    said: str | None = None
    """Replaces what the user said in a conversation; the last kept event must be a message of the user."""

    def plan(self, was: Plan) -> Plan:
        """The plan with these changes.

        >>> from toolreel import LoopConfig
        >>> was = Plan.of(model="m", messages="hi", config=LoopConfig(max_turns=3))
        >>> now = Changes(model="other", options={"temperature": 0}).plan(was)
        >>> now.model, now.options, now.config.max_turns
        ('other', '{"temperature":0}', 3)

        :raises ToolreelError: if a setting is invalid, or there is no user message to replace
        """
        preset = self.preset.changes()["provider"]
        provider = Provider.of({**was.provider.changes(), **preset, **self.provider})
        tools = was.tools if self.tools is None else self.tools
        # A preset gives only those of its options that the provider supports.
        traits = {setting.name: getattr(provider, setting.name) for setting in fields(provider)}
        own = self.preset.plan(model=was.model, messages=was.messages, tools=tools, settings=traits)
        options = {**merged(_parse_tree(was.options), _parse_tree(own.options)), **self.options}
        overrides = merged(_parse_tree(was.overrides), self.preset.changes()["request_overrides"])
        return replace(
            was,
            model=was.model if self.model is None else self.model,
            # The recorded price is of the recorded model alone.
            price=self.preset.price or (was.price if self.model in {None, was.model} else None),
            messages=_messages_with_replaced_prompts(was.messages, self.prompt, self.system),
            options=_object_text("options", was.options, options),
            tools=tools,
            config=Preset(config=exact_config_patch(was.config)).merged(self.preset).config_with(self.config),
            seed=was.seed if self.seed is None else self.seed,
            provider=provider,
            output=was.output if self.output is None else OutputSpec.of(self.output),
            overrides=_object_text("overrides", was.overrides, merged(overrides, self.overrides)),
            presets=tuple(dict.fromkeys((*was.presets, *self.preset.names))),
        )


NOTHING_CHANGED = Changes()


def _messages_with_replaced_prompts(
    was: tuple[Message, ...], prompt: str | None, system: str | None
) -> tuple[Message, ...]:
    messages = [*was]
    if prompt is not None:
        user = [at for at, message in enumerate(messages) if isinstance(message, UserMessage)]
        if not user:
            raise ForkError("prompt: the recorded plan has no user message to replace")
        messages[user[-1]] = UserMessage(prompt)
    if system is not None:
        found = [at for at, message in enumerate(messages) if isinstance(message, SystemMessage)]
        at, end = (found[0], found[0] + 1) if found else (0, 0)
        messages[at:end] = [SystemMessage(system)]
    return tuple(messages)


def _object_text(part: str, was: JsonText, now: Mapping[str, Json]) -> JsonText:
    """The text of an object; unchanged if nothing differs, so that the plan keeps its digest."""
    return was if now == _parse_tree(was) else json_text(now, part)


def _parse_tree(text: JsonText) -> Tree:
    return cast("Tree", parse(text))


@dataclass(frozen=True, slots=True)
class Stop:
    n: int
    """Number of the recorded event that answers no pending effect; one more than the number of events if the
    record has ended."""
    why: str


def answer_run_from_record(run: Underway, record: Iterable[Traced]) -> Stop | None:
    """Answer a run from recorded events until one answers no pending effect, or the run has ended."""
    for traced in record:
        over, then = isinstance(run.state.phase, Settled), traced.effect
        event: Any = traced.record.event
        # The changed run has ended earlier than the recorded one, whose next events have nothing to answer.
        if over and not isinstance(traced.before.phase, Settled):
            return None
        if then is None and (over or isinstance(event, events.CancelRequested | events.UserSpoke)):
            run.take_event(None, event)
            continue
        equivalent = [effect for effect in run.wanted.values() if _is_equivalent_effect(effect, then)]
        if not equivalent:
            what = f"answers {describe_effect(then)}" if then else "has an answer that came after its end"
            return (
                None if over else Stop(traced.record.n, f"the record {what}; {_phase_and_effects_text(run)}")
            )
        # Of two equal calls in a turn, each gets its own result.
        same_ref = (effect for effect in equivalent if then and effect.ref == then.ref)
        effect = next(same_ref, equivalent[0])
        run.take_event(effect, replace(event, ref=effect.ref))
    return None


def _phase_and_effects_text(run: Underway) -> str:
    wants = " and ".join(describe_effect(effect) for effect in run.wanted.values())
    return f"the run is in phase {type(run.state.phase).__name__} and wants {wants or 'nothing'}"


def _is_equivalent_effect(now: Wanted, then: Wanted | None) -> bool:
    if isinstance(now, RunTool | AskApproval) and isinstance(then, RunTool | AskApproval):
        return (type(now), now.name, now.arguments) == (type(then), then.name, then.arguments)
    return type(now) is type(then)


@dataclass(frozen=True, slots=True)
class Forked:
    """A fork, or its kept part alone; any driver continues it with ``go_on(forked.run.state, performer)``."""

    source: Recorded
    kept: int
    """The number of kept events."""
    answered: tuple[Answered, ...]
    """All events, the kept ones first, each with the effect that it answers under the changed plan."""
    run: Run
    stop: Stop | None = None
    """Where the answering record no longer fits; ``None`` if the run ended, or a performer answered."""

    @property
    def plan(self) -> Plan:
        """The recorded plan with the changes."""
        return self.run.state.plan

    @property
    def outcome(self) -> Outcome | None:
        """The outcome of the run; ``None`` if it has not ended."""
        return self.run.state.outcome

    @property
    def recorded(self) -> Recorded:
        """The fork as a record; its ``text`` is the content of a journal file."""
        journal = MemoryJournal(self.plan)
        for effect, event in self.answered:
            journal.record(effect, event)
        return parse_journal(journal.text, f"fork of {self.source.source} at {self.kept}")


def fork_without_continuing(source: RunSource, at: int, changes: Changes = NOTHING_CHANGED) -> Forked:
    trace, run = _replay_events_before_fork(source, at, changes)
    return Forked(trace.recorded, len(run.answered), tuple(run.answered), run.run)


def _replay_events_before_fork(source: RunSource, at: int, changes: Changes) -> tuple[Trace, Underway]:
    trace = retrace(load_recorded_run(source))
    if not 0 <= at <= len(trace.events):
        raise _fork_error(trace, f"there is no event {at} to fork at")
    kept = [*trace.events[:at]]
    if changes.tool_result is not None:
        _change_last_event(trace, kept, events.ToolReturned, "result of a tool", output=changes.tool_result)
    if changes.said is not None:
        _change_last_event(trace, kept, events.UserSpoke, "message of the user", content=changes.said)
    run = Underway(changes.plan(trace.recorded.plan))
    stop = answer_run_from_record(run, kept)
    if (reached := len(run.answered)) < len(kept):
        outcome = run.run.state.outcome
        why = f"the run is in phase Settled after event {reached}, as {outcome.name}" if outcome else ""
        raise ReplayMismatch(
            f"{trace.recorded.source}, event {reached + 1}: it does not fit the changed run: "
            f"{stop.why if stop else why}. Fork at {reached} or before. "
            f"The event: {trace.events[reached].summary}"
        )
    return trace, run


def fork(
    source: RunSource,
    at: int,
    changes: Changes = NOTHING_CHANGED,
    *,
    performer: Performer | None = None,
    answers: RunSource | None = None,
    observe: Observer | None = None,
) -> Forked:
    """Continue a recorded run from one of its events, with something changed.

    >>> from toolreel.demo import demo_cassette
    >>> forked = fork(demo_cassette(), 2, Changes(config={"max_turns": 2}))
    >>> len(forked.answered), forked.outcome
    (4, MaxTurns(limit=2))

    :param source: a record, or the path of its journal or cassette
    :param at: number of events to keep, from 0 to all
    :param performer: performs the effects after the kept events, such as
        :class:`~toolreel._driver.ports.Ports`
    :param answers: another record, whose events after the kept ones answer as far as they fit; by default and
        without a performer, those of ``source``
    :param observe: called with the notes after the last kept event, if there is a performer
    :returns: the fork with all its events; ``outcome`` is ``None`` if the answering record did not fit to the
        end
    :raises ForkError: if there is no such event, or nothing there to change
    :raises AdapterError: if a record cannot be read
    :raises toolreel.ReplayMismatch: if a kept event does not fit the run under the changed plan
    """
    trace, run = _replay_events_before_fork(source, at, changes)
    kept, stop = len(run.answered), None
    if performer is not None:
        go_on(run.state, performer, journal=run, observe=observe)
    else:
        other = trace if answers is None else retrace(load_recorded_run(answers))
        stop = answer_run_from_record(run, other.events[kept:])
        if stop is None and not isinstance(run.state.phase, Settled):
            end = len(other.events) + 1
            stop = Stop(end, f"the record has no event {end}; {_phase_and_effects_text(run)}")
    return Forked(trace.recorded, kept, tuple(run.answered), run.run, stop)


def _change_last_event(
    trace: Trace,
    kept: list[Traced],
    kind: type[events.ToolReturned | events.UserSpoke],
    what: str,
    **change: Any,  # noqa: ANN401 - of a field of the event
) -> None:
    if not kept or not isinstance(event := kept[-1].record.event, kind):
        raise _fork_error(trace, f"event {len(kept)} is no {what}, so there is none to change")
    kept[-1] = replace(kept[-1], record=replace(kept[-1].record, event=replace(event, **change)))


def _fork_error(trace: Trace, why: str) -> ForkError:
    last = len(trace.events)
    return ForkError(
        f"{trace.recorded.source}: {why}; the run can be forked at 0 (before all) to {last}, and "
        "`toolreel explain` lists its events"
    )
