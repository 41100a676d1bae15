from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolreel.envelope import failed
from toolreel.faults import result_unknown
from toolreel.messages import AssistantMessage, Message, SentCall, SystemMessage, ToolMessage, UserMessage
from toolreel.projection import project

HI, BYE = UserMessage("hi"), AssistantMessage("bye")


def calling(*ids: str, name: str = "ping") -> AssistantMessage:
    return AssistantMessage("", tuple(SentCall(each, name, "{}") for each in ids))


def result(call_id: str, text: str = "{}") -> ToolMessage:
    return ToolMessage(call_id, text)


def unknown(call_id: str, name: str = "ping") -> ToolMessage:
    return ToolMessage(call_id, failed(name, result_unknown(name)).text())


VALID = (SystemMessage("Be brief."), HI, calling("a", "b"), result("b"), result("a"), BYE, HI)


def test_what_is_valid_goes_out_as_it_is() -> None:
    assert project(VALID) == VALID


def test_an_id_that_comes_again_is_told_apart_with_its_result() -> None:
    turns = (HI, calling("call_0"), result("call_0", "1"), calling("call_0"), result("call_0", "2"))
    assert project(turns) == (
        *(HI, calling("call_0"), result("call_0", "1")),
        *(calling("call_0_2"), result("call_0_2", "2")),
    )


def test_ids_of_one_message_are_told_apart_and_paired_in_order() -> None:
    assert project((calling("x", "x", "x_2"), result("x", "1"), result("x", "2"), result("x_2", "3"))) == (
        calling("x", "x_2", "x_2_2"),
        result("x", "1"),
        result("x_2", "2"),
        result("x_2_2", "3"),
    )


def test_an_id_that_comes_every_turn_is_told_apart_every_time() -> None:
    turns = [message for _ in range(4) for message in (calling("call_0"), result("call_0"))]
    sent = [message.calls[0].id for message in project(turns) if isinstance(message, AssistantMessage)]
    assert sent == ["call_0", "call_0_2", "call_0_3", "call_0_4"]


def test_a_call_without_a_result_gets_one_that_says_so_before_anything_else_is_said() -> None:
    assert project((calling("a", "b"), result("a"), HI, calling("c"))) == (
        *(calling("a", "b"), result("a"), unknown("b"), HI),
        *(calling("c"), unknown("c")),
    )
    assert project((calling("a"), BYE)) == (calling("a"), unknown("a"), BYE)


def test_a_result_without_its_call_and_a_second_one_stay_behind() -> None:
    assert project((result("a"), HI, calling("a"), result("a", "1"), result("a", "2"))) == (
        *(HI, calling("a"), result("a", "1")),
    )
    assert project((calling("a"), HI, result("a"))) == (calling("a"), unknown("a"), HI)


def test_an_empty_assistant_message_stays_behind() -> None:
    assert project((HI, AssistantMessage(" \n"), AssistantMessage(""), BYE)) == (HI, BYE)


def test_a_name_that_no_provider_takes_goes_out_as_one_that_fits() -> None:
    assert project((calling("a", name="files.read"), result("a"))) == (
        calling("a", name="files_read"),
        result("a"),
    )


ids = st.sampled_from(["a", "b", "a_2"])
histories: st.SearchStrategy[list[Message]] = st.lists(
    st.one_of(
        st.builds(SystemMessage, st.text(max_size=2)),
        st.builds(UserMessage, st.text(max_size=2)),
        st.builds(
            AssistantMessage,
            st.sampled_from(["", " ", "said"]),
            st.lists(
                st.builds(SentCall, ids, st.sampled_from(["ping", "a.b", "x" * 70]), st.just("{}")),
                max_size=3,
            ).map(tuple),
        ),
        st.builds(ToolMessage, ids, st.just("{}")),
    ),
    max_size=12,
)


@given(histories)
def test_projecting_twice_changes_nothing(history: list[Message]) -> None:
    assert project(project(history)) == project(history)


@given(histories)
def test_whatever_was_stored_a_provider_takes_what_goes_out(history: list[Message]) -> None:
    taken: set[str] = set()
    waiting: list[str] = []
    for message in project(history):
        if isinstance(message, ToolMessage):
            waiting.remove(message.call_id)
            continue
        assert waiting == [], "something was said before all calls had their results"
        if isinstance(message, AssistantMessage):
            assert message.content.strip() or message.calls
            waiting = [call.id for call in message.calls]
            assert len({*waiting}) == len(waiting)
            assert taken.isdisjoint(waiting)
            taken.update(waiting)
            assert all(len(call.name) <= 64 and "." not in call.name for call in message.calls)
    assert waiting == []
