"""Where skills are found, in which order, and what is said of those that cannot be used."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapters.tools.skills.skills_here import PDF, front, write_skill
from tests.samples import complaint, worked
from toolreel._internal import SkillError
from toolreel.tools.skills import (
    MANIFEST_LIMIT,
    UnreadableFile,
    read_inside,
    read_skill,
    read_skills,
)

PRIVATE = "do not read this"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.txt").write_text(PRIVATE)
    return write_skill(tmp_path / "pdf-forms", PDF, {"references/FORMS.md": "forms", "empty": ""})


def refused(folder: Path, path: str, limit: int = 100) -> str:
    return complaint(UnreadableFile, lambda: read_inside(folder, path, limit))


@pytest.mark.parametrize(
    "path", ["references/FORMS.md", "./references/FORMS.md", "references//FORMS.md", "references/./FORMS.md"]
)
def test_a_file_is_read(folder: Path, path: str) -> None:
    assert read_inside(folder, path, 5) == b"forms"
    assert read_inside(folder, "empty", 5) == b""


@pytest.mark.parametrize(
    ("path", "why"),
    [
        *worked("a path that leaves the folder or is none is refused", "tools"),
        (
            "x" * 5000,
            "File name too long",
        ),
        ("\ud83d", "cannot be the name of a file"),
    ],
)
def test_a_path_that_leaves_the_folder_or_is_none_is_refused(folder: Path, path: str, why: str) -> None:
    assert why in refused(folder, path)


def test_links_that_leave_the_folder_are_refused_and_others_are_followed(folder: Path) -> None:
    (folder / "out.txt").symlink_to(folder.parent / "secret" / "key.txt")
    (folder / "outside").symlink_to(folder.parent / "secret")
    (folder / "up.txt").symlink_to("../secret/key.txt")
    (folder / "chain.txt").symlink_to("out.txt")
    (folder / "turn.txt").symlink_to("turn.txt")
    (folder / "gone.txt").symlink_to("nowhere")
    (folder / "near.md").symlink_to("references/FORMS.md")
    (folder / "refs").symlink_to("references")
    write_skill(folder.parent / "pdf-forms-private", PDF, {"key.txt": PRIVATE})  # its name begins alike
    (folder / "beside.txt").symlink_to("../pdf-forms-private/key.txt")
    (folder.parent / "linked").symlink_to(folder)
    for path in ("out.txt", "outside/key.txt", "up.txt", "chain.txt", "beside.txt"):
        assert (
            refused(folder, path) == f"{path!r} is a link that leaves the skill's folder, and is not followed"
        )
    assert refused(folder, "turn.txt") == "'turn.txt' cannot be read: it is a link"
    assert refused(folder, "gone.txt") == "there is no file 'gone.txt'; skills_load lists its files"
    assert read_inside(folder, "near.md", 100) == read_inside(folder, "refs/FORMS.md", 100) == b"forms"
    assert read_inside(folder.parent / "linked", "references/FORMS.md", 100) == b"forms"


@given(
    st.lists(st.sampled_from(["..", ".", "", "~", "a", "out", "in", "key.txt", "\\", "/", "C:"]), max_size=7)
)
def test_no_path_at_all_leads_outside(parts: list[str]) -> None:
    with TemporaryDirectory() as place:
        outside, inside = Path(place), Path(place) / "a" / "skill"
        write_skill(inside, PDF, {"key.txt": "fine", "a/key.txt": "fine"})
        for folder in (outside, outside / "a"):
            (folder / "key.txt").write_text(PRIVATE)
        (inside / "out").symlink_to("..")
        (inside / "in").symlink_to("a")
        with suppress(UnreadableFile):
            assert read_inside(inside, "/".join(parts), 100) == b"fine"


def test_huge_files_are_refused_and_their_size_is_told(folder: Path) -> None:
    with (folder / "huge.bin").open("wb") as file:
        file.truncate(2**33)
    assert refused(folder, "huge.bin") == f"'huge.bin' has {2**33} bytes; at most 100 are read"
    assert (
        refused(folder, "references/FORMS.md", 4) == "'references/FORMS.md' has 5 bytes; at most 4 are read"
    )


def test_what_is_no_ordinary_file_is_refused_and_nobody_waits_for_it(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert refused(folder, "pipe") == "'pipe' is no ordinary file"
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(folder)  # a socket's path may have a hundred bytes
        listening.bind("socket")
        os.chdir(here)
        assert "'socket' cannot be read" in refused(folder, "socket")


@pytest.mark.parametrize("swapped", ["references", "references/FORMS.md"])
def test_a_link_that_is_put_there_meanwhile_is_refused(
    folder: Path, swapped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = write_skill(folder.parent / "outside", PDF, {"references/FORMS.md": PRIVATE})
    resolve = os.path.realpath

    def overtaken(path: str, *, strict: bool = False) -> str:
        resolved = resolve(path, strict=strict)
        if str(path).endswith("FORMS.md"):
            (folder / swapped).rename(folder / "aside")
            (folder / swapped).symlink_to(outside / swapped)
        return resolved

    monkeypatch.setattr(os.path, "realpath", overtaken)
    assert refused(folder, "references/FORMS.md") == "'references/FORMS.md' cannot be read: it is a link"


def skill(folder: Path) -> Path:
    return write_skill(folder, front(name=folder.name))


def names(*folders: Path) -> list[str]:
    return [each.name for each in read_skills(*folders).skills]


def refusal(*folders: Path) -> str:
    return complaint(SkillError, lambda: read_skills(*folders))


def test_a_folder_is_a_skill_or_has_some_and_they_come_by_name(tmp_path: Path) -> None:
    for name in ("zip", "office/word", "office/excel", "a/b/c/d/deep"):
        skill(tmp_path / name)
    (tmp_path / "README.md").write_text("Mine.")
    for hidden in (".git/git", "node_modules/node", "1/2/3/4/5/six"):
        skill(tmp_path / hidden)
    assert names(tmp_path, tmp_path / "zip", tmp_path) == ["deep", "excel", "word", "zip"]
    assert names(tmp_path / "zip") == ["zip"]
    assert names(tmp_path / "zip", tmp_path / "office") == ["excel", "word", "zip"]


def test_the_files_of_a_skill_are_listed_by_path_without_links_and_hidden_ones(tmp_path: Path) -> None:
    folder = write_skill(
        tmp_path / "zip",
        front(name="zip"),
        {
            "scripts/b.py": "12",
            "scripts/a.py": "1",
            "LICENSE": "",
            ".env": "x",
            "scripts/__pycache__/a.pyc": "",
        },
    )
    (folder / "link").symlink_to("LICENSE")
    (folder / "linked").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    files = read_skill(folder).files
    assert [*files.items()] == [("LICENSE", 0), ("scripts/a.py", 1), ("scripts/b.py", 2)]


def test_folders_without_skills_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    assert refusal(tmp_path / "nowhere") == (
        f"{tmp_path / 'nowhere'}: there is no such folder; correct --skills, or the path that was given"
    )
    assert "it is not a folder" in refusal(tmp_path / "file")
    assert refusal(tmp_path / "empty") == (
        f"{tmp_path / 'empty'}: neither a skill nor a folder of skills: there is no SKILL.md in it"
    )
    assert "there is no SKILL.md in it" in complaint(SkillError, lambda: read_skill(tmp_path / "empty"))


def test_links_are_not_followed_to_skills(tmp_path: Path) -> None:
    skill(tmp_path / "elsewhere" / "zip")
    here = tmp_path / "here"
    skill(here / "pdf")
    (here / "loop").symlink_to(here)
    assert names(here) == ["pdf"]
    (here / "zip").symlink_to(tmp_path / "elsewhere" / "zip")
    assert refusal(here) == f"{here / 'zip'}: a link is not followed; name what it links to"
    assert names(here / "zip") == ["zip"]


def test_a_manifest_that_is_a_link_out_or_huge_or_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "zip").mkdir()
    (tmp_path / "outside.md").write_text(front(name="zip"))
    manifest = tmp_path / "zip" / "SKILL.md"
    manifest.symlink_to(tmp_path / "outside.md")
    assert "leaves the skill's folder" in refusal(tmp_path / "zip")
    manifest.unlink()
    manifest.write_text(front(name="zip") + "x" * MANIFEST_LIMIT)
    assert f"at most {MANIFEST_LIMIT} are read" in refusal(tmp_path / "zip")
    manifest.write_bytes(b"---\nname: \xff\n---\n")
    assert refusal(tmp_path / "zip") == f"{manifest}: not UTF-8 at byte 10; save it as UTF-8"
    manifest.unlink()
    (tmp_path / "zip" / "skill.md").write_text(front(name="zip"))
    assert read_skill(tmp_path / "zip").files == {}
    (tmp_path / "zip" / "skill.md").unlink()
    os.mkfifo(manifest)
    assert refusal(tmp_path / "zip") == f"{tmp_path / 'zip' / 'SKILL.md'}: 'SKILL.md' is no ordinary file"


def test_a_folder_of_very_many_files_or_folders_is_refused(tmp_path: Path) -> None:
    for number in range(2_001):
        (tmp_path / "many" / str(number)).mkdir(parents=True)
    assert "more than 2000 folders; name the one with the skills" in refusal(tmp_path / "many")
    assert "more than 2000 files" in refusal(skill(tmp_path / "many"))
