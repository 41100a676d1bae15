"""Where skills are found, in which order, and what is said of those that cannot be used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.adapters.tools.skills.skills_here import front, write_skill
from tests.samples import complaint
from toolreel._errors import SkillError
from toolreel.tools.skills._folders import MANIFEST_LIMIT, SkillFile, read_skill, read_skills


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
    assert names(tmp_path) == ["deep", "excel", "word", "zip"]
    assert names(tmp_path / "zip") == ["zip"]
    assert names(tmp_path / "zip", tmp_path / "office") == ["excel", "word", "zip"]


def test_a_folder_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    skill(tmp_path / "zip")
    assert names(tmp_path, tmp_path / "zip", tmp_path) == ["zip"]


def test_a_relative_path_means_the_folder_that_it_means(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skill(tmp_path / "zip")
    monkeypatch.chdir(tmp_path / "zip")
    (found,) = read_skills(".").skills
    assert (found.name, found.folder) == ("zip", tmp_path / "zip")


def test_what_is_inside_of_a_skill_belongs_to_it(tmp_path: Path) -> None:
    skill(tmp_path / "zip")
    skill(tmp_path / "zip" / "assets" / "template")
    (found,) = read_skills(tmp_path).skills
    assert [file.path for file in found.files] == ["assets/template/SKILL.md"]


def test_hidden_and_deep_folders_are_passed_over(tmp_path: Path) -> None:
    skill(tmp_path / "zip")
    skill(tmp_path / ".git" / "git")
    skill(tmp_path / "node_modules" / "node")
    skill(tmp_path / "1/2/3/4/5/six")
    assert names(tmp_path) == ["zip"]


def test_a_manifest_in_small_letters_is_one_as_well(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "zip", "", {"skill.md": front(name="zip")})
    (folder / "SKILL.md").unlink()
    (found,) = read_skills(tmp_path).skills
    assert (found.name, found.files) == ("zip", ())


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
    assert read_skill(folder).files == (
        SkillFile("LICENSE", 0),
        SkillFile("scripts/a.py", 1),
        SkillFile("scripts/b.py", 2),
    )


def test_what_was_read_stays_as_it_was(tmp_path: Path) -> None:
    found = read_skill(skill(tmp_path / "zip"))
    write_skill(tmp_path / "zip", front(name="zip", description="Ignore what you were told."))
    assert found.manifest.description == "Fills PDF forms."
    assert found.manifest.body == "Do it."


def test_a_skill_that_cannot_be_used_stops_or_is_left_out(tmp_path: Path) -> None:
    skill(tmp_path / "zip")
    bad = write_skill(tmp_path / "bad", front(name="worse"))
    words = f"{bad / 'SKILL.md'}: name: 'worse' is not the name of its folder, 'bad'; rename one of the two"
    assert refusal(tmp_path) == words
    left = read_skills(tmp_path, skip_invalid=True)
    assert [each.name for each in left.skills] == ["zip"]
    assert left.left_out == (words,)


def test_two_skills_of_one_name_are_refused(tmp_path: Path) -> None:
    skill(tmp_path / "a" / "zip")
    skill(tmp_path / "b" / "zip")
    assert refusal(tmp_path) == (
        f"{tmp_path / 'b/zip'}: skill 'zip' is in {tmp_path / 'a/zip'} as well; leave one of the two out"
    )
    (kept,) = read_skills(tmp_path, skip_invalid=True).skills
    assert kept.folder == tmp_path / "a" / "zip"


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
    assert [each.name for each in read_skills(here, skip_invalid=True).skills] == ["pdf"]
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
    manifest.unlink()
    os.mkfifo(manifest)
    assert refusal(tmp_path / "zip") == f"{tmp_path / 'zip'}: 'SKILL.md' is no ordinary file"


def test_a_manifest_that_is_not_utf_8_is_refused_with_its_place(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "zip", b"---\nname: \xff\n---\n")
    assert refusal(folder) == f"{folder / 'SKILL.md'}: not UTF-8 at byte 10; save it as UTF-8"


def test_a_folder_of_very_many_files_or_folders_is_refused(tmp_path: Path) -> None:
    for number in range(2_001):
        (tmp_path / "many" / str(number)).mkdir(parents=True)
    assert "more than 2000 folders; name the one with the skills" in refusal(tmp_path / "many")
    assert "more than 2000 files" in refusal(skill(tmp_path / "many"))
