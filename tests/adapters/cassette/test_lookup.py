from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel.cassette import Unplayed, endpoint, request_key


@pytest.mark.parametrize(
    ("url", "compared"),
    [
        ("https://api.test/v1/chat/completions", "/chat/completions"),
        ("https://api.test/chat/completions", "/chat/completions"),
        ("https://api.test/v1beta/openai/chat/completions", "/chat/completions"),
        ("https://a/chat/completions/v1/chat/completions?x=1", "/chat/completions?x=1"),
        ("https://a/deep/v1beta2/models/v2/x", "/models/v2/x"),
        ("https://a/v1", "/"),
        ("https://a/v1extra/models", "/v1extra/models"),
        ("https://a/models?key=5", "/models?key=REDACTED"),
    ],
)
def test_the_endpoint_is_compared_and_not_where_it_is_mounted(url: str, compared: str) -> None:
    assert endpoint(url) == compared


REQUEST = st.tuples(
    st.sampled_from(["POST /a", "GET /a"]),
    st.lists(st.sampled_from([b"a", b"b", b"ab", b"c"]), max_size=6),
)


def whole(request: tuple[str, list[bytes]]) -> tuple[str, bytes]:
    return request[0], b"".join(request[1])


@given(recorded=st.lists(REQUEST, max_size=8), asked=st.lists(REQUEST, max_size=12))
def test_a_request_gets_the_first_unplayed_that_says_the_same_however_both_are_parted(
    recorded: list[tuple[str, list[bytes]]], asked: list[tuple[str, list[bytes]]]
) -> None:
    unplayed = Unplayed(request_key(*request) for request in recorded)
    left = dict(enumerate(map(whole, recorded)))
    for request in [*asked, *recorded]:
        key = request_key(*request)
        expected = next((index for index, kept in left.items() if kept == whole(request)), None)
        assert unplayed.find(key) == expected
        assert unplayed.holds(key) == (whole(request) in map(whole, recorded))
        if expected is not None:
            unplayed.play(expected)
            del left[expected]
        assert unplayed.left == tuple(left)
