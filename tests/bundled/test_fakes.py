"""An agent that fakes the evidence of a bundled step is refused, or the skill's page says that nobody can check the step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from support.bundled_evidence import content_for

from flowrail.discovery.locations import bundled_folder
from flowrail.evidence.context import Context
from flowrail.evidence.evaluate import evaluate
from flowrail.evidence.file_evidence import files_of
from flowrail.machines.demanded_evidence import Evidence
from flowrail.machines.evidence_results import StepEvidence
from flowrail.machines.next_step import possible_edges
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow
from flowrail.skills.catalog import listing, workflows
from flowrail.skills.loader import Loader

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "skills.md").read_text(encoding="utf-8")
ALL = {
    file.address: Loader().load(file.address).definition for skill in listing(()) for file in workflows(skill)
}
WORK = ".flow/sessions/x/work"
LAST_ROUND = "the file of the last round"
FAKES = ("headings", "filler", "invented citations", "citations without words", LAST_ROUND)


def is_form_only(address: str, step_id: str) -> bool:
    """Return whether the page of the skill says that the content of the step is not checkable."""
    section = re.split(r"\n##+ ", PAGE.partition(f"# {address}\n")[2])[0]
    listed = section.partition("form only, because the content is not checkable: ")[2].partition(".")[0]
    return f"`{step_id}`" in listed


def is_repeated(workflow: Workflow, step: StepDef) -> bool:
    """Return whether a way leads from the step back to it."""
    targets: dict[str, set[str]] = {}
    for edge in possible_edges(workflow):
        if edge.target is not None:
            targets.setdefault(edge.source, set()).add(edge.target)
    reached: set[str] = set()
    ahead = list(targets.get(step.id, ()))
    while ahead:
        here = ahead.pop()
        if here not in reached:
            reached.add(here)
            ahead += targets.get(here, ())
    return step.id in reached


def steps() -> Iterator[tuple[str, str]]:
    for address, workflow in ALL.items():
        for step in workflow.steps:
            for outcome in step.evidence:
                yield address, f"{step.id} {outcome}"


def context(workflow: Workflow, step: StepDef, outcome: str) -> Context:
    """Return the project as it is now, at the moment when the step was entered."""
    earlier = {name: arg for each in workflow.steps for name, arg in each.reports.items()}
    samples = {name: arg.sample() for name, arg in {**earlier, **workflow.params, **step.reports}.items()}
    inside = {name: value.lstrip("/") if isinstance(value, str) else value for name, value in samples.items()}
    values = {**inside, "work": WORK, "notes": f"{WORK}/notes.md", "session": "x"}
    folder = str(Path.cwd())
    files = files_of(step.evidence[outcome], folder, values)
    return Context(StepEvidence(folder=folder, files=files), values, "x", lambda _: (None, ""))


def write(checks: tuple[Evidence, ...], values: dict[str, object], kind: str) -> None:
    """Write what a fake of *kind* has in the files of *checks*."""
    for check in checks:
        name = check.file or check.files
        if name is None:
            continue
        filled = (
            re.sub(r"\$([a-z_]+)", lambda match: str(values[match[1]]), name)
            .replace("**", "a")
            .replace("*", "1")
        )
        path = Path(filled)
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text() if path.exists() else ""
        if kind == "headings":
            texts = [check.section or "", *(text for text in check.contains if text.startswith("#"))]
            path.write_text(before + "\n".join(texts) + "\n")
            continue
        demanded = replace(check, citations=False) if kind == "filler" else check
        plain = to_plain_check(demanded)
        text = content_for(plain, before, path.parent, values, 1)
        if kind == "invented citations":
            text = text.replace("../source.txt", "invented.py").replace("the cited words", "no such words")
        if kind == "citations without words":
            text = text.replace(' "the cited words"', "")
        path.write_text(f"{before}\n{text}\n")


def to_plain_check(check: Evidence) -> dict[str, object]:
    return {name: value for name, value in asdict(check).items() if value}


def passes(checks: tuple[Evidence, ...], at: Context) -> bool:
    return all(result.verdict == "pass" for result in evaluate(checks, at))


@pytest.mark.parametrize(("address", "name"), list(steps()))
def test_a_fake_is_refused_or_the_page_lists_the_step(
    address: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow = ALL[address]
    step_id, outcome = name.split()
    checks = tuple(workflow.step(step_id).evidence[outcome])
    accepted = set()
    for number, kind in enumerate(FAKES):
        project = tmp_path / str(number)
        project.mkdir()
        monkeypatch.chdir(project)
        at = context(workflow, workflow.step(step_id), outcome)
        write(checks, dict(at.values), "complete" if kind == LAST_ROUND else kind)
        if kind == LAST_ROUND:
            if not is_repeated(workflow, workflow.step(step_id)):
                continue
            at = context(workflow, workflow.step(step_id), outcome)
        if passes(checks, at):
            accepted.add(kind)

    is_strong = any(check.citations or check.kind in {"command", "review", "person"} for check in checks)
    if not is_strong:
        accepted -= {"invented citations", "citations without words"}  # it asks for none
    if not any(check.section or check.contains for check in checks):
        accepted -= {"headings"}  # any text is the content, such as a draft
    assert accepted <= ({"filler", LAST_ROUND} if is_form_only(address, step_id) else set()), accepted


def test_a_command_that_did_not_run_and_a_review_that_recorded_nothing_are_no_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for workflow in ALL.values():
        for step in workflow.steps:
            for outcome, checks in step.evidence.items():
                claimed = [check for check in checks if check.kind not in {"file", "files"}]
                at = context(workflow, step, outcome)
                assert all(result.verdict == "missing" for result in evaluate(claimed, at)), (
                    workflow.name,
                    step.id,
                )


def test_the_steps_of_every_workflow_file_are_tried() -> None:
    folder = Path(bundled_folder())
    files = [*folder.glob("*/workflow.yaml"), *folder.glob("*/workflows/*.yaml")]
    addresses = {
        file.parent.name if file.name == "workflow.yaml" else f"{file.parents[1].name}/{file.stem}"
        for file in files
    }

    assert set(ALL) == addresses
