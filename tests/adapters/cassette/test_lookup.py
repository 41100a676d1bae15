from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel.cassette import RequestKey, Unplayed, endpoint


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


BODY = st.lists(st.sampled_from([b"a", b"b", b"ab", b"c"]), max_size=6).map(tuple)
KEY = st.tuples(st.sampled_from(["POST /a", "GET /a"]), BODY)


def whole(key: RequestKey) -> tuple[str, bytes]:
    return key[0], b"".join(key[1])


@given(keys=st.lists(KEY, max_size=8), asked=st.lists(KEY, max_size=12), played=st.booleans())
def test_a_request_gets_the_first_that_says_the_same_however_both_are_parted(
    keys: list[RequestKey], asked: list[RequestKey], played: bool
) -> None:
    unplayed = Unplayed(keys)
    left = dict(enumerate(map(whole, keys)))
    for key in [*asked, *keys]:
        expected = next((index for index, kept in left.items() if kept == whole(key)), None)
        assert unplayed.find(key) == expected
        assert unplayed.holds(key) == (whole(key) in map(whole, keys))
        if played and expected is not None:
            unplayed.play(expected)
            del left[expected]
        assert unplayed.left == tuple(left)
