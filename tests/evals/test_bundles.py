"""Bundles: an evaluation as one file, judged again by anybody; and the leaderboard that is made of them."""

from __future__ import annotations

import json
import re
import shutil
from hashlib import sha256
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pytest

from tests.evals.provider import provider
from tests.evals.trying import KEY, evaluated, plan_of
from toolreel._internal.errors import ResultsError, SecretFound
from toolreel._internal.pages.page_frame import framed
from toolreel.evals._store.packing import pack_recordings
from toolreel.evals._transfer.bundle import write_bundle
from toolreel.evals._transfer.leaderboard import leaderboard_of
from toolreel.evals._transfer.leaderboard_page import leaderboard_page
from toolreel.evals._transfer.verification import verify_bundle
from toolreel_core._jsontext.canonical import Json


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An evaluation of two models on a server of this machine."""
    folder = tmp_path_factory.mktemp("bundled") / "results"
    with provider() as far:
        evaluated(plan_of(far.url, eval={"trials": 1}), folder)
    return folder


@pytest.fixture(scope="module")
def bundle(run: Path) -> Path:
    write_bundle(run, run.parent / "bundle.zip", {})
    return run.parent / "bundle.zip"


def changed(bundle: Path, out: Path, name: str, change: bytes | None, *, honest: bool = False) -> Path:
    """The bundle with another file in it; ``honest``: the manifest says so."""
    with ZipFile(bundle) as source:
        files = {entry.filename: source.read(entry) for entry in source.infolist()}
    if change is None:
        del files[name]
    else:
        files[name] = change
    if honest:
        manifest = json.loads(files["manifest.json"])
        manifest["files"][name] = {"bytes": len(files[name]), "sha256": sha256(files[name]).hexdigest()}
        files["manifest.json"] = json.dumps(manifest).encode()
    with ZipFile(out, "w") as target:
        for each, data in files.items():
            target.writestr(ZipInfo(each), data, ZIP_DEFLATED)
    return out


def file_of(bundle: Path, name: str) -> bytes:
    with ZipFile(bundle) as archive:
        return archive.read(name)


def test_a_bundle_has_all_files_and_their_digests(run: Path, bundle: Path) -> None:
    with ZipFile(bundle) as archive:
        assert archive.namelist() == [
            *("manifest.json", "header.json", "journal.jsonl", "packs/recordings-0001.yaml")
        ]
    manifest = json.loads(file_of(bundle, "manifest.json"))
    for name, about in manifest["files"].items():
        assert about["sha256"] == sha256(file_of(bundle, name)).hexdigest()
    assert manifest["scenarios"].keys() == {"happy_path", "type_error_recovery", "no_tool_fits"}
    assert str(run).encode() not in b"".join(
        file_of(bundle, name) for name in (*manifest["files"], "manifest.json")
    )


def test_the_same_evaluation_gives_the_same_bytes_packed_or_not(
    run: Path, bundle: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    assert write_bundle(copy, tmp_path / "one.zip", {}).recordings == 6
    pack_recordings(copy)
    write_bundle(copy, tmp_path / "two.zip", {})
    assert (tmp_path / "one.zip").read_bytes() == bundle.read_bytes()
    assert (tmp_path / "two.zip").read_bytes() == bundle.read_bytes()


def test_anybody_can_judge_it_again(bundle: Path) -> None:
    found = verify_bundle(bundle)
    assert found.verified
    assert (found.runs, found.agreeing) == (6, 6)
    assert found.digest == sha256(file_of(bundle, "manifest.json")).hexdigest()


def test_a_verdict_that_was_improved_does_not_agree(bundle: Path, tmp_path: Path) -> None:
    lines = file_of(bundle, "journal.jsonl").decode().splitlines()
    tree = json.loads(lines[0])
    other: dict[str, Json] = {"result": "fail", "category": "task.outcome:draft", "reasons": ["because"]}
    if tree["result"] == "fail":
        other = {"result": "pass"}
        tree.pop("category")
        tree.pop("reasons", None)
    lines[0] = json.dumps({**tree, **other})
    forged = changed(
        *(bundle, tmp_path / "forged.zip", "journal.jsonl"), ("\n".join(lines) + "\n").encode(), honest=True
    )
    found = verify_bundle(forged)
    assert not found.verified
    assert [again.record.key for again in found.judged_otherwise] == [tree["key"]]
    assert found.digest != verify_bundle(bundle).digest


def test_a_reply_that_was_improved_is_not_what_was_recorded(bundle: Path, tmp_path: Path) -> None:
    name = "packs/recordings-0001.yaml"
    pack = file_of(bundle, name)
    better = pack.replace(b"stop", b"STOP", 1)
    assert better != pack
    forged = changed(bundle, tmp_path / "forged.zip", name, better, honest=True)
    found = verify_bundle(forged)
    assert len(found.not_replayed) == 1
    assert "is not what was recorded" in found.not_replayed[0].drift


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("journal.jsonl", b"", "is not what the manifest says"),
        ("journal.jsonl", None, "not those of the manifest"),
        ("more.txt", b"more", "not those of the manifest"),
        ("manifest.json", b"{}", "no bundle"),
        ("manifest.json", b'{"toolreel_bundle": 9}', "of version 9"),
    ],
)
def test_a_changed_bundle_is_refused(
    bundle: Path, tmp_path: Path, name: str, change: bytes, said: str
) -> None:
    with pytest.raises(ResultsError, match=said):
        verify_bundle(changed(bundle, tmp_path / "changed.zip", name, change))


@pytest.mark.parametrize("name", ["../outside.txt", "/outside.txt", "packs/../../outside.txt"])
def test_no_file_is_written_outside(bundle: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(ResultsError, match="leads outside"):
        verify_bundle(changed(bundle, tmp_path / "evil.zip", name, b"evil", honest=True))


def test_what_is_no_zip_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "no.zip").write_text("hello")
    with pytest.raises(ResultsError, match="no bundle of"):
        verify_bundle(tmp_path / "no.zip")


@pytest.mark.parametrize("place", ["journal.jsonl", "cassettes"])
def test_a_secret_is_refused_before_anything_is_written(run: Path, tmp_path: Path, place: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    paths = [copy / place] if place.endswith("jsonl") else [*(copy / place).rglob("*.yaml")]
    text = paths[0].read_text()
    paths[0].write_text(
        re.sub(r"happy_path|content: \w+", lambda _: f"content: {KEY}", text, count=1)
        if place == "cassettes"
        else text.replace('"final":"', f'"final":"{KEY} ', 1)
    )
    assert KEY in paths[0].read_text()
    with pytest.raises(SecretFound) as caught:
        write_bundle(copy, tmp_path / "bundle.zip", {"EVAL_API_KEY": KEY})
    assert KEY not in str(caught.value)
    assert not [*tmp_path.glob("*.zip*")]


def test_a_leaderboard_compares_what_is_the_same(bundle: Path, tmp_path: Path) -> None:
    evaluated(
        plan_of(eval={"scenarios": ["happy_path", "no_tool_fits", "chat_only"], "trials": 2}),
        tmp_path / "other",
    )
    write_bundle(tmp_path / "other", tmp_path / "other.zip", {})
    board = leaderboard_of([verify_bundle(bundle), verify_bundle(tmp_path / "other.zip")])
    assert (
        board.scenarios == ("happy_path (version 1)", "no_tool_fits (version 1)") or len(board.scenarios) == 2
    )
    assert {(row.model, row.bundle) for row in board.rows} == {
        ("first/model", "bundle.zip"),
        ("second/model", "bundle.zip"),
        ("scripted:good", "other.zip"),
        ("scripted:bad", "other.zip"),
    }
    rates = [row.total.rate for row in board.rows]
    assert rates == sorted(rates, key=lambda rate: -(rate or 0))
    (bad,) = (row for row in board.rows if row.model == "scripted:bad")
    assert (bad.total.counts.valid, bad.total.counts.ok) == (4, 0)
    said = "\n".join(board.remarks)
    assert "bundle.zip has further scenarios" in said
    assert "type_error_recovery" in said
    assert "chat_only" in said
    assert "eval.trials: 1 -> 2" in said
    page = leaderboard_page(board)
    assert page == leaderboard_page(board)
    assert page.startswith(framed("Leaderboard of tool calls", "")[:120]), "the frame that all pages share"
    assert "default-src &#x27;none&#x27;" in page
    assert not re.search(r"(?:src|href)\s*=|url\(|@import", page)
    assert page.count("<script") == 1
    assert all(row.model in page for row in board.rows)


def test_a_bundle_that_does_not_agree_has_no_row(bundle: Path, tmp_path: Path) -> None:
    pack = file_of(bundle, "packs/recordings-0001.yaml").replace(b"stop", b"STOP", 1)
    forged = changed(bundle, tmp_path / "forged.zip", "packs/recordings-0001.yaml", pack, honest=True)
    board = leaderboard_of([verify_bundle(bundle), verify_bundle(forged)])
    assert {row.bundle for row in board.rows} == {"bundle.zip"}
    assert board.refused == (("forged.zip", "1 of 6 runs could not be replayed"),)
    assert "forged.zip: 1 of 6 runs" in leaderboard_page(board)
    with pytest.raises(ResultsError, match="no bundle is verified"):
        leaderboard_of([verify_bundle(forged)])


def test_names_in_a_leaderboard_are_text(tmp_path: Path) -> None:
    evaluated(plan_of(eval={"add_models": ["scripted:good"], "trials": 1}), tmp_path / "results")
    write_bundle(tmp_path / "results", tmp_path / "<img src=x>.zip", {})
    board = leaderboard_of([verify_bundle(tmp_path / "<img src=x>.zip")])
    assert "<img" not in leaderboard_page(board)
