from __future__ import annotations

import pytest

from tests.samples import worked
from toolreel.cassette import compared_endpoint


@pytest.mark.parametrize(("url", "compared"), worked("an endpoint without its mount", "cassettes"))
def test_the_endpoint_is_compared_and_not_where_it_is_mounted(url: str, compared: str) -> None:
    assert compared_endpoint(url) == compared
