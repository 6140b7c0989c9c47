"""A card against its workflow, texts that nothing tells, exceptions, and what changed since a revision."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.mistakes import AREA, CARD, GIVEN, LINE, PYTHON, RULED, TABLE, WORK, write
from support.sandbox import HANDLER, SMALL, flow, put_skill
from support.skills import git, repository

from flowrail.discovery.git import LARGEST_FILE, NoRevisionError, Revision
from flowrail.errors import DocumentError
from flowrail.machines.loading.skill_folder import entry_file
from flowrail.operations.skills.check import WorkflowChange, check, compare
from flowrail.skills import catalog

NEEDY = GIVEN.replace(
    "default: full}", "default: full}, topic: {type: string, required: true, min_length: 3}"
).replace("Look, $mode.", "Look, $mode, $topic.")


def found(folder: Path, files: Mapping[str, str]) -> list[str]:
    (first, *_) = check([str(write(folder / "demo", files))], (), str(folder))
    return [f"{each.code} {each.place} {each.message}" for each in first.findings]


def with_card(text: str, workflow: str = GIVEN) -> dict[str, str]:
    return {"workflow.yaml": workflow, "SKILL.md": CARD.replace("Start: `flow step demo`\n", text)}


@pytest.mark.parametrize(
    "text",
    [
        "Start: `flow step demo`",
        "```\n$ flow start demo -p mode=quick\n```",
        "`flow step demo -p mode=MODE` or `flow step demo --param mode=…`",
        "`flow step demo` and `flow step elsewhere -p x=y`",
        "`flow step demo` and `flow step demo ok` and `flow step 'unclosed`",
    ],
)
def test_a_card_whose_commands_work_is_in_order(text: str, tmp_path: Path) -> None:
    assert found(tmp_path, with_card(text)) == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Just start it: flow step demo", "never shows `flow step demo`"),
        ("`flow step demo -p mod=quick`", "takes no parameter `mod`"),
        ("`flow step demo -p mode=fast`", "takes one of `quick`, `full`, not `fast`"),
        ("`flow step demo`, `flow step demo/area`", "unknown workflow `demo/area`"),
        ("`flow step dem`", "never shows `flow step demo`"),
    ],
)
def test_a_card_whose_commands_do_not_work_is_found(text: str, what: str, tmp_path: Path) -> None:
    (one,) = found(tmp_path, with_card(text))

    assert one.startswith("FR169 SKILL.md:")
    assert what in one


def test_a_card_that_names_the_skill_wrongly_is_told_in_which_line(tmp_path: Path) -> None:
    (near,) = found(tmp_path / "a", with_card("One.\n\nStart: `flow step dem`\n"))
    (far,) = found(tmp_path / "b", with_card("One.\n\nAsk: `flow step planner`\n"))

    assert near.startswith("FR169 SKILL.md:8")
    assert far.startswith("FR169 SKILL.md:1")


def test_a_text_of_no_step_is_named_after_a_step_only_that_lacks_one(tmp_path: Path) -> None:
    told = write(tmp_path / "demo", {"SKILL.md": CARD, "workflow.yaml": LINE, "steps/lok.md": "x"})
    (finding,) = check([str(told)], (), str(tmp_path))[0].findings

    assert (finding.code, finding.place) == ("FR171", "steps/lok.md:1")
    assert finding.remedy == "name it after its step, or delete it"


def test_a_card_has_to_give_what_is_required_once(tmp_path: Path) -> None:
    (one,) = found(tmp_path / "a", with_card("`flow step demo -p mode=quick`", NEEDY))

    assert "no command in SKILL.md sets `topic`" in one
    assert (
        found(tmp_path / "b", with_card("`flow step demo`, or `flow step demo -p topic=cats`", NEEDY)) == []
    )


def test_commands_of_the_agents_workflows_are_judged_by_theirs(tmp_path: Path) -> None:
    card = CARD + "\n`flow step demo/area -p area=auth`, `flow step demo/area -p part=x`\n"
    files = {"workflow.yaml": WORK, "workflows/area.yaml": AREA, "SKILL.md": card}

    (one,) = found(tmp_path, files)

    assert "`demo/area` takes no parameter `part`" in one


def test_a_workflow_beside_it_that_cannot_be_read_is_no_reason_to_change_the_card(tmp_path: Path) -> None:
    card = CARD + "\n`flow step demo/area -p area=auth`\n"
    folder = write(tmp_path / "demo", {"workflow.yaml": LINE, "SKILL.md": card})
    (folder / "workflows" / "area.yaml").mkdir(parents=True)

    report, beside = check([str(folder)], (), str(tmp_path))

    assert report.findings == ()
    assert [each.code for each in beside.findings] == ["FR100"]


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("workflow.yaml", "title: Look", "title: [Look"),
        ("workflow.yaml", "steps:", "stpes:"),
        ("workflow.py", "WORKFLOW =", "WORKFLOW ("),
        ("workflow.py", "WORKFLOW =", "WORKFLOWS ="),
    ],
)
def test_a_workflow_that_cannot_be_read_is_no_reason_to_change_what_lies_beside_it(
    path: str, old: str, new: str, tmp_path: Path
) -> None:
    text = (GIVEN if path == "workflow.yaml" else PYTHON).replace(old, new)
    card = CARD + TABLE + "\n`flow step demo -p mode=quick`\n"
    files = {path: text, "SKILL.md": card, "steps/look.md": "Look.\n", "workflows/area.yaml": AREA}

    told = found(tmp_path, files)

    assert told
    assert not [each for each in told if not each.split()[1].startswith(path)]


def test_a_text_beside_a_workflow_that_cannot_be_read_is_let_be(tmp_path: Path) -> None:
    broken = AREA.replace('actions: ["Look at $area."]', "text: steps/shared.md").replace(
        "steps:", "steps: ["
    )
    files = {
        "workflow.yaml": WORK,
        "workflows/area.yaml": broken,
        "SKILL.md": CARD,
        "steps/shared.md": "It.\n",
    }

    assert not [each for each in found(tmp_path, files) if "FR171" in each]


def test_a_card_that_cannot_be_read_is_found_and_none_is_in_order(tmp_path: Path) -> None:
    folder = write(tmp_path / "demo", {"workflow.yaml": LINE})
    assert found(tmp_path, {}) == []
    (folder / "SKILL.md").mkdir()

    (one,) = found(tmp_path, {})

    assert one.startswith("FR168 SKILL.md")
    assert "SKILL.md cannot be read: it is a directory" in one


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("| 2 | Tell |", "| 2 | Say |", "its title is `Tell`, not `Say`"),
        ("ok → 2", "ok → tell, fail → end", "other transitions: fail → end"),
        ("| 2 | Tell | ok → end |\n", "", "has 1 rows, the workflow 2 steps"),
        ("| Step |", "| What |", "has 2 rows"),
        ("| 1 | Look | ok → 2 |", "| 1 |", "its title is `Look`, not ``"),
    ],
)
def test_a_table_of_steps_that_is_not_the_workflow_is_found(
    old: str, new: str, what: str, tmp_path: Path
) -> None:
    assert old in TABLE
    (one,) = found(tmp_path, {"workflow.yaml": LINE, "SKILL.md": CARD + TABLE.replace(old, new)})

    assert one.startswith("FR170 SKILL.md:")
    assert what in one


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ok → 2", "ok → tell"),
        ("| Transitions |", "| Next |"),
        ("Look | ok → 2", "Look | onwards"),
        ("Tell |", "Tell (last) |"),
    ],
)
def test_a_table_may_be_written_in_other_ways(old: str, new: str, tmp_path: Path) -> None:
    assert found(tmp_path, {"workflow.yaml": LINE, "SKILL.md": CARD + TABLE.replace(old, new)}) == []


def test_texts_that_no_step_tells_are_found_whichever_workflow_they_would_be_of(tmp_path: Path) -> None:
    told = AREA.replace('actions: ["Look at $area."], ', "")
    files = {
        "workflow.yaml": WORK,
        "workflows/area.yaml": told,
        "SKILL.md": CARD,
        "steps/lok.md": "Left over.\n",
        "steps/notes.txt": "No text of a step.\n",
        "steps/area/look.md": "Look at $area.\n",
        "steps/area/old.md": "Left over.\n",
    }

    reports = check([str(write(tmp_path / "demo", files))], (), str(tmp_path))

    assert [(each.code, each.place) for report in reports for each in report.findings] == [
        ("FR171", "steps/lok.md:1"),
        ("FR171", "steps/area/old.md:1"),
    ]


def test_texts_beside_python_are_let_be(tmp_path: Path) -> None:
    assert not [
        each for each in found(tmp_path, {"workflow.py": PYTHON, "steps/x.md": "x"}) if "FR171" in each
    ]


def test_a_warning_is_let_pass_in_the_file_with_its_reason(tmp_path: Path) -> None:
    loose = RULED.replace("    limit: 3\n", "")
    passed = loose.replace("steps:", "ignore: [{code: FR163, step: look, reason: it ends}]\nsteps:")

    assert [each.split()[0] for each in found(tmp_path / "a", {"workflow.yaml": loose})] == ["FR163"]
    assert found(tmp_path / "b", {"workflow.yaml": passed}) == []
    without = passed.replace("reason: it ends", 'reason: ""')
    assert [each.split()[0] for each in found(tmp_path / "c", {"workflow.yaml": without})] == [
        "FR163",
        "FR172",
    ]


def test_python_says_it_in_a_comment(tmp_path: Path) -> None:
    loose = PYTHON.replace("Outcome.OK: None", 'Outcome.OK: None, Outcome.ITERATE: "look"')
    passed = "# flow: ignore FR163: the handler ends it\n" + loose

    assert [each.split()[0] for each in found(tmp_path / "a", {"workflow.py": loose})] == ["FR163"]
    assert found(tmp_path / "b", {"workflow.py": passed}) == []


# --- what changed


def changes(folder: Path, before: Mapping[str, str], after: Mapping[str, str]) -> list[WorkflowChange]:
    root = repository(folder)
    demo = write(root / "skills" / "demo", before)
    git(root, "add", ".")
    git(root, "commit", "-qm", "before")
    for path in before.keys() - after.keys():
        (demo / path).unlink()
    write(demo, after)
    file = entry_file(str(demo), "demo")
    assert file is not None
    return compare([file], Revision("HEAD", {"PATH": "/usr/bin:/bin:/usr/local/bin"}))


@pytest.mark.parametrize(
    ("old", "new", "step", "stops"),
    [
        ("{ok: tell}", "{ok: dig}", "dig", True),
        ("{ok: null}", "{ok: null, fail: look}", "tell", True),
        ("title: Tell", "title: Say", "tell", False),
        ("[Tell it.]", "[Say it.]", "tell", False),
        ("id: tell,", "id: tell, limit: 3,", "tell", True),
        ("default: full", "default: quick", None, False),
        ("default: full}", "default: full}, n: {type: string}", None, False),
        ("steps:", "entry: dig\nsteps:", None, False),
        ("next: {ok: null}", "rules: [{outcome: ok}], next: {ok: null}", "tell", True),
        ("next: {ok: null}", "reports: {note: {}}, next: {ok: null}", "tell", True),
    ],
)
def test_each_change_names_its_step_and_whether_sessions_stop_there(
    old: str, new: str, step: str | None, stops: bool, tmp_path: Path
) -> None:
    assert old in GIVEN

    found = changes(tmp_path, {"workflow.yaml": GIVEN}, {"workflow.yaml": GIVEN.replace(old, new)})

    assert {(change.step, change.stops) for change in found} == {(step, stops)}


def test_a_removed_step_is_reported(tmp_path: Path) -> None:
    longer = LINE + "  - {id: last, title: L, actions: [L.], next: {ok: null}}\n"

    found = changes(tmp_path, {"workflow.yaml": longer}, {"workflow.yaml": LINE})

    assert WorkflowChange("demo", "last", "is gone", stops=True) in found


def test_nothing_changed_and_a_new_workflow(tmp_path: Path) -> None:
    assert changes(tmp_path / "a", {"workflow.yaml": LINE}, {"workflow.yaml": LINE}) == []
    (new,) = changes(tmp_path / "b", {"SKILL.md": CARD}, {"SKILL.md": CARD, "workflow.yaml": LINE})
    assert new == WorkflowChange("demo", None, "the workflow is new")
    (step,) = changes(tmp_path / "c", {"workflow.yaml": LINE}, {"workflow.yaml": LINE + "  - {id: more}\n"})
    assert (step.step, step.what) == ("more", "is new")


def test_what_cannot_be_read_now_is_told(tmp_path: Path) -> None:
    root = repository(tmp_path)
    demo = write(root / "demo", {"workflow.yaml": LINE})
    git(root, "add", ".")
    git(root, "commit", "-qm", "before")
    file = entry_file(str(demo), "demo")
    (demo / "workflow.yaml").unlink()
    (demo / "workflow.yaml").mkdir()

    assert file is not None
    assert compare([file], Revision("HEAD", {"PATH": "/usr/bin:/bin:/usr/local/bin"})) == [
        WorkflowChange("demo", None, "the workflow cannot be read now")
    ]


def test_the_command_tells_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = repository(tmp_path / "repo")
    write(root / "demo", {"workflow.yaml": LINE})
    git(root, "add", ".")
    git(root, "commit", "-qm", "before")
    write(root / "demo", {"workflow.yaml": LINE.replace("{ok: null}", "{ok: null, fail: look}")})
    monkeypatch.chdir(root)

    ran = flow("check", "demo", "--against", "HEAD")
    data = flow("check", "demo", "--against", "HEAD", "--json").data
    refused = flow("check", "demo", "--against", "nosuch", "--json")

    assert ran.status == 0
    assert "demo: step `tell` `fail` is new, to `look`; sessions that stand there stop\n" in ran.out
    assert ran.out.endswith("1 workflow checked, 1 found, 1 changed\n")
    assert data["changes"][0] == {
        "workflow": "demo",
        "step": "tell",
        "what": "`fail` is new, to `look`",
        "stops": True,
    }
    assert (refused.status, refused.error["code"]) == (2, "NO_REVISION")


def test_workflows_that_are_gone_are_told_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = repository(tmp_path / "repo")
    skills = root / ".claude" / "skills"
    for name in ("demo", "other", "kept"):
        files = {"SKILL.md": CARD, "workflow.yaml": LINE, "workflows/area.yaml": AREA}
        write(skills / name, {path: text.replace("demo", name) for path, text in files.items()})
    git(root, "add", ".")
    git(root, "commit", "-qm", "before")
    (skills / "demo" / "workflows" / "area.yaml").unlink()
    shutil.rmtree(skills / "other")
    monkeypatch.chdir(root)

    told = {
        target: flow("check", *target.split(), "--against", "HEAD").out.splitlines()[-4:]
        for target in ("demo", "demo kept", ".claude/skills", "")
    }

    assert told["demo"][-2:] == [
        "demo/area: the workflow is gone; sessions that stand there stop",
        "1 workflow checked, nothing found, 1 changed",
    ]
    assert told["demo kept"][-2:] == [told["demo"][-2], "3 workflows checked, nothing found, 1 changed"]
    assert [line.partition(":")[0] for line in told[".claude/skills"][:3]] == [
        "demo/area",
        "other",
        "other/area",
    ]
    assert told[""][:3] == told[".claude/skills"][:3]


def test_without_a_name_the_projects_skills_are_held_against_what_they_were(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bundled = tmp_path / "installed" / "skills"
    write(
        bundled / "there",
        {"SKILL.md": CARD.replace("demo", "there"), "workflow.yaml": LINE.replace("demo", "there")},
    )
    monkeypatch.setattr(catalog, "bundled_folder", lambda: str(bundled))
    root = repository(tmp_path / "repo")
    write(root / ".claude" / "skills" / "demo", {"SKILL.md": CARD, "workflow.yaml": LINE})
    git(root, "add", ".")
    git(root, "commit", "-qm", "before")
    monkeypatch.chdir(root)

    ran = flow("check", "--against", "HEAD")
    refused = flow("check", "--against", "nosuch", "--json")

    assert (ran.status, ran.out) == (0, "2 workflows checked, nothing found, nothing changed\n")
    assert (refused.status, refused.error["code"]) == (2, "NO_REVISION")


@pytest.mark.parametrize("name", ["", "-x", "--output=x", "nosuch", "HEAD:README"])
def test_a_revision_that_is_none_is_refused(name: str, tmp_path: Path) -> None:
    root = repository(tmp_path)

    with pytest.raises(NoRevisionError):
        Revision(name, {"PATH": "/usr/bin:/bin:/usr/local/bin"}).files(str(root))


def test_links_and_large_files_of_a_revision_are_not_read(tmp_path: Path) -> None:
    root = repository(tmp_path)
    (root / "large").write_bytes(b"x" * (LARGEST_FILE + 1))
    (root / "link").symlink_to("README")
    (root / "ä b.md").write_text("ä\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "more")

    files = Revision("HEAD", {"PATH": "/usr/bin:/bin:/usr/local/bin"}).files(str(root))

    assert files["README"] == b"hello\n"
    assert files["ä b.md"] == "ä\n".encode()
    assert "link" not in files
    assert "missing" not in files
    with pytest.raises(DocumentError, match="large"):
        files["large"]


@pytest.mark.parametrize(
    ("path", "places"),
    [
        ("workflow.py", ["workflow.py:1"]),
        ("workflow.yml", ["workflow.yml:1"]),
        ("workflows/area.yml", ["workflows/area.yml:1"]),
        ("workflows/area.py", ["workflows/area.py:1"]),
        ("workflows/__init__.py", []),
        ("workflows/notes.md", []),
    ],
)
def test_workflows_that_nothing_reads_are_found(path: str, places: list[str], tmp_path: Path) -> None:
    assert [
        each.split()[:2] for each in found(tmp_path, {"workflow.yaml": LINE, "SKILL.md": CARD, path: "x\n"})
    ] == [["FR174", place] for place in places]


def test_a_folder_whose_workflow_has_another_ending_is_told_the_right_one(tmp_path: Path) -> None:
    folder = write(tmp_path / "demo", {"workflow.yml": LINE})

    ran = flow("check", str(folder), "--json")

    assert (ran.status, ran.error["hint"]) == (2, "name the file `workflow.yaml`")


BLOCK = 'handoff: "{accepts_handoff: true, handoff_categories: [a], handoff_description: x}"'


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("", "", []),
        (BLOCK, 'handoff: "{accepts_handoff: false}"', []),
        (BLOCK, 'handoff: "{provides_to: [x]}"', []),
        (", handoff_description: x", "", ["DESCRIPTION_BORROWED"]),
        (", handoff_categories: [a]", "", ["NO_CATEGORIES"]),
        ("[a]", "a, odd: 1", ["NOT_A_LIST", "UNKNOWN_KEY"]),
        (BLOCK, "handoff: soon", ["HANDOFF_NOT_MAPPING"]),
        (
            "handoff_description: x",
            "handoff_description: x, handoff_trigger: go, protocol_version: '7'",
            ["UNKNOWN_VERSION", "TRIGGER_WITHOUT_PAYLOAD"],
        ),
        ("description: x", "description: x, handoff_trigger: go | sh", ["TRIGGER_NOT_PLAIN"]),
    ],
)
@pytest.mark.parametrize("workflow", [True, False])
def test_what_discovery_forgives_in_a_handoff_block_is_found(
    old: str, new: str, told: list[str], workflow: bool, tmp_path: Path
) -> None:
    card = CARD.replace("---\n\n", f"metadata:\n  {BLOCK.replace(old, new)}\n---\n\n")
    files = {"SKILL.md": card, **({"workflow.yaml": LINE} if workflow else {})}

    [report] = check([str(write(tmp_path / "demo", files))], (), str(tmp_path))

    assert [each.code for each in report.findings] == ["FR183"] * len(told)
    assert [each.message.rpartition("[")[2][:-1] for each in report.findings] == told
    assert report.is_workflow is workflow


def test_skills_with_and_without_a_workflow_are_counted_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "demo", {"workflow.yaml": LINE, "SKILL.md": CARD})
    write(tmp_path / "bare", {"SKILL.md": CARD.replace("demo", "bare")})
    write(tmp_path / "broken" / "SKILL.md", {"inside": ""})

    assert flow("check", "demo", "bare").out.endswith(
        "1 workflow and 1 skill without a workflow checked, nothing found\n"
    )
    assert flow("check", "bare", "bare").out.startswith("2 skills without a workflow checked")
    assert "FR168" in flow("check", "broken").out


@pytest.mark.parametrize("file", ["workflow.yaml", "workflow.py"])
def test_a_folder_may_be_called_anything_and_stands_in_no_command(file: str) -> None:
    name = "x`; flow skill trust y"
    python = HANDLER.replace("NAME", "small").replace("BODY", "return Outcome.OK")
    text = python if file.endswith("py") else SMALL.replace("NAME", "small")
    folder = put_skill(name, text, file=file)
    (folder / "SKILL.md").write_text("---\nname: small\ndescription: d\n---\n")

    told = flow("check", str(folder), "--json").data["findings"]
    (folder / "SKILL.md").unlink()
    told += flow("check", str(folder), "--json").data["findings"]

    assert {"FR107", "FR169", "FR182"} <= {each["code"] for each in told}
    assert not [each for each in told if "trust" in each["remedy"]]
