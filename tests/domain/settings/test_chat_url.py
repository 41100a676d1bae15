from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import worked
from toolreel_core._settings import api_prefix_error_text, chat_url


@pytest.mark.parametrize(
    ("base_url", "prefix", "url"),
    worked("the url is base prefix chat completions and query", "runs-and-plans"),
)
def test_the_url_is_base_prefix_chat_completions_and_query(base_url: str, prefix: str, url: str) -> None:
    assert chat_url(base_url, prefix) == url


segments = st.lists(st.text("abv1.-", min_size=1, max_size=4), max_size=3).map("/".join)


@given(segments, segments, st.sampled_from(["", "api-version=2024-06-01", "a=/v1/&b=?"]))
def test_host_path_and_query_stay_and_a_complete_url_is_final(path: str, prefix: str, query: str) -> None:
    asked = chat_url(f"http://here/{path}?{query}", prefix)
    parts = urlsplit(asked)
    assert (parts.netloc, parts.query) == ("here", query)
    assert parts.path.startswith(f"/{path}".rstrip("/"))
    assert parts.path.endswith("/chat/completions")
    assert {chat_url(asked, prefix), chat_url(asked, ""), chat_url(asked)} == {asked}


@pytest.mark.parametrize("prefix", ["", "/", "/v1", "openai/v1", " /v1 ", "/a%20b"])
def test_a_path_is_a_prefix(prefix: str) -> None:
    assert api_prefix_error_text(prefix) == ""


@pytest.mark.parametrize("prefix", ["?x=1", "/v1?x=1", "/v1#a", "/a b", "/a\nb", "/\x7f", "/ü"])
def test_what_would_change_the_query_is_no_prefix(prefix: str) -> None:
    assert api_prefix_error_text(prefix) == "expected a path such as /v1, without a query"
