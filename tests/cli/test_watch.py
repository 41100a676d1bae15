"""``toolreel durable watch``: runs on a terminal and in a pipe, and one that is followed to its end."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.cli.commands import COMMAND, Said, assert_mistake, environment, on_terminal, toolreel
from tests.cli.test_durable import MINE, PAYING, TOOLS, serve
from tests.cli.test_terminal import HIDDEN, SHOWN, plain
from tests.patience import HANG
from tests.servers.chat_server import replying, serving
from tests.servers.postgres import Postgres, found, serving_postgres
from toolreel.testing import saying


@pytest.fixture(scope="module")
def postgres() -> Generator[Postgres]:
    programs = found()
    if programs is None:
        pytest.skip("PostgreSQL is not installed; on Debian: apt-get install postgresql")
    with serving_postgres(programs) as server:
        yield server


@pytest.fixture(name="database")
def database_fixture() -> str:
    """The file in the folder, unless a test says otherwise."""
    return "sqlite"


@pytest.fixture(name="desk")
def desk_fixture(
    tmp_path: Path, database: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A folder with tools and a queued run."""
    if database == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        monkeypatch.setenv("TOOLREEL_DATABASE_URL", server.create())
    (tmp_path / "my_tools.py").write_text(TOOLS)
    assert (
        toolreel(
            "durable", "submit", "Pay 7.", "--model", "m", *MINE, "--run-id", "bill-7", cwd=tmp_path
        ).code
        == 0
    )
    return tmp_path


def watching(desk: Path, *arguments: str) -> Said:
    return toolreel("durable", "watch", "--every", "0.05", *arguments, cwd=desk)


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_run_is_followed_from_the_queue_to_its_end(desk: Path) -> None:
    command = [*COMMAND, "durable", "watch", "bill-7", "--every", "0.05"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=desk, env=environment(), stdout=pipe, stderr=pipe, text=True
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first.endswith(" bill-7 queued, turn 1, waits for a worker\n")
        with serving(PAYING, replying(saying("Paid."))) as server:
            serve(desk, server)
            listed = watching(desk, "--until-idle")
            assert listed.stdout.endswith("bill-7 waiting, turn 1, waits for approval: pay, cost unknown\n")
            (tree,) = map(json.loads, watching(desk, "--until-idle", "--json").stdout.splitlines())
            assert (tree["status"], tree["turn"], tree["waits"]) == ("waiting", 1, "approval: pay")
            assert tree["waits_for"][0]["arguments"] == '{"amount":7}'
            assert toolreel("durable", "approve", "bill-7", cwd=desk).code == 0
            serve(desk, server)
        stdout, stderr = process.communicate(timeout=HANG)
    assert (process.returncode, stderr) == (0, "")
    assert "bill-7 waiting, turn 1, waits for approval: pay" in stdout
    assert "bill-7 ended, turn 2, completed" in stdout
    assert "answer      Paid." in stdout


def test_a_run_that_fails_exits_with_1(desk: Path) -> None:
    assert toolreel("durable", "cancel", "bill-7", cwd=desk).code == 0
    with serving() as server:
        serve(desk, server)
    said = watching(desk, "bill-7")
    assert said.code == 1
    assert "bill-7 ended, turn 1, cancelled" in said.stdout


def test_mistakes(desk: Path) -> None:
    assert_mistake(watching(desk, "bill-8"), "run bill-8: there is none in this database")
    assert_mistake(watching(desk, "bill-7", "--until-idle"), "leave out RUN")


@pytest.mark.parametrize("columns", [36, pytest.param(100, marks=pytest.mark.slow)])
def test_a_terminal_has_a_table_and_ctrl_c_ends_it(desk: Path, columns: int) -> None:
    code, shown = on_terminal(
        "durable", "watch", "--every", "0.05", cwd=desk, columns=columns, interrupted_at="bill"
    )
    assert code == 0
    assert shown.rindex(SHOWN) > shown.rindex(HIDDEN)
    lines = [plain(line) for line in re.split(r"\x1b\[2K|\n", shown)]
    assert max(map(len, lines)) <= columns
    assert any("bill" in line and "queued" in line for line in lines)
    if columns == 100:
        assert any("waits for" in line and "age" in line for line in lines)
        assert any("a worker" in line for line in lines)
