"""Packed recordings: hundreds in a file, read like files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.evals.provider import provider
from tests.evals.trying import evaluated, plan_of
from toolreel._internal.errors import CassetteError, ResultsError
from toolreel.evals._replay.regression_test import find_run, promote
from toolreel.evals._replay.replay import replays, rescored, write_rescored
from toolreel.evals._replay.whatif import what_ifs
from toolreel.evals._report.transcripts import transcript_of
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._store import packs
from toolreel.evals._store.packing import pack_recordings, recordings_digest, unpack_recordings
from toolreel.evals._store.packs import PackWriter, has_packs, packed_names, packs_in, recording_bytes
from toolreel.evals._store.recordings import recording_of
from toolreel.evals._store.results import Results

NAME = "cassettes/m/raw/one.yaml"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An evaluation with packs, and with files: ``packed`` and ``files``."""
    folder = tmp_path_factory.mktemp("packs")
    with provider() as far:
        for name, packed in (("packed", True), ("files", False)):
            evaluated(plan_of(far.url), folder / name, packed=packed)
    return folder


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def copied(run: Path, name: str, tmp_path: Path) -> Path:
    target = tmp_path / name
    for path, data in tree(run / name).items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_bytes(data)
    return target


def test_every_reader_reads_packs(run: Path, tmp_path: Path) -> None:
    folder = run / "packed"
    assert [pack.name for pack in packs_in(folder)] == ["recordings-0001.yaml"]
    assert not (folder / "cassettes").exists()
    results = Results.open(folder)
    plan = plan_of_header(results.header)
    again = [*replays(results, plan)]
    assert len(again) == plan.count
    assert not [one.drift for one in again if one.drift]
    record = find_run(results, again[0].record.key)
    assert transcript_of(record, plan, folder).turns
    _, verdict = promote(results, plan, record, tmp_path / "tests")
    assert verdict == record.verdict
    assert [*(tmp_path / "tests").glob("*.yaml")]
    assert {one.fate for one in what_ifs(results, plan, "production", ["raw"])} - {"undecided"}
    write_rescored(results, rescored(results, plan), tmp_path / "rescored")
    assert packed_names(tmp_path / "rescored") == packed_names(folder)


def test_a_pack_is_a_stream_of_yaml_documents_in_plain_sight(run: Path) -> None:
    (pack,) = packs_in(run / "packed")
    text = pack.read_text()
    documents = [*yaml.safe_load_all(text.replace("!", ""))]
    assert len(documents) == 12
    assert all(document["interactions"] for document in documents)
    for name in packed_names(run / "packed"):
        assert recording_bytes(run / "packed", name).decode() in text


def test_packing_and_unpacking_change_nothing(run: Path, tmp_path: Path) -> None:
    folder = copied(run, "files", tmp_path)
    before = tree(folder)
    done = pack_recordings(folder)
    assert (done.recordings, done.files, done.digest) == (12, 1, recordings_digest(run / "files"))
    assert not (folder / "cassettes").exists()
    packed = tree(folder)
    assert pack_recordings(folder).digest == done.digest, "packed twice is packed"
    assert tree(folder) == packed
    assert unpack_recordings(folder).digest == done.digest
    assert tree(folder) == before
    assert not has_packs(folder)


def test_an_evaluation_goes_on_in_the_form_that_it_has(run: Path, tmp_path: Path) -> None:
    folder = copied(run, "packed", tmp_path)
    with provider() as far:
        plan = plan_of(far.url, eval={"trials": 3})
        with pytest.raises(ResultsError, match="eval unpack"):
            evaluated(plan, folder, packed=False, accept_changes=True)
        evaluated(plan, folder, accept_changes=True, accept_endpoint_change=True)
    assert not (folder / "cassettes").exists()
    assert all(recording_of(folder, each.cassette).exchanges for each in Results.open(folder).records())


