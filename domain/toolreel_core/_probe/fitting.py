"""From findings to settings: what a provider's preset has to say, each with the finding that says so.

A finding that repeated answers disagree about settles nothing: then the careful default holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, assert_never, get_args

from toolreel_core._jsontext import Json, Tree
from toolreel_core._probe.finding import Finding, bare, words_of
from toolreel_core._probe.known_facts import ENCRYPTED, settled_form
from toolreel_core._settings import LoopConfig, Provider, WireForm

Section: TypeAlias = Literal["provider", "config", "request_overrides"]
SECTIONS: Final[tuple[Section, ...]] = get_args(Section)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting that findings decide."""

    section: Section
    key: str
    value: Json
    because: str
    """The finding and its requests, in a sentence."""
    form: WireForm = "chat_completions"
    """The form in which the server is asked; it has defaults of its own."""

    @property
    def default(self) -> Json:
        """What holds without it."""
        match self.section:
            case "provider":
                form = "chat_completions" if self.key == "wire_form" else self.form
                return getattr(Provider(wire_form=form), self.key)  # type: ignore[no-any-return]
            case "config":
                return getattr(LoopConfig(), self.key)  # type: ignore[no-any-return]
            case "request_overrides":
                return None
            case _:
                assert_never(self.section)

    @property
    def is_default(self) -> bool:
        """Whether it is so without a preset."""
        return self.default == self.value

    @property
    def can_be_set(self) -> bool:
        """Whether it can be said of a server that speaks this form, which decides some settings itself."""
        if self.section != "provider":
            return True
        provider = Provider.of({"wire_form": self.form, self.key: self.value})
        return bool(getattr(provider, self.key) == self.value)


@dataclass(frozen=True, slots=True)
class Found:
    """The stable findings, by name."""

    by_name: Mapping[str, Finding] = field(default_factory=dict[str, Finding])

    def word(self, name: str) -> str:
        """The verdict on a question; empty if there is none."""
        finding = self.by_name.get(name)
        return str(finding.word) if finding else ""

    def because(self, *names: str) -> str:
        """What these findings say, in a sentence."""
        told = (self.by_name[name] for name in names if name in self.by_name)
        return "; ".join(f"{each.name}: {each.word} ({each.evidence}): {each.detail}" for each in told)


_Rule: TypeAlias = Callable[[Found], tuple[Json, tuple[str, ...]] | None]
"""The value of a setting, and the findings that say so; ``None`` if they say nothing."""


def settings(findings: Sequence[Finding]) -> tuple[Setting, ...]:
    """The settings that the findings decide, also where they are those of the defaults."""
    found = Found({each.name: each for each in findings if each.stable and each.word not in {"lost", "cut"}})
    return tuple(_settings(found))


def _settings(found: Found) -> Iterator[Setting]:
    settled = settled_form(found.word)
    form = settled[0] if settled else "chat_completions"
    for (section, key), rule in _RULES.items():
        if decided := rule(found):
            value, names = decided
            setting = Setting(section, key, value, found.because(*names), form)
            if setting.can_be_set:
                yield setting


def preset_tree(decided: Sequence[Setting], about: str, day: str, evidence: Sequence[str]) -> Tree:
    """The preset with all settings that differ from the defaults, as a catalogue has it."""
    kept = [each for each in decided if not each.is_default]
    sections: dict[str, Json] = {}
    for section in SECTIONS:
        own = {each.key: each.value for each in kept if each.section == section}
        sections |= {section: own} if own else {}
    because: Tree = {each.key: each.because for each in kept}
    head: Tree = {"about": about, "evidence": [*evidence], "verified_on": day}
    return {**head, **sections, **({"because": because} if because else {})}


def _by_word(name: str, values: Mapping[str, Json]) -> _Rule:
    def rule(found: Found) -> tuple[Json, tuple[str, ...]] | None:
        word = found.word(name)
        return (values[word], (name,)) if word in values else None

    return rule


def _wire_form(found: Found) -> tuple[Json, tuple[str, ...]] | None:
    return settled_form(found.word)


def _parallel(found: Found) -> tuple[Json, tuple[str, ...]] | None:
    names = ("parallel_tool_calls", "several_calls")
    match found.word("parallel_tool_calls"):
        case "refused":
            return "no", names[:1]
        case "several_calls":
            return "no", names
        case "one_call":
            # A model that makes one call anyway shows nothing.
            return ("yes", names) if found.word("several_calls") == "several_calls" else None
        case _:
            return None


