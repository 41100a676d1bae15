from __future__ import annotations

import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyrsistent import PMap, pmap

from tests.samples import ID_FORMS, project
from tests.strategies import histories, providers
from toolreel_core._conversation import (
    AssistantMessage,
    Message,
    Projection,
    SentCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
    unused_call_id,
)
from toolreel_core._jsontext import Json, JsonText, canonical
from toolreel_core._settings import IdStyle, Provider

HI, BYE = UserMessage("hi"), AssistantMessage("bye")


def calling(*ids: str, name: str = "ping") -> AssistantMessage:
    return AssistantMessage("", tuple(SentCall(each, name, "{}") for each in ids))


def result(call_id: str, text: str = "{}") -> ToolMessage:
    return ToolMessage(call_id, text)


def thought(content: str = "", /, *calls: SentCall, **extras: Json) -> AssistantMessage:
    """What the model said, with fields of the provider's own."""
    return AssistantMessage(content, calls, canonical(extras))


UNDERSTOOD = AssistantMessage("Understood.")


def test_what_made_another_message_of_one_has_its_name() -> None:
    odd = Provider(
        id_style="alnum9", tool_result_name=True, assistant_after_tool=True, reasoning_replay="never"
    )
    at, named = Projection(odd), list[tuple[str, ...]]()
    for message in (HI, thought("", SentCall("a", "ping", "{}"), x=1), result("a"), HI, BYE):
        at, shown = at.of(message)
        named += [one.quirks for one in shown]
    assert named == [
        *((), ("id_style", "reasoning_replay"), ("tool_result_name",), ("assistant_after_tool",), (), ()),
    ]


@given(histories, providers)
def test_projecting_twice_changes_nothing(history: list[Message], provider: Provider) -> None:
    sent = project(history, provider)
    assert project(sent, provider) == sent


@given(histories, providers)
def test_whatever_was_stored_a_provider_takes_what_goes_out(
    history: list[Message], provider: Provider
) -> None:
    used_ids: set[str] = set()
    waiting: list[str] = []
    before: Message = HI
    for place, message in enumerate(project(history, provider)):
        if isinstance(message, ToolMessage):
            waiting.remove(message.call_id)
            assert bool(message.name) is provider.tool_result_name
        else:
            assert waiting == [], "something was said before all calls had their results"
        if isinstance(message, AssistantMessage):
            assert message.content.strip() or message.calls or not provider.drop_empty_assistant
            waiting = [call.id for call in message.calls]
            assert len({*waiting}) == len(waiting)
            assert used_ids.isdisjoint(waiting)
            used_ids.update(waiting)
            assert all(len(call.name) <= 64 and "." not in call.name for call in message.calls)
            assert all(re.fullmatch(ID_FORMS[provider.id_style], call.id) for call in message.calls)
        if isinstance(message, UserMessage):
            assert not (provider.assistant_after_tool and isinstance(before, ToolMessage))
        if isinstance(message, SystemMessage):
            assert place == 0 or not provider.single_leading_system
        before = message
    assert waiting == []


@given(histories, providers)
def test_what_the_provider_said_goes_back_as_far_as_it_wants_it(
    history: list[Message], provider: Provider
) -> None:
    users = [place for place, message in enumerate(history) if isinstance(message, UserMessage)]
    wanted = {"verbatim": 0, "current_turn": max(users, default=-1) + 1, "never": len(history)}
    begins = wanted[provider.reasoning_replay]
    said = [
        (own_fields(message), place >= begins)
        for place, message in enumerate(history)
        if isinstance(message, AssistantMessage)
        and (message.content.strip() or message.calls or not provider.drop_empty_assistant)
    ]
    sent = project(history, provider)
    echoed = [own_fields(each) for each in sent if isinstance(each, AssistantMessage) and each != UNDERSTOOD]
    nothing = canonical({})
    assert echoed == [own if echo else [nothing] * len(own) for own, echo in said]


def own_fields(message: AssistantMessage) -> list[JsonText]:
    return [message.extras, *(call.extras for call in message.calls)]


STYLES: tuple[IdStyle, ...] = get_args(IdStyle)
LONG = "call_" + "x" * 36


def sent(*wanted: str, style: IdStyle, name: str = "ping") -> list[str]:
    """The ids under which calls with these go out, one after another."""
    used_ids: PMap[str, int] = pmap()
    ids: list[str] = []
    for each in wanted:
        ids.append(unused_call_id(each, name, len(ids), used_ids, style))
        used_ids = used_ids.set(each, (used_ids.get(each) or 0) + 1)
        used_ids = used_ids if ids[-1] in used_ids else used_ids.set(ids[-1], 1)
    return ids


def test_kimi_passes_over_a_number_that_is_taken() -> None:
    assert sent("functions.ping:1", "call_a", "call_b", style="kimi") == [
        *("functions.ping:1", "functions.ping:2", "functions.ping:3"),
    ]


def test_a_call_without_an_id_gets_one() -> None:
    assert sent("", "", "call_2", style="keep") == ["call_1", "call_2", "call_2_2"]


@pytest.mark.parametrize("style", STYLES)
@given(
    wanted=st.lists(st.sampled_from(["", "a", "a_2", "call_1", "functions.x:1", "D681PevKs", LONG, "\ud83d"]))
)
def test_ids_are_unique_have_the_form_and_stay_when_they_go_out_again(
    style: IdStyle, wanted: list[str]
) -> None:
    own = sent(*wanted, style=style)
    assert len({*own}) == len(own)
    assert all(re.fullmatch(ID_FORMS[style], each) for each in own)
    assert sent(*own, style=style) == own


def test_an_id_that_is_made_follows_from_the_wanted_one_alone() -> None:
    (alone,) = sent("call é", style="alnum9")
    assert sent("call_a", "call_b", "call é", style="alnum9")[2] == alone
