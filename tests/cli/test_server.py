"""Which URL and headers commands ask a server with: prefix, query, further headers, header of the key."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.commands import LOOKING_UP, READY, WORKSPACE, Said, assert_mistake, run_at, toolreel
from tests.evals.provider import provider
from tests.servers.chat_server import ChatServer, replying, serving
from toolreel._cli import NO_PRESETS
from toolreel.testing import saying

KEY = "correct-horse-battery-staple"
TENANT = "the-tenant-of-ours-0815"
ENVIRON = {"AZURE_KEY": KEY, "TENANT": TENANT, "OPENROUTER_API_KEY": "of-openrouter-alone"}
DEPLOYMENT = "/openai/deployments/D"
QUERY = "?api-version=2024-06-01"
ASKED = f"{DEPLOYMENT}/chat/completions{QUERY}"


def azure(url: str) -> tuple[str, ...]:
    return (
        *("--base-url", f"{url}{DEPLOYMENT}{QUERY}", "--api-prefix", ""),
        *("--api-key-env", "AZURE_KEY", "--api-key-header", "api-key", "--header", "X-Tenant=TENANT"),
    )


def kept(folder: Path) -> str:
    return "".join(path.read_text() for path in folder.rglob("*") if path.is_file())


def test_run_fork_and_resume_ask_azure_and_record_neither_key_nor_header(tmp_path: Path) -> None:
    with serving(*map(replying, (LOOKING_UP, READY, READY, READY))) as server:
        live = (*azure(server.url), *WORKSPACE)
        run = ("run", "Which status?", "--model", "m", *live, "--record", "kept/one")
        fork = ("fork", "kept/one", "--at", "2", *live, "--record", "kept/two")
        said = [toolreel(*command, cwd=tmp_path, env=ENVIRON) for command in (run, fork)]
        journal = tmp_path / "kept" / "one.journal.jsonl"
        # Without its seal and its last event, as a kill leaves it.
        lines = journal.read_text().splitlines(keepends=True)
        (tmp_path / "kept" / "three.journal.jsonl.part").write_text("".join(lines[:-2]))
        said.append(toolreel("resume", "kept/three", *live, cwd=tmp_path, env=ENVIRON))
    assert [each.code for each in said] == [0, 0, 0], said
    assert [seen.path for seen in server.seen] == [ASKED] * 4
    for seen in server.seen:
        assert (seen.headers["api-key"], seen.headers["x-tenant"]) == (KEY, TENANT)
        assert "authorization" not in seen.headers
    for text in (kept(tmp_path), *(each.stdout + each.stderr for each in said)):
        assert KEY not in text
        assert TENANT not in text


def test_a_dry_run_shows_what_eval_run_asks(tmp_path: Path) -> None:
    with provider() as far:
        cells = ("--model", "first/model", "--scenarios", "chat_only", *azure(far.url))
        plan = toolreel("eval", "run", "--dry-run", *cells, cwd=tmp_path, env=ENVIRON)
        run = toolreel("eval", "run", *cells, "--out", "results", cwd=tmp_path, env=ENVIRON)
    assert (plan.code, run.code) == (0, 0), run
    where = (
        f"{far.url}{ASKED}, a provider of which nothing is known (--provider), "
        "key from AZURE_KEY in api-key, X-Tenant from TENANT"
    )
    assert f"endpoint    {where}" in plan.stdout.splitlines()
    assert {request.path for request in far.requests} == {ASKED}
    for request in far.requests:
        assert (request.headers["api-key"], request.headers["x-tenant"]) == (KEY, TENANT)
        assert "authorization" not in request.headers
    for text in (kept(tmp_path / "results"), run.stdout + run.stderr):
        assert KEY not in text
        assert TENANT not in text
    assert run.stderr.count(NO_PRESETS) == 1


def told(tmp_path: Path, *options: str) -> Said:
    with serving(replying(saying("Hello."))) as server:
        return toolreel(*run_at(server, "Hi."), *options, cwd=tmp_path)


def test_a_run_without_a_provider_says_that_no_presets_apply(tmp_path: Path) -> None:
    assert told(tmp_path).stderr.count(NO_PRESETS) == 1
    for options in (("--provider", "llama_cpp"), ("--preset", "default_tool_calling")):
        assert NO_PRESETS not in told(tmp_path, *options).stderr


def test_slips_are_told_before_anything_is_sent(tmp_path: Path) -> None:
    with serving() as server:
        run = (*run_at(server, "Hi."), "--record", "kept")
        cases = {
            ("--header", "X-Tenant"): "expected NAME=VALUE, for example X-Tenant=MY_TENANT",
            ("--header", "X-Tenant=NOWHERE"): "the environment variable NOWHERE is not set",
            ("--api-key-header", "a b", "--api-key-env", "TENANT"): "'a b' is not the name of a header",
        }
        for options, said in cases.items():
            assert_mistake(toolreel(*run, *options, cwd=tmp_path, env=ENVIRON), said)
        evaluation = ("eval", "run", "--model", "m", "--base-url", server.url, "--out", "results")
        refused = toolreel(*evaluation, "--api-key-header", "a b", cwd=tmp_path, env=ENVIRON)
        assert_mistake(refused, "'a b' is not the name of a header")
    assert list(tmp_path.rglob("*.part")) == []


# ``toolreel run --fallback`` against real servers.


DENIED = replying({"error": {"message": "no such account"}}, status=403)
HELLO = replying(saying("Hello."))
KEYS = {"FIRST_KEY": "sk-first-0123456789", "SPARE_KEY": "sk-spare-0123456789"}


def running(server: ChatServer, folder: Path, *options: str, **variables: str) -> Said:
    asked = ("run", "hi", "--model", "a", "--base-url", server.url)
    return toolreel(*asked, *options, cwd=folder, env=variables)


def test_a_run_goes_on_at_another_server_and_replays_from_its_recording(tmp_path: Path) -> None:
    with serving(DENIED) as first, serving(HELLO) as second:
        there = f"model=b,name=spare,base-url={second.url},api-key-env=SPARE_KEY,on=denied+timeout"
        keyed = ("--fallback", there, "--record", "kept", "--api-key-env", "FIRST_KEY")
        said = running(first, tmp_path, *keyed, **KEYS)
    assert said.code == 0, said
    assert any("failed (denied), so it goes on at spare" in line for line in said.stdout.splitlines())
    sent = [seen.headers["authorization"] for seen in (*first.seen, *second.seen)]
    assert sent == [f"Bearer {key}" for key in KEYS.values()]
    assert json.loads(second.seen[0].body)["model"] == "b"
    again = toolreel("replay", "kept", cwd=tmp_path)
    assert again.code == 0


def test_another_server_gets_no_key_of_the_first(tmp_path: Path) -> None:
    with serving(DENIED) as first, serving(HELLO) as second:
        there = f"model=b,base-url={second.url}"
        keyed = ("--fallback", there, "--api-key-env", "FIRST_KEY")
        assert running(first, tmp_path, *keyed, **KEYS).code == 0
    assert "authorization" not in second.seen[0].headers
