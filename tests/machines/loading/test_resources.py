"""How a step quotes the files beside it: five methods, and no access to files outside."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.sandbox import flow, home_skills, put_skill, told
from support.workflows import linear

from flowrail.errors import DocumentError, UsageError
from flowrail.machines.loading.skill_folder import ResourceProvider, UnknownResourceError
from flowrail.text import size_limits


@pytest.fixture
def resources(tmp_path: Path) -> ResourceProvider:
    for path, text in {
        "near/severity.md": "near",
        "far/severity.md": "far",
        "far/temporal.md": "time",
        "far/notes.txt": "no",
        "own/plan-format.md": "plan",
        "work/src/main.py": "code",
    }.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "secret.md").write_text("secret")
    known = {"other": linear("a", "b", name="other")}
    return ResourceProvider(
        project=str(tmp_path / "work"),
        resources=[str(tmp_path / "own")],
        conventions=[str(tmp_path / "nowhere"), str(tmp_path / "near"), str(tmp_path / "far")],
        workflow=known.__getitem__,
    )


@pytest.mark.parametrize(
    "name", ["severty", "../secret", "/etc/passwd", "", ".hidden", "a/b", "notes.txt", "x\0y", "x" * 500]
)
def test_an_unknown_name_is_refused_with_the_known_names(resources: ResourceProvider, name: str) -> None:
    with pytest.raises(UnknownResourceError) as caught:
        resources.get_convention(name)

    assert caught.value.details["known"] == ["severity", "temporal"]
    assert len(caught.value.message) < 150


@pytest.mark.parametrize(
    "path",
    [
        "../secret.md",
        "/etc/passwd",
        "src/../../secret.md",
        "",
        ".",
        "link.md",
        "x\0y",
        "large",
        "bytes",
        "src",
    ],
)
def test_only_texts_below_the_project_are_read(
    resources: ResourceProvider, tmp_path: Path, path: str
) -> None:
    (tmp_path / "work/link.md").symlink_to(tmp_path / "secret.md")
    (tmp_path / "near/link.md").symlink_to(tmp_path / "secret.md")
    (tmp_path / "work/large").write_bytes(b"x" * (size_limits.YAML_BYTES + 1))
    (tmp_path / "work/bytes").write_bytes(b"\xff")

    with pytest.raises((UsageError, DocumentError)):
        resources.read_file(path)
    with pytest.raises(DocumentError):
        resources.get_convention("link")


# --- in handlers and text functions

READING = """
from flowrail import Outcome, StepDef, Workflow


def look(ctx):
    resources = ctx.resources
    return [
        resources.get_convention("severity"),
        resources.get_resource("plan-format"),
        resources.read_file("src/main.py"),
        resources.get_workflow("small").description,
        resources.get_step("small", "second").name,
    ]


def decide(ctx):
    return Outcome.OK, {"convention": ctx.resources.get_convention("severity")}


WORKFLOW = Workflow(
    "NAME",
    StepDef("look", "Look", look, decide, next={Outcome.OK: "tell"}),
    StepDef("tell", "Tell", ["It says: $convention"], next={Outcome.OK: None}),
)
"""


def put_reading() -> Path:
    put_skill("small", where=home_skills())
    (Path.cwd() / "src").mkdir()
    (Path.cwd() / "src" / "main.py").write_text("print()")
    texts = {"resources/plan-format.md": "the plan", "conventions/severity.md": "of the skill"}
    return put_skill("reading", READING, where=home_skills(), file="workflow.py", texts=texts)


def test_functions_read_the_resources_of_the_skill() -> None:
    put_reading()

    begun = told("step", "reading")
    moved = told("step", "reading", "done")

    assert begun["actions"] == [
        "of the skill",
        "the plan",
        "print()",
        "A small procedure. For trying things.",
        "Second",
    ]
    assert moved["actions"] == ["It says: of the skill"]


# --- files beside a workflow in Python

FILES = """
from flowrail import Outcome, StepDef, Workflow

WORKFLOW = Workflow(
    "NAME",
    StepDef("look", "Look", next={Outcome.OK: "tell"}),
    StepDef("tell", "Tell", ["Tell.\\n\\n```flow:resource\\nform\\n```"], next={Outcome.OK: None}),
)
"""


def put_files(where: Path | None = None) -> Path:
    texts = {"steps/look.md": "Look at it.\n", "resources/form.md": "A form.\n"}
    return put_skill("files", FILES, where=where or home_skills(), file="workflow.py", texts=texts)


def test_a_python_skill_has_texts_and_resources_in_files() -> None:
    put_files()

    assert flow("check", "files").status == 0
    begun = told("step", "files")
    told_next = told("step", "files", "ok")

    assert begun["actions"] == ["Look at it."]
    assert told_next["resources"] == {"form": "A form."}


QUOTING = """\
name: NAME
steps:
  - id: look
    title: Look
    actions: ["Look.\\n\\n```flow:resource\\nseverity\\n```"]
    next: {ok: null}
"""


@pytest.mark.parametrize("name", ["quoting", "reading"])
def test_a_convention_is_that_of_the_skill_then_the_project_then_home_then_ours(name: str) -> None:
    put_reading()
    put_skill("quoting", QUOTING, where=home_skills(), texts={"conventions/severity.md": "of the skill"})
    skill = home_skills() / name / "conventions"
    project = Path.cwd() / ".claude" / "conventions"
    home = Path(os.environ["HOME"]) / ".claude" / "conventions"
    for folder, text in ((project, "of the project"), (home, "of home")):
        folder.mkdir(parents=True)
        (folder / "severity.md").write_text(text)

    def quoted() -> str:
        begun = told("step", name, "--new")
        return str(begun["resources"]["severity"] if name == "quoting" else begun["actions"][0])

    for folder, text in ((skill, "of the skill"), (project, "of the project"), (home, "of home")):
        assert text in quoted()
        (folder / "severity.md").unlink()

    assert "MUST" in quoted()


def test_a_resource_that_is_too_large_is_reported_and_no_convention_replaces_it() -> None:
    texts = {"resources/severity.md": "x" * (size_limits.YAML_BYTES + 1), "conventions/severity.md": "small"}
    put_skill("quoting", QUOTING, where=home_skills(), texts=texts)

    ran = flow("check", "quoting")

    assert ran.status == 1
    assert "quotes the resource `severity`" in ran.out