_FORCED: Final[Mapping[str, Json]] = {"called": "yes", "ignored": "no", "refused": "no"}


def _required(found: Found, *, thinking: bool) -> tuple[Json, tuple[str, ...]] | None:
    word = found.word("tool_choice_required")
    # Where a model thinks, a refusal says nothing about the same model when it does not.
    if word not in _FORCED or (found.word("reasoning") == "") == thinking:
        return None
    return _FORCED[word], ("tool_choice_required", *(("reasoning",) if thinking else ()))


def _format_with_tools(found: Found) -> tuple[Json, tuple[str, ...]] | None:
    if found.word("tools") != "called":
        return None
    word = found.word("json_schema_with_tools")
    values = {"called": "yes", "held": "no", "answered": "no", "refused": "no"}
    return (values[word], ("json_schema_with_tools",)) if word in values else None


def _thinking(found: Found) -> tuple[Json, tuple[str, ...]] | None:
    return (True, ("reasoning",)) if found.word("reasoning") else None


def _reasoning_required(found: Found) -> tuple[Json, tuple[str, ...]] | None:
    if found.word("assistant_turn_reasoning") == "accepted":
        return "all_assistant", ("assistant_turn", "assistant_turn_reasoning")
    if found.word("tool_turn_reasoning") == "accepted":
        return "tool_turns", ("tool_turn", "tool_turn_reasoning")
    return ("none", ("tool_turn",)) if found.word("tool_turn") == "accepted" else None


def _if_required(value: Json) -> _Rule:
    def rule(found: Found) -> tuple[Json, tuple[str, ...]] | None:
        required = _reasoning_required(found)
        return (value, required[1]) if required and required[0] != "none" else None

    return rule


def _reasoning_replay(found: Found) -> tuple[Json, tuple[str, ...]] | None:
    if found.word("reasoning_echo") == "refused":
        return "never", ("reasoning_echo",)
    return ("verbatim", ("reasoning_echo",)) if found.word("reasoning_echo") == "accepted" else None


def _signature_channel(found: Found) -> tuple[Json, tuple[str, ...]] | None:
    if found.word("tool_turn_signature") == "accepted":
        return "extra_content", ("tool_turn", "tool_turn_signature")
    channel = found.word("signatures")
    return (channel, ("signatures",)) if channel else None


def _content(found: Found) -> tuple[Json, tuple[str, ...]] | None:
    additions = ("tool_turn", "tool_turn_reasoning", "tool_turn_signature", "tool_turn_name")
    if taken := [name for name in additions if found.word(name) == "accepted"]:
        return "empty", (taken[0],)
    forms = {"content_null": "null", "content_absent": "omit", "content_space": "space"}
    for name, form in forms.items():
        if found.word(name) == "accepted":
            return form, ("tool_turn", name)
    return None


def _single_system(found: Found) -> tuple[Json, tuple[str, ...]] | None:
    names = ("two_systems", "late_system")
    refused = tuple(name for name in names if found.word(name) == "refused")
    if refused:
        return True, refused
    return (False, names) if all(found.word(name) == "accepted" for name in names) else None


def _id_style(found: Found) -> tuple[Json, tuple[str, ...]] | None:
    if found.word("call_ids") == "refused":
        return "alnum9", ("call_ids",)
    if found.word("call_id_form") == "functions.NAME:NUMBER":
        return "kimi", ("call_id_form",)
    return ("keep", ("call_ids",)) if found.word("call_ids") == "accepted" else None


def _schema_transform(found: Found) -> tuple[Json, tuple[str, ...]] | None:
    names = {
        "schema_keywords": "gemini_subset",
        "schema_refs": "inline_defs",
        "strict_tools": "strip_strict",
    }
    for name, transform in names.items():
        if found.word(name) == "refused":
            return transform, (name,)
    return ("none", tuple(names)) if all(found.word(name) == "accepted" for name in names) else None


def _max_tokens_field(found: Found) -> tuple[Json, tuple[str, ...]] | None:
    names = ("max_tokens", "max_completion_tokens")
    kept = [name for name in names if found.word(name) == "honoured"]
    lost = [name for name in names if found.word(name) in {"refused", "ignored"}]
    if len(kept) == 1 and lost:
        return kept[0], names
    return ("", names) if len(kept) > 1 else None


