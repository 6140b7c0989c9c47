"""A skill by its name: the nearest folder that holds a workflow."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.sandbox import SMALL, home_skills, project_skills, put_skill

from flowrail.discovery.locations import BUNDLED as BUNDLED_SOURCE
from flowrail.discovery.locations import Root, bundled_folder, skill_roots
from flowrail.skills.catalog import UnknownSkillError, find, workflow_file, workflows


def roots(*extra: str) -> tuple[Root, ...]:
    return skill_roots(os.getcwd(), os.environ["HOME"], os.environ, extra)


def test_the_nearest_place_wins_and_hides_the_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    below = Path.cwd() / "a" / "b"
    below.mkdir(parents=True)
    places = [
        below / ".claude" / "skills",
        below / ".agents" / "skills",
        below.parent / ".claude" / "skills",
        project_skills(),
        home_skills(),
        Path(os.environ["HOME"]) / ".agents" / "skills",
        tmp_path / "more",
    ]
    for place in places:
        put_skill("decision-critic", where=place)
    monkeypatch.chdir(below)

    skill = find("decision-critic", roots(str(tmp_path / "more")))

    ours = (BUNDLED_SOURCE, os.path.join(bundled_folder(), "decision-critic"))
    sources = ["project", "project", "project", "git-root", "global", "global", "extra"]
    expected = [
        (source, str(place / "decision-critic")) for source, place in zip(sources, places, strict=True)
    ]
    assert [(each.source, each.folder) for each in (skill, *skill.hides)] == [*expected, ours]
    assert skill.hides_own


def test_workflows_of_its_agents_are_addressed_below_the_skill() -> None:
    inner = SMALL.replace("NAME", "NAME/look")
    folder = put_skill("thing", texts={"workflows/look.yaml": inner, "workflows/notes.txt": "none"})
    skill = find("thing/look", roots())

    file = workflow_file("thing/look", skill)

    assert (skill.name, skill.folder) == ("thing", str(folder))
    assert (file.address, file.path, file.text_folder) == ("thing/look", "workflows/look.yaml", "steps/look")
    assert [workflow.address for workflow in workflows(skill)] == ["thing", "thing/look"]
    with pytest.raises(UnknownSkillError) as caught:
        workflow_file("thing/loook", skill)
    assert str(caught.value.hint) == "did you mean `thing/look`, `thing`?"
