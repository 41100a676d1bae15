"""``toolreel durable worker --limit``: limits of an account, kept by one worker after another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_durable import said, serve, told
from tests.servers.chat_server import replying, serving
from toolreel._cli import LimitChoice
from toolreel.testing import saying
from toolreel_core import ConfigError

ONE = "requests=1,window=600,max-wait=0.2"
"""One request in ten minutes, and no patience."""


def submitted(desk: Path, *names: str, fallback: tuple[str, ...] = ()) -> None:
    for name in names:
        assert said(desk, "durable", "submit", "Hi!", "--model", "m", "--run-id", name, *fallback).code == 0


def outcome(desk: Path, run_id: str) -> Any:  # noqa: ANN401 - JSON
    return told(desk, "durable", "show", run_id)


def test_workers_share_what_an_account_allows(tmp_path: Path) -> None:
    with serving(replying(saying("Hello."))) as server:
        submitted(tmp_path, "first")
        serve(tmp_path, server, "--limit", ONE)
        submitted(tmp_path, "second")
        serve(tmp_path, server, "--limit", ONE)
        assert len(server.seen) == 1
    assert outcome(tmp_path, "first")["detail"]["content"] == "Hello."
    refused = outcome(tmp_path, "second")
    assert "127.0.0.1" in str(refused["detail"]), refused


def test_a_run_goes_on_at_a_fallback_with_an_account_of_its_own(tmp_path: Path) -> None:
    with serving(replying(saying("Hello."))) as server, serving(replying(saying("Hi there."))) as other:
        fallback = ("--fallback", f"model=other,base-url={other.url}")
        submitted(tmp_path, "first", "second", fallback=fallback)
        limits = ("--limit", ONE, "--limit", f"endpoint=other,account=spare,{ONE}")
        served = serve(tmp_path, server, "--concurrency", "1", *fallback, *limits)
        assert served.code == 0, served
        assert (len(server.seen), len(other.seen)) == (1, 1)
    contents = {outcome(tmp_path, name)["detail"]["content"] for name in ("first", "second")}
    assert contents == {"Hello.", "Hi there."}


def test_a_server_may_have_several_limits(tmp_path: Path) -> None:
    with serving(replying(saying("Hello."))) as server:
        submitted(tmp_path, "first", "second")
        loose = "requests=60"
        served = serve(tmp_path, server, "--limit", loose, "--limit", f"account=daily,{ONE}")
        assert served.code == 0, served
        assert len(server.seen) == 1
        twice = serve(tmp_path, server, "--limit", loose, "--limit", ONE)
    sentence = "two limits; name the second, such as account=daily"
    assert (twice.code, sentence in " ".join(twice.stderr.split())) == (2, True), twice


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("60", "expected key=value, for example requests=60"),
        ("request=60", "did you mean 'requests'?"),
        ("requests=many", "requests: expected a whole number, got 'many'"),
        ("requests=0", "requests: expected a number above 0, got 0"),
        ("max-cost=inf", "max-cost: expected a number above 0, got inf"),
        ("window=60", "say what is limited: requests=, tokens= or max-cost="),
        ("requests=1,requests=2", "requests is given twice"),
    ],
)
def test_a_limit_that_means_nothing_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as error:
        LimitChoice.of(text)
    assert sentence in str(error.value)


def test_a_limit_of_no_fallback_is_refused_before_the_worker_starts(tmp_path: Path) -> None:
    with serving() as server:
        served = serve(tmp_path, server, "--limit", f"endpoint=spare,{ONE}")
    assert (served.code, "add one with --fallback" in " ".join(served.stderr.split())) == (2, True), served
