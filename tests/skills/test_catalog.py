"""A skill by its name: the nearest folder that holds a workflow."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest
from support.sandbox import BUNDLED, SMALL, flow, home_skills, project_skills, put_python, put_skill

from flowrail.discovery.locations import Root, skill_roots
from flowrail.skills.catalog import BUNDLED as BUNDLED_SOURCE
from flowrail.skills.catalog import UnknownSkillError, bundled_folder, find, listing, workflow_file, workflows


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

    found = find("decision-critic", roots(str(tmp_path / "more")))

    ours = (BUNDLED_SOURCE, os.path.join(bundled_folder(), "decision-critic"))
    sources = ["project", "project", "project", "git-root", "global", "global", "extra"]
    expected = [
        (source, str(place / "decision-critic")) for source, place in zip(sources, places, strict=True)
    ]
    assert [(found.source, found.folder), *found.hides] == [*expected, ours]
    assert found.hides_own


def test_a_bundled_skill_is_found_by_the_same_road() -> None:
    found = find("problem-analysis", roots())

    assert (found.source, found.hides, found.hides_own) == (BUNDLED_SOURCE, (), False)
    assert found.folder == os.path.join(bundled_folder(), "problem-analysis")


def test_a_folder_without_a_workflow_is_no_skill_of_ours() -> None:
    (project_skills() / "decision-critic").mkdir(parents=True)
    (project_skills() / "decision-critic" / "SKILL.md").write_text("---\nname: x\n---\n")

    assert find("decision-critic", roots()).source == BUNDLED_SOURCE


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("decision-critik", "did you mean `decision-critic`?"),
        ("decision", "did you mean `decision-critic`?"),
        ("Decision-Critic", "did you mean `decision-critic`?"),
        ("DECISION-CRITIC", "did you mean `decision-critic`?"),
        (".claude/skills/thing", "did you mean `thing`?"),
        ("./.claude/skills/thing/", "did you mean `thing`?"),
        ("thin", "did you mean `thing`?"),
        ("zzz", "see all skills: flow list"),
        ("", "see all skills: flow list"),
        ("../thing", "did you mean `thing`?"),
        ("/etc/passwd", "see all skills: flow list"),
        ("thing/../thing", "did you mean `thing`?"),
        ("thing\n", "did you mean `thing`?"),
    ],
)
def test_an_unknown_name_is_refused_with_near_ones(name: str, hint: str) -> None:
    put_skill("thing")

    with pytest.raises(UnknownSkillError) as caught:
        find(name, roots())

    assert (caught.value.code, caught.value.exit_status) == ("UNKNOWN_SKILL", 2)
    assert hint.removesuffix("?") in str(caught.value.hint)
    assert caught.value.details["known"] == sorted([*BUNDLED, "thing"])


def test_workflows_of_its_agents_are_addressed_below_the_skill() -> None:
    inner = SMALL.replace("NAME", "NAME/look")
    folder = put_skill("thing", texts={"workflows/look.yaml": inner, "workflows/notes.txt": "none"})
    found = find("thing/look", roots())

    file = workflow_file("thing/look", found)

    assert (found.name, found.folder) == ("thing", str(folder))
    assert (file.address, file.path, file.text_folder) == ("thing/look", "workflows/look.yaml", "steps/look")
    assert [each.address for each in workflows(found)] == ["thing", "thing/look"]
    with pytest.raises(UnknownSkillError) as caught:
        workflow_file("thing/loook", found)
    assert str(caught.value.hint) == "did you mean `thing/look`, `thing`?"


def test_a_listing_names_every_skill_once_the_nearest_first() -> None:
    put_skill("thing", where=home_skills())
    put_skill("thing")
    put_python("alpha")
    (project_skills() / "Odd Name").mkdir()
    (project_skills() / "Odd Name" / "workflow.yaml").touch()
    (project_skills() / "empty").mkdir()

    found = listing(roots())

    ours = {each.name: each for each in found if each.source != BUNDLED_SOURCE}
    assert [each.name for each in found] == sorted([*BUNDLED, "alpha", "thing"])
    assert {name: each.source for name, each in ours.items()} == {"alpha": "project", "thing": "project"}
    assert ours["thing"].hides == (("global", str(home_skills() / "thing")),)


def test_the_yaml_form_is_taken_where_both_are_there() -> None:
    put_python("thing")
    put_skill("thing")

    assert workflow_file("thing", find("thing", roots())).path == "workflow.yaml"


@pytest.mark.parametrize(
    ("name", "file"), [("my_skill", "workflow.yaml"), ("card", "SKILL.md"), ("a b", "workflow.yml")]
)
def test_a_folder_that_is_no_skill_is_told_where_somebody_asks_for_it(name: str, file: str) -> None:
    folder = put_skill(name, SMALL, where=home_skills(), file=file)

    with pytest.raises(UnknownSkillError) as caught:
        find(name, roots())

    assert str(caught.value.hint).endswith(f"see why: {shlex.join(['flow', 'check', str(folder)])}")
    assert "flow check" not in flow("step", "..").err + flow("step", "").err + flow("step", f"{name}/x").err
