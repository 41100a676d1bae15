from __future__ import annotations

from tests.plugin.project import SESSION, Project

ASKS = """
def test_pins(reel):
    reel.run(asking(), TOOLS)
"""


def test_names_are_those_of_the_marker_of_the_parameters_and_of_the_class(project: Project) -> None:
    project.tests(
        """
@pytest.mark.reel("pins/local--m")
def test_marked(reel):
    reel.run(asking(), TOOLS)

@pytest.mark.parametrize("part", ["pin", "Pin / shim"])
def test_each(reel, part):
    reel.run(asking(part), TOOLS)

class TestStock:
    def test_pins(self, reel):
        reel.run(asking(), TOOLS)

    @pytest.mark.reel(name="pins/remote--m")
    def test_marked(self, reel):
        reel.run(asking(), TOOLS)
"""
    )
    project.record(script=SESSION * 5).assert_outcomes(passed=5)
    assert [name for name in project.files() if name.endswith(".yaml")] == [
        "pins/local--m.yaml",
        "pins/remote--m.yaml",
        "test_agent/TestStock.test_pins.yaml",
        "test_agent/test_each-Pin-shim-a8437852.yaml",
        "test_agent/test_each-pin.yaml",
    ]
    project.here().assert_outcomes(passed=5)


def test_a_folder_for_all_recordings_can_be_set_and_keeps_modules_apart(project: Project) -> None:
    project.tests(ASKS)
    (project.path / "deeper").mkdir()
    (project.path / "test_agent.py").rename(project.path / "deeper" / "test_agent.py")
    (project.path / "conftest.py").touch()  # puts the agent on the path
    (project.path / "pyproject.toml").write_text('[tool.toolreel]\nrecordings = "reels/all"\n')
    project.record().assert_outcomes(passed=1)
    assert project.files() == [
        "all/deeper/test_agent/test_pins.journal.jsonl",
        "all/deeper/test_agent/test_pins.yaml",
    ]
    project.here().assert_outcomes(passed=1)
