from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolreel.cassette import ConversationBodies
from toolreel_core._jsontext import Json, JsonText, canonical, parse

SAID: list[Json] = [{"role": "user", "content": "é"}, {"role": "user"}, {"a": [1]}, 1, 12, "]", None, ["x"]]
AFTER: list[dict[str, Json]] = [{}, {"n": 1}, {"messages": 0}]
BODIES = st.lists(
    st.tuples(st.lists(st.sampled_from(SAID), min_size=1, max_size=6), st.sampled_from(AFTER)), max_size=6
)


def body_of(messages: list[Json], after: dict[str, Json]) -> bytes:
    text = canonical({"model": "m", "messages": messages})
    return (
        text[:-1] + "".join(f',"{key}":{canonical(value)}' for key, value in after.items()) + "}"
    ).encode()


@given(asked=BODIES)
def test_a_body_is_what_was_left_out_and_what_is_left(
    asked: list[tuple[list[Json], dict[str, Json]]],
) -> None:
    bodies, last = ConversationBodies(), list[Json]()
    for messages, after in asked:
        body = body_of(messages, after)
        whole = parse(JsonText(body.decode()))
        found = bodies.read(body)
        if found is None:
            assert canonical(whole).encode() != body or isinstance(messages[0], list)
            continue
        tree, same = found
        new = tree["messages"]
        assert isinstance(new, list)
        assert [*last[:same], *new] == messages
        assert {**tree, "messages": messages} == whole
        last = messages
