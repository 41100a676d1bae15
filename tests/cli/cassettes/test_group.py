"""``toolreel cassettes``."""

from __future__ import annotations

import shutil
from pathlib import Path

import yaml

from tests.adapters.secrets.planted import KINDS
from tests.cli.commands import assert_mistake, said_by_each
from tests.replay.sessions import FOLDER
from toolreel.cassette import Break, Session, StoredResponse

KEY = KINDS["an OpenAI key"].secret
NAME = "local--qwen2.5-coder-1.5b"


def stock(path: Path, said: str = "hello") -> None:
    """A file as stock vcrpy writes it."""
    request = {"method": "GET", "uri": "http://a/v1/x?key=1", "body": None, "headers": {"x-a": ["1"]}}
    response = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": said}}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.dump({"version": 1, "interactions": [{"request": request, "response": response}]}))


def test_check_tells_what_is_wrong_and_exits_with_1(tmp_path: Path) -> None:
    shutil.copytree(FOLDER / "chat", tmp_path / "good" / "cassettes" / "chat")
    shutil.copytree(tmp_path / "good", tmp_path / "bad")
    path = f"bad/cassettes/chat/{NAME}.yaml"
    text = (tmp_path / path).read_text("utf-8")
    (tmp_path / path).write_text(text.replace("message: OK", f"message: {KEY}"), "utf-8")
    (tmp_path / "test_x.py").write_text("")
    base = ("cassettes", "check")
    good, bad, machine, orphan, old, nothing = said_by_each(
        [
            (*base, "good"),
            base,
            (*base, "--json"),
            (*base, "good", "--tests", "test_x.py"),
            (*base, "good", "--max-age", "1", "--json"),
            (*base, "none"),
        ],
        tmp_path,
    )
    assert (good.code, good.stdout) == (0, "1 recording, no problems\n")
    assert bad.code == 1
    head, leak, summary = bad.stdout.splitlines()
    assert head.split() == ["file", "found", "what"]
    assert leak.split(maxsplit=2) == [path, "leak", "interaction 1: response.status.message: API key"]
    assert summary == "2 recordings, 1 problem"
    assert (machine.code, machine.data["ok"]) == (1, False)
    assert machine.data["findings"] == [
        {
            "path": path,
            "kind": "leak",
            "text": "interaction 1: response.status.message: API key",
        }
    ]
    assert [one["interactions"] for one in machine.data["recordings"]] == [1, 1]
    assert orphan.code == 1
    assert "no test in test_x.py names it" in orphan.stdout
    assert old.data["recordings"][0]["recorded"] == "2026-11-21T23:40:59+00:00"
    assert_mistake(nothing, "none: there is no such file or folder")
    assert not any(KEY in said.stdout + said.stderr for said in (bad, machine))


def test_import_takes_a_file_or_a_folder(tmp_path: Path) -> None:
    stock(tmp_path / "old.yaml")
    stock(tmp_path / "tree" / "a" / "one.yml")
    stock(tmp_path / "tree" / "two.yaml", f"a key: {KEY}")
    (tmp_path / "tree" / "compose.yaml").write_text("services: {}")
    base = ("cassettes", "import")
    one, again, folder, replay = said_by_each(
        [
            (*base, "old.yaml", "new.yaml"),
            (*base, "old.yaml", "new.yaml"),
            (*base, "tree", "new"),
            ("cassettes", "check", "new", "new.yaml"),
        ],
        tmp_path,
    )
    assert one.code == 0
    assert one.stdout.splitlines() == [
        "imported    old.yaml → new.yaml: 1 interaction",
        "            next: toolreel cassettes check new.yaml",
    ]
    assert_mistake(again, "new.yaml: exists already", "--overwrite")
    assert folder.code == 1
    assert "imported    tree/a/one.yml → new/a/one.yaml: 1 interaction" in folder.stdout.splitlines()
    assert "error: tree/compose.yaml: no cassette of vcrpy" in folder.stderr
    assert (
        "error: new/two.yaml: interaction 1: response.body, line 1 holds a secret (API key)" in folder.stderr
    )
    assert replay.code == 0
    assert all(KEY.encode() not in file.read_bytes() for file in (tmp_path / "new").rglob("*.yaml"))


def test_export_makes_a_cassette_of_stock_vcrpy(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "workspace" / f"{NAME}.yaml", tmp_path / "a.yaml")
    tape = Session(tmp_path / "broken.yaml", "record")
    tape.append(
        "POST",
        "http://a/v1/chat/completions",
        {},
        b"{}",
        StoredResponse(broke=Break("ReadTimeout", "too late")),
    )
    tape.save({})
    base = ("cassettes", "export")
    one, again, broken, missing, usage, help_, back = said_by_each(
        [
            (*base, "a.yaml", "a.vcr.yaml"),
            (*base, "a.yaml", "a.vcr.yaml"),
            (*base, "broken.yaml", "b.yaml"),
            (*base, "none.yaml", "c.yaml"),
            base,
            (*base, "--help"),
            ("cassettes", "import", "a.vcr.yaml", "back.yaml"),
        ],
        tmp_path,
    )
    assert (one.code, one.stdout) == (0, "exported    a.yaml → a.vcr.yaml: 3 interactions\n")
    assert_mistake(again, "a.vcr.yaml: exists already", "--overwrite")
    assert yaml.safe_load((tmp_path / "a.vcr.yaml").read_text())["version"] == 1
    assert broken.stdout.splitlines() == [
        "exported    broken.yaml → b.yaml: 0 interactions",
        "            left out, since it broke off: interaction 1 (ReadTimeout)",
    ]
    assert_mistake(missing, "none.yaml: there is no such cassette")
    assert usage.code == 2
    assert "Convert a cassette to YAML that stock vcrpy replays without toolreel" in help_.stdout
    assert "Usage: toolreel cassettes export [OPTIONS] FILE OUT" in help_.stdout
    assert back.code == 0
    plays = Session(tmp_path / "back.yaml").exchanges, Session(tmp_path / "a.yaml").exchanges
    assert [(one.url, one.body) for one in plays[0]] == [(one.url, one.body) for one in plays[1]]