def test_a_plan_of_many_runs_is_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolreel.evals._runner.evaluation.MANY_RUNS", 11)
    with provider() as far:
        evaluated(plan_of(far.url, eval={"trials": 1}), tmp_path / "small")
        evaluated(plan_of(far.url), tmp_path / "large")
    assert not has_packs(tmp_path / "small")
    assert has_packs(tmp_path / "large")


def test_a_full_pack_is_followed_by_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "PER_PACK", 3)
    for part in (range(4), range(4, 8)):
        writer = PackWriter(tmp_path)
        for number in part:
            writer.append(f"cassettes/{number}.yaml", b"%d\n" % number)
    PackWriter(tmp_path).append_all((f"cassettes/{number}.yaml", b"%d\n" % number) for number in range(8, 13))
    assert [pack.read_bytes().count(b"--- #") for pack in packs_in(tmp_path)] == [3, 3, 3, 3, 1]
    assert [recording_bytes(tmp_path, f"cassettes/{number}.yaml") for number in range(13)] == [
        b"%d\n" % number for number in range(13)
    ]


def test_of_several_recordings_of_a_run_the_last_counts(tmp_path: Path) -> None:
    (tmp_path / NAME).parent.mkdir(parents=True)
    (tmp_path / NAME).write_bytes(b"file\n")
    writer = PackWriter(tmp_path)
    writer.append(NAME, b"first\n")
    assert not (tmp_path / NAME).exists()
    writer.append(NAME, b"second\n")
    assert recording_bytes(tmp_path, NAME) == b"second\n"


@given(
    st.integers(0, 10_000),
    st.lists(st.binary(max_size=40).filter(lambda data: b"\n" not in data), max_size=4),
)
def test_a_torn_end_loses_only_the_last_recording(
    tmp_path_factory: pytest.TempPathFactory, cut: int, whole: list[bytes]
) -> None:
    folder = tmp_path_factory.mktemp("torn")
    writer = PackWriter(folder)
    for number, data in enumerate(whole):
        writer.append(f"cassettes/{number}.yaml", data + b"\n")
    size = packs_in(folder)[0].stat().st_size if whole else 0
    writer.append("cassettes/last.yaml", b"toolreel: 1\n" * 20)
    (pack,) = packs_in(folder)
    os.truncate(pack, size + cut % (pack.stat().st_size - size))
    for _ in range(2):  # as it was found, and once it was gone on with
        for number, data in enumerate(whole):
            assert recording_bytes(folder, f"cassettes/{number}.yaml") == data + b"\n"
        with pytest.raises(CassetteError, match="no such cassette"):
            recording_bytes(folder, "cassettes/last.yaml")
        PackWriter(folder).append("cassettes/next.yaml", b"next\n")
    assert recording_bytes(folder, "cassettes/next.yaml") == b"next\n"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (b"one\n", b"eno\n", "is not what was recorded"),
        (b" 4 sha256", b" 5 sha256", "expected a heading"),
        (b" 4 sha256", b" 9999 sha256", "a length is wrong"),
        (b"--- #", b"--- !", "expected a heading"),
    ],
)
def test_a_changed_pack_is_refused(tmp_path: Path, before: bytes, after: bytes, said: str) -> None:
    writer = PackWriter(tmp_path)
    for word in (b"one\n", b"two\n"):
        writer.append(f"cassettes/{word[:3].decode()}.yaml", word)
    (pack,) = packs_in(tmp_path)
    pack.write_bytes(pack.read_bytes().replace(before, after, 1))
    with pytest.raises(CassetteError, match=said):
        recording_bytes(tmp_path, "cassettes/one.yaml")


@pytest.mark.parametrize("name", ["/etc/passwd", "../other/one.yaml", "cassettes/../../one.yaml"])
def test_a_journal_cannot_name_a_file_outside(tmp_path: Path, name: str) -> None:
    with pytest.raises(CassetteError, match="would be outside"):
        recording_bytes(tmp_path, name)


def test_what_is_no_evaluation_is_not_packed(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="there is no evaluation"):
        pack_recordings(tmp_path)
    assert not [*tmp_path.iterdir()]