def _temperature(found: Found) -> tuple[Json, tuple[str, ...]] | None:
    if found.word("temperature") == "refused":
        return "drop", ("temperature",)
    if found.word("temperature_high") == "refused":
        return "max1", ("temperature_high",)
    return ("free", ("temperature_high",)) if found.word("temperature_high") == "accepted" else None


def _control_tokens(found: Found) -> tuple[Json, tuple[str, ...]] | None:
    names = ("control_tokens", "texts_like_them")
    counts = [_count(found, name) for name in names]
    if 0 in counts:
        return None
    # A control token that is read as one takes 1 token instead of about 6, four times in the text.
    return counts[1] - counts[0] >= 12, names


def _count(found: Found, name: str) -> int:
    if found.word(name) != "counted":
        return 0
    digits = found.by_name[name].detail.partition(" ")[0]
    return int(digits) if digits.isdecimal() else 0


def _stream_options(found: Found) -> tuple[Json, tuple[str, ...]] | None:
    settled = settled_form(found.word)
    if settled and settled[0] != "chat_completions":
        return None  # the other forms always count
    if found.word("stream") == "streamed_with_usage":
        return "yes", ("stream",)
    streams = found.word("stream_plain") in {"streamed", "streamed_with_usage"}
    return ("no", ("stream", "stream_plain")) if streams and found.word("stream") == "refused" else None


def _dialects(found: Found) -> tuple[Json, tuple[str, ...]] | None:
    finding = found.by_name.get("text_calls")
    named = bare(words_of(finding)) if finding else ()
    return (["marked", *named], ("text_calls",)) if named else None


def _constrained(found: Found) -> tuple[Json, tuple[str, ...]] | None:
    unreliable = found.word("tools") in {"text_call", "answered"}
    held = unreliable and found.word("json_schema_with_tools") == "held"
    return ("response_format", ("tools", "json_schema_with_tools")) if held else None


_HONOURED: Final[Mapping[str, Json]] = {"honoured": "yes", "ignored": "no", "refused": "no"}
_RULES: Final[Mapping[tuple[Section, str], _Rule]] = {
    ("provider", "wire_form"): _wire_form,
    ("provider", "supports_tools"): _by_word("tools", {"called": "yes", "refused": "no"}),
    ("provider", "supports_parallel_tool_calls"): _parallel,
    ("provider", "supports_required"): lambda found: _required(found, thinking=False),
    ("provider", "supports_required_while_thinking"): lambda found: _required(found, thinking=True),
    ("provider", "supports_response_format"): _by_word("response_format", _HONOURED),
    ("provider", "supports_json_schema"): _by_word("json_schema", _HONOURED),
    ("provider", "supports_response_format_with_tools"): _format_with_tools,
    ("provider", "supports_stream_options"): _stream_options,
    ("provider", "supports_images"): _by_word("images", {"seen": "yes", "refused": "no"}),
    ("provider", "images_in_tool_results"): _by_word("image_result", {"seen": "yes", "refused": "no"}),
    ("provider", "reports_cost"): _by_word("cost", {"usage.cost": "yes"}),
    ("provider", "thinking"): _thinking,
    ("provider", "reasoning_field"): _if_required("reasoning_content"),
    ("provider", "reasoning_replay"): _reasoning_replay,
    ("provider", "reasoning_required_on"): _reasoning_required,
    ("provider", "reasoning_placeholder"): _if_required(" "),
    ("provider", "signature_channel"): _signature_channel,
    ("provider", "pin_upstream"): _by_word("signatures", {"reasoning_details": True}),
    ("provider", "tool_turn_content"): _content,
    ("provider", "assistant_after_tool"): _by_word("user_after_tool", {"refused": True, "accepted": False}),
    ("provider", "single_leading_system"): _single_system,
    ("provider", "tool_result_name"): _by_word("tool_turn_name", {"accepted": True}),
    ("provider", "id_style"): _id_style,
    ("provider", "schema_transform"): _schema_transform,
    ("provider", "max_tokens_field"): _max_tokens_field,
    ("provider", "temperature_rule"): _temperature,
    ("provider", "special_token_guard"): _control_tokens,
    ("request_overrides", "include"): _by_word("responses_reasoning", {"carried": [*ENCRYPTED]}),
    ("config", "text_dialects"): _dialects,
    ("config", "dialects_in_reasoning"): _by_word("text_calls_in_reasoning", {"the reasoning": True}),
    ("config", "constrained_calls"): _constrained,
}
PROBED: Final = frozenset(_RULES)
"""The settings that a probe can decide, each with its section."""
