"""A new skill is in order from the start, and its own test holds at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.sandbox import allow, flow, project_skills, refused, told, unchanged
from support.simulated_agents import Habit, Team

FORMS = [(), ("--python",)]


def made(*words: str, name: str = "my-thing") -> Path:
    """Make a skill and return its folder."""
    return Path(told("new", name, *words)["folder"])


@pytest.mark.parametrize("form", FORMS)
def test_the_check_of_a_new_skill_asks_for_its_description_only(form: tuple[str, ...]) -> None:
    folder = made(*form)

    assert folder == project_skills() / "my-thing"
    for target in ("my-thing", str(folder)):
        if form:
            allow("my-thing")
        ran = flow("check", target)
        assert ran.status == 0
        assert "SKILL.md:3: warning FR168: the description is not written yet" in ran.out
        assert "1 workflow checked: 1 warning\n" in ran.out
    card = folder / "SKILL.md"
    card.write_text(card.read_text().replace("TODO: say", "Says"))
    if form:
        allow("my-thing")
    assert flow("check", "my-thing", "--strict").out == "1 workflow checked, nothing found\n"


def test_a_new_skill_has_no_test_of_its_own_and_passes_flow_test() -> None:
    folder = made()

    assert [path.name for path in folder.rglob("*.py")] == []
    assert flow("test", "my-thing", "--strict").status == 0


@pytest.mark.parametrize("form", FORMS)
def test_an_agent_walks_it(form: tuple[str, ...]) -> None:
    made(*form)
    if form:
        assert refused("step", "my-thing", "--new")[0] == 7
        allow("my-thing")

    assert Team(Habit()).run("flow step my-thing").status == "completed"


def test_nothing_is_overwritten() -> None:
    project_skills().mkdir(parents=True)
    (project_skills() / "my-thing").symlink_to("nowhere")

    with unchanged(project_skills()):
        status, error = refused("new", "my-thing")

    assert (status, error["code"]) == (4, "EXISTS")


@pytest.mark.parametrize("name", ["My-Thing", "a_b", "a/b", "-a", "", "x" * 65, "../a", "a b"])
def test_a_skill_cannot_be_called_anything(name: str) -> None:
    ran = flow("new", "--json", "--", name)

    assert (ran.status, ran.error["code"]) == (2, "NOT_A_NAME")
    assert not project_skills().exists()
