"""Files of a skill's folder: what is read, and what a model or a stranger's folder cannot reach."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapters.tools.skills.skills_here import PDF, write_skill
from tests.samples import complaint
from toolreel.tools.skills._files import UnreadableFile, read_inside

PRIVATE = "do not read this"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.txt").write_text(PRIVATE)
    return write_skill(tmp_path / "pdf-forms", PDF, {"references/FORMS.md": "forms", "empty": ""})


def refusal(folder: Path, path: str, limit: int = 100) -> str:
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
        ("../secret/key.txt", "goes up with '..'"),
        ("references/../../secret/key.txt", "goes up with '..'"),
        ("references/..", "goes up with '..'"),
        ("/etc/passwd", "is absolute"),
        ("C:/Windows/win.ini", "is absolute"),
        ("c:key.txt", "is absolute"),
        ("..\\secret\\key.txt", "a path has neither"),
        ("references\\FORMS.md", "a path has neither"),
        ("references/FORMS.md\0.txt", "a path has neither"),
        ("", "the path is empty"),
        ("  ", "the path is empty"),
        (".", "is a folder"),
        ("references", "is a folder"),
        ("~/key.txt", "there is no file"),
        ("%2e%2e/secret/key.txt", "there is no file"),
        ("SKILL.md/x", "Not a directory"),
        ("x" * 5000, "File name too long"),
        ("\ud83d", "its name cannot be one of a file"),
    ],
)
def test_a_path_that_leaves_the_folder_or_is_none_is_refused(folder: Path, path: str, why: str) -> None:
    assert why in refusal(folder, path)


def test_links_that_leave_the_folder_are_refused_and_others_are_followed(folder: Path) -> None:
    (folder / "out.txt").symlink_to(folder.parent / "secret" / "key.txt")
    (folder / "outside").symlink_to(folder.parent / "secret")
    (folder / "up.txt").symlink_to("../secret/key.txt")
    (folder / "chain.txt").symlink_to("out.txt")
    (folder / "turn.txt").symlink_to("turn.txt")
    (folder / "gone.txt").symlink_to("nowhere")
    (folder / "near.md").symlink_to("references/FORMS.md")
    (folder / "refs").symlink_to("references")
    for path in ("out.txt", "outside/key.txt", "up.txt", "chain.txt"):
        assert (
            refusal(folder, path) == f"{path!r} is a link that leaves the skill's folder, and is not followed"
        )
    assert refusal(folder, "turn.txt") == "'turn.txt' cannot be read: it is a link"
    assert refusal(folder, "gone.txt") == "there is no file 'gone.txt'"
    assert read_inside(folder, "near.md", 100) == read_inside(folder, "refs/FORMS.md", 100) == b"forms"


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


def test_a_folder_that_is_a_link_itself_is_read(folder: Path) -> None:
    (folder.parent / "linked").symlink_to(folder)
    assert read_inside(folder.parent / "linked", "references/FORMS.md", 100) == b"forms"


def test_a_neighbour_whose_name_begins_alike_is_outside(folder: Path) -> None:
    write_skill(folder.parent / "pdf-forms-private", PDF, {"key.txt": PRIVATE})
    (folder / "out.txt").symlink_to("../pdf-forms-private/key.txt")
    assert "leaves the skill's folder" in refusal(folder, "out.txt")


def test_huge_files_are_refused_and_their_size_is_told(folder: Path) -> None:
    with (folder / "huge.bin").open("wb") as file:
        file.truncate(2**33)
    assert refusal(folder, "huge.bin") == f"'huge.bin' has {2**33} bytes; at most 100 are read"
    assert (
        refusal(folder, "references/FORMS.md", 4) == "'references/FORMS.md' has 5 bytes; at most 4 are read"
    )


def test_what_is_no_ordinary_file_is_refused_and_nobody_waits_for_it(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert refusal(folder, "pipe") == "'pipe' is no ordinary file"
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(folder)  # a socket's path may have a hundred bytes
        listening.bind("socket")
        os.chdir(here)
        assert "'socket' cannot be read" in refusal(folder, "socket")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read anything")
def test_a_file_that_may_not_be_read_is_told_so(folder: Path) -> None:
    (folder / "empty").chmod(0)
    assert refusal(folder, "empty") == "'empty' cannot be read: Permission denied"


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
    assert refusal(folder, "references/FORMS.md") == "'references/FORMS.md' cannot be read: it is a link"
