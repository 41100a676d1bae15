"""Skills as a model uses them: what is in the first request, and what each tool gives and refuses."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.adapters.tools.skills.skills_here import PDF, call, error, front, told, write_skill
from tests.samples import complaint, worked
from toolreel._internal import SkillError
from toolreel.tools import PythonTools
from toolreel.tools.skills import Skills, read_skills, skill_tools
from toolreel_core._protocol import ToolReturned

COUNT = "#!/usr/bin/env python3\nimport sys\nprint(len(sys.argv[1:]), *sys.argv[1:])\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files: dict[str, str | bytes] = {
        "references/FORMS.md": "Fields are named.",
        "assets/logo.png": b"\x89PNG\0\xff",
        "scripts/count.py": COUNT,
        "scripts/fail.sh": "echo half; echo why >&2; exit 3",
    }
    write_skill(tmp_path / "pdf-forms", PDF, files)
    write_skill(
        tmp_path / "zip", front(name="zip", description='"Packs:\\n  files."', compatibility="Needs zip.")
    )
    return tmp_path


@pytest.fixture
def skills(folder: Path) -> Skills:
    return read_skills(folder)


def hosting(skills: Skills, scripts: Sequence[str] = (), *, deadline: float = 20.0) -> PythonTools:
    return PythonTools(skill_tools(skills, allow_scripts=scripts, deadline=deadline))


def ran(tools: PythonTools, script: str, *args: str, skill: str = "pdf-forms") -> ToolReturned:
    return tools.run(call("skills_run_script", name=skill, script=script, args=list(args)))


def packing(folder: Path, files: Mapping[str, str | bytes], *, deadline: float = 20.0) -> PythonTools:
    """The tools of a skill with these files, all of which may be run."""
    write_skill(folder / "zip", front(name="zip"), files)
    return hosting(read_skills(folder), ["zip/*"], deadline=deadline)


def test_three_tools_only_read_and_know_the_names_of_the_skills(skills: Skills) -> None:
    surface = hosting(skills).surface
    assert surface.names == ("skills_list", "skills_load", "skills_read_file")
    assert all(tool.read_only and tool.source == "skills" for tool in surface.definitions)
    schema = json.loads(surface.by_name["skills_read_file"].parameters)
    assert schema["properties"]["name"]["enum"] == ["pdf-forms", "zip"]
    assert schema["required"] == ["name", "path"]


def test_scripts_are_run_only_where_some_are_allowed_and_somebody_is_asked(skills: Skills) -> None:
    tool = hosting(skills, ["pdf-forms/scripts/*.py"], deadline=2.0).surface.by_name["skills_run_script"]
    assert (tool.needs_approval, tool.read_only, tool.deadline_ms) == (True, False, 7000)
    schema = json.loads(tool.parameters)
    assert schema["properties"]["name"]["enum"] == ["pdf-forms"]
    assert schema["required"] == ["name", "script"]
    (*_, unasked) = skill_tools(skills, allow_scripts=["pdf-forms/*"], ask=False)
    assert not unasked.definition.needs_approval


def test_skills_are_listed(skills: Skills) -> None:
    assert told(hosting(skills).run(call("skills_list")))["skills"] == [
        {"name": "pdf-forms", "description": "Fills PDF forms."},
        {"name": "zip", "description": "Packs:\n  files."},
    ]


def test_a_skill_is_loaded_with_its_instructions_and_files(skills: Skills) -> None:
    tools = hosting(skills, ["pdf-forms/scripts/count.py"])
    assert told(tools.run(call("skills_load", name="pdf-forms"))) == {
        "name": "pdf-forms",
        "instructions": "# Forms\n\nRead references/FORMS.md.",
        "files": [
            {"path": "assets/logo.png", "bytes": 6},
            {"path": "references/FORMS.md", "bytes": 17},
            {"path": "scripts/count.py", "bytes": len(COUNT)},
            {"path": "scripts/fail.sh", "bytes": 31},
        ],
        "scripts_that_may_be_run": ["scripts/count.py"],
    }
    assert told(tools.run(call("skills_load", name="zip"))) == {
        "name": "zip",
        "instructions": "Do it.",
        "compatibility": "Needs zip.",
    }


def test_a_file_is_read_as_text_and_described_where_it_is_none(folder: Path, skills: Skills) -> None:
    (folder / "zip" / "nul.txt").write_bytes(b"a\0b")
    (folder / "zip" / "marked.txt").write_text("\ufeffé", "utf-8")
    tools = hosting(skills)
    assert told(tools.run(call("skills_read_file", name="pdf-forms", path="references/FORMS.md"))) == {
        "name": "pdf-forms",
        "path": "references/FORMS.md",
        "bytes": 17,
        "text": "Fields are named.",
    }
    assert told(tools.run(call("skills_read_file", name="pdf-forms", path="assets/logo.png"))) == {
        "name": "pdf-forms",
        "path": "assets/logo.png",
        "bytes": 6,
        "binary": True,
        "note": "This file is not text, so it is not shown.",
    }
    assert told(tools.run(call("skills_read_file", name="zip", path="nul.txt")))["binary"] is True
    assert told(tools.run(call("skills_read_file", name="zip", path="marked.txt")))["text"] == "é"


@pytest.mark.parametrize(
    ("name", "path", "code", "message"), worked("what is wrong with a path is told", "tools")
)
def test_what_is_wrong_with_a_path_is_told(
    skills: Skills, name: str, path: str, code: str, message: str
) -> None:
    (skills.skills[1].folder / "large").write_bytes(b"x" * 131_073)
    returned = hosting(skills).run(call("skills_read_file", name=name, path=path))
    assert error(returned)[0] == code
    assert message in error(returned)[1]


def test_a_script_gets_its_arguments_one_by_one_and_no_shell_sees_them(skills: Skills) -> None:
    returned = ran(hosting(skills, ["*"]), "scripts/count.py", "a b", "$(id)", "; ls", "-x", "*")
    assert told(returned) == {
        "ok": True,
        "data": {"exit_code": 0, "stdout": "5 a b $(id) ; ls -x *\n", "stderr": ""},
        "warnings": [],
        "errors": [],
    }
    bare = call("skills_run_script", name="pdf-forms", script="scripts/count.py")
    assert told(hosting(skills, ["*"]).run(bare))["ok"] is True


def test_another_exit_code_is_a_failure_with_all_that_was_written(skills: Skills) -> None:
    returned = ran(hosting(skills, ["*"]), "scripts/fail.sh")
    assert error(returned) == ("TOOL_ERROR", "scripts/fail.sh ended with exit code 3.")
    assert told(returned)["data"] == {"exit_code": 3, "stdout": "half\n", "stderr": "why\n"}


@pytest.mark.parametrize(
    "script", ["scripts/fail.sh", "../pdf-forms/scripts/count.py", "nowhere", "SKILL.md"]
)
def test_a_script_that_is_not_allowed_by_its_very_name_is_not_run(skills: Skills, script: str) -> None:
    code, message = error(ran(hosting(skills, ["pdf-forms/scripts/count.py"]), script))
    assert code == "TOOL_NOT_ALLOWED"
    assert message.endswith("was not run: it is not allowed. You may run: scripts/count.py.")


@pytest.mark.parametrize("how", ["rewritten", "removed", "linked"])
def test_a_script_that_is_not_what_was_allowed_is_not_run(folder: Path, skills: Skills, how: str) -> None:
    tools = hosting(skills, ["*"])
    script = folder / "pdf-forms" / "scripts" / "count.py"
    if how == "rewritten":
        script.write_text(COUNT + "print('more')")
    else:
        script.unlink()
    if how == "linked":
        (folder / "count.py").write_text(COUNT)
        script.symlink_to(folder / "count.py")
    code, message = error(ran(tools, "scripts/count.py"))
    assert code == "TOOL_NOT_ALLOWED"
    assert "it is no longer what it was when it was allowed" in message


@pytest.mark.parametrize(
    ("pattern", "why"), worked("a pattern that means no script is a slip of the pen", "tools")
)
def test_a_pattern_that_means_no_script_is_a_slip_of_the_pen(skills: Skills, pattern: str, why: str) -> None:
    assert complaint(SkillError, lambda: skill_tools(skills, allow_scripts=[pattern])) == (
        f"--skills-allow-script {pattern}: {why}; expected SKILL/FILE, for example pdf-forms/scripts/*.py"
    )


def test_a_script_that_takes_too_long_is_ended_and_one_that_writes_too_much_is_cut(folder: Path) -> None:
    slow = packing(folder, {"slow.sh": "echo begun; sleep 60"}, deadline=0.3)
    assert error(ran(slow, "slow.sh", skill="zip")) == (
        "TOOL_TIMEOUT",
        "slow.sh was ended after 0.3 s; it may have had effects.",
    )
    cut = told(ran(packing(folder, {"long.sh": "seq 1 99999"}), "long.sh", skill="zip"))
    assert cut["warnings"] == ["stdout has 588888 bytes; the first 32768 are shown"]


def test_a_script_sees_nothing_of_the_environment_but_where_programs_are(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "correct-horse")
    program = "import os\nprint(sorted(os.environ), os.environ['TOOLREEL_CALL_KEY'], os.environ['HOME'])"
    returned = told(ran(packing(folder, {"look.py": program}), "look.py", skill="zip"))
    assert isinstance(returned["data"], Mapping)
    seen = str(returned["data"]["stdout"])
    assert seen.startswith(
        "['HOME', 'LANG', 'PATH', 'PYTHONDONTWRITEBYTECODE', 'TEMP', 'TMP', 'TMPDIR', 'TOOLREEL_CALL_KEY'] "
        "key-1 "
    )
    home = Path(seen.rsplit(maxsplit=1)[-1])
    assert (home.exists(), home != Path.home()) == (False, True)


def test_an_argument_that_cannot_be_passed_is_told(skills: Skills) -> None:
    tools = hosting(skills, ["*"])
    for argument, why in (("a\0b", "embedded null byte"), ("x" * 200_000, "Argument list too long")):
        code, message = error(ran(tools, "scripts/count.py", argument))
        assert code == "ARGUMENT_ERROR"
        assert why in message


def test_a_script_whose_program_is_not_here_is_told(folder: Path) -> None:
    tools = packing(folder, {"go.x": "#!/usr/bin/env nowhere-to-be-found -q\n"})
    code, message = error(ran(tools, "go.x", skill="zip"))
    assert code == "ARGUMENT_ERROR"
    assert message.endswith("No such file or directory: 'nowhere-to-be-found'.")


@pytest.mark.parametrize("line", ["#!/bin/sh", "#! /usr/bin/env sh", "#!/usr/bin/env -S sh -e"])
def test_the_first_line_says_what_runs_a_script(folder: Path, line: str) -> None:
    returned = ran(packing(folder, {"go": f"{line}\necho $0 $1\n"}), "go", "x", skill="zip")
    assert told(returned)["data"] == {"exit_code": 0, "stdout": f"{folder / 'zip/go'} x\n", "stderr": ""}
