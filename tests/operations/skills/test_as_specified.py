"""The bundled skills match their specification, and their texts follow the rules for texts of steps."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from support.sandbox import flow

from flowrail.cli.main import LazyGroup
from flowrail.command_table import COMMANDS
from flowrail.discovery.locations import bundled_folder
from flowrail.machines.loading import workflow_source
from flowrail.machines.step import StepDef, fact_args
from flowrail.machines.workflow import Workflow
from flowrail.skills.catalog import listing, workflows

GOLDEN = Path(__file__).parents[2] / "golden" / "skills.yaml"
SKILLS = {skill.name for skill in listing(())}
NEW = {"write-workflow"}
"""Skills that came after the specification."""
LOADED = {file.address: workflow_source.read(file) for skill in listing(()) for file in workflows(skill)}
ALL: Mapping[str, Workflow] = {address: loaded.definition for address, loaded in LOADED.items()}
TEXTS = sorted(Path(bundled_folder()).glob("*/steps/**/*.md"))
"""A shorter paragraph introduces the next one; several of them may be the same."""


def texts_of(definition: Workflow, step: StepDef) -> Iterator[str]:
    """Yield each text that an agent may read at *step*, with the resources that the text quotes."""
    for actions in (step.actions, *(variant.actions for variant in step.variants)):
        text = "\n\n".join(str(action) for action in actions)  # type: ignore[union-attr]
        yield re.sub(r"```flow:resource\n(.+?)\n```", lambda quote: definition.resources[quote[1]], text)


def steps() -> Iterator[tuple[str, Workflow, StepDef]]:
    for address, definition in ALL.items():
        for step in definition.steps:
            yield address, definition, step


def name(path: Path) -> str:
    return str(path.relative_to(bundled_folder()))


def address_of(specified: str) -> str:
    """Return the address of a workflow from its name in the specification, `planner-plan-code`."""
    skill = max((name for name in SKILLS if f"{specified}-".startswith(f"{name}-")), key=len)
    name = specified.removeprefix(skill).removeprefix("-")
    return f"{skill}/{'single-prompt' if name == 'single' else name}" if name else skill


def specified_parts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a step in the form of `parts`."""
    fan_out = facts.get("fan_out")
    over = None if fan_out is None else "a list"
    if fan_out and fan_out[0].isdigit():
        over = fan_out.partition(": ")[2].split(", ")
    return {
        "title": facts["title"],
        "next": {outcome: target or "end" for outcome, target in facts["next"].items()},
        "phase": facts.get("phase"),
        "when": facts.get("when"),
        "limit": facts.get("limit"),
        "agent": facts.get("dispatch"),
        "run": address_of(facts["run"]) if "run" in facts else None,
        "over": over,
        "join": facts.get("join"),
        "gate": facts.get("gate"),
        "asks": facts.get("asks_user"),
    }


def parts(step: StepDef) -> dict[str, Any]:
    """Return the parts of *step* that the specification contains."""
    work = step.work
    over = None if work is None else work.over
    return {
        "title": step.title,
        "next": {str(outcome): target or "end" for outcome, target in step.next.items()},
        "phase": step.phase,
        "when": step.when,
        "limit": step.bound,
        "agent": work.agent if work else None,
        "run": work.workflow if work else None,
        "over": list(over) if isinstance(over, tuple) else ("a list" if over else None),
        "join": work.join if work and work.join != "all" else None,
        "gate": step.gate is not None or None,
        "asks": bool(step.questions) or None,
    }


# --- the graphs

SPECIFIED: Mapping[str, Any] = {
    address_of(name): facts
    for name, facts in yaml.safe_load(GOLDEN.read_text(encoding="utf-8"))["skills"].items()
}
LARGE = {"when": "size == 'large'"}
FIRST = {"when": "round == 1"}
FOUND = {"when": "source != 'none'"}
ASKED = "the step asks the user, and declares it"
NO_ITEM = "without an item there is nothing to hand out, to ask or to repeat"
SMALL = "a small case needs less"
REPAIR = "after the first round a writer or developer changes only what the findings name"
DEPARTURES: Mapping[tuple[str, str], tuple[Mapping[str, Any], str]] = {
    **{
        ("arxiv-to-md/paper", step): (FOUND, NO_ITEM)
        for step in ("preprocess", "convert", "clean", "verify_completeness")
    },
    ("codebase-analysis", "survey"): (
        {"next": {"ok": "deepen", "iterate": "survey", "skip": "synthesize"}},
        SMALL,
    ),
    ("deepthink", "context_clarification"): ({"asks": True}, ASKED),
    ("incoherence", "deep_dive_dispatch"): ({"when": "candidates"}, NO_ITEM),
    ("incoherence", "present_batch"): ({"when": "batches_left > 0"}, NO_ITEM),
    ("incoherence", "resolution_loop"): ({"when": "batches_left > 0"}, NO_ITEM),
    ("incoherence", "reconcile_dispatch"): ({"when": "waves_left > 0 and targets"}, NO_ITEM),
    ("incoherence", "reconcile_collect"): ({"when": "waves_left > 0"}, NO_ITEM),
    ("leon-writing-style", "drafting"): (
        {"next": {"ok": "ai_tells_detection", "skip": "final_check"}},
        SMALL,
    ),
    ("planner", "testing_strategy"): ({"asks": True}, ASKED),
    **{("planner", step): (LARGE, SMALL) for step in ("tw_documentation_scrub", "qr_docs", "qr_docs_gate")},
    ("planner/explore", "fill_gaps"): ({"when": "gaps > 0"}, NO_ITEM),
    ("planner/plan-code", "reference_diff_format_specification"): (LARGE, SMALL),
    **{
        ("planner/fill-diffs", step): (FIRST, REPAIR)
        for step in ("read_target_files", "create_unified_diffs")
    },
    **{
        ("planner/plan-scrub", step): (FIRST, REPAIR)
        for step in (
            "extract_planning_context",
            "temporal_contamination_review",
            "prioritization_and_documentation_tiers",
            "comment_injection",
        )
    },
    **{
        ("planner/post-impl", step): (FIRST, REPAIR)
        for step in (
            "extract_plan_information",
            "claude_md_index_format",
            "readme_md_creation_criteria",
            "verify_transcribed_comments",
        )
    },
    ("planner/executor", "implementation"): (
        {"next": {"ok": "code_qr", "fail": "code_qr"}, "when": "milestones"},
        "an unfinished milestone would block the run forever; the review says what is missing",
    ),
    **{("planner/executor", step): (LARGE, SMALL) for step in ("documentation", "doc_qr", "doc_qr_gate")},
    ("problem-analysis", "gate"): ({"next": {"ok": "hypothesize", "skip": "output"}}, SMALL),
    ("prompt-engineer/single-prompt", "assess"): ({"next": {"ok": "understand", "skip": "refine"}}, SMALL),
    ("prompt-engineer/single-prompt", "understand"): ({"next": {"ok": "plan", "skip": "end"}}, SMALL),
    ("prompt-engineer/ecosystem", "verify_understanding"): ({"next": {"ok": "plan", "skip": "end"}}, SMALL),
    ("prompt-engineer/greenfield", "understand"): ({"next": {"ok": "design", "skip": "approve"}}, SMALL),
    ("prompt-engineer/problem", "assess"): ({"next": {"ok": "understand", "skip": "end"}}, SMALL),
    ("refactor", "triage"): ({"next": {"ok": "cluster", "skip": "synthesize"}}, SMALL),
    ("refactor/explore", "principle_violations"): (
        {"next": {"ok": "pattern_generation", "skip": "synthesis"}},
        SMALL,
    ),
    ("solution-design", "calibrate"): ({"next": {"ok": "reflect", "skip": "synthesize"}}, SMALL),
    ("doc-sync", "audit"): (
        {"next": {"ok": "plan", "fail": "plan", "skip": "report"}},
        "an area that cannot be audited would keep the others from being planned",
    ),
    ("doc-sync", "apply"): (
        {"next": {"ok": "verify", "fail": "verify"}},
        "a failing writer would block the run forever; the verification says which rows are open",
    ),
    ("perspective-swarm", "diverging"): (
        {"limit": 3},
        "gathering and framing could send each other back forever",
    ),
    ("perspective-swarm", "handoff"): ({"limit": 3}, "a handoff that always fails would be tried forever"),
}
"""Where a step differs from its specification, each with the reason."""


@pytest.mark.parametrize("address", SPECIFIED)
def test_a_workflow_has_the_steps_that_were_specified(address: str) -> None:
    definition, specified = ALL[address], SPECIFIED[address]["steps"]

    assert [step.id for step in definition.steps] == [facts["id"] for facts in specified]
    for step, facts in zip(definition.steps, specified, strict=True):
        departure, _ = DEPARTURES.get((address, step.id), ({}, ""))
        assert parts(step) == {**specified_parts(facts), **departure}, step.id
        assert all(specified_parts(facts)[key] != value for key, value in departure.items()), step.id


def test_every_bundled_workflow_is_specified_or_new() -> None:
    assert set(ALL) - {address for address in ALL if address.partition("/")[0] in NEW} == set(SPECIFIED)


@pytest.mark.parametrize("address", [address for address in SPECIFIED if "params" in SPECIFIED[address]])
def test_a_workflow_takes_the_parameters_that_were_specified(address: str) -> None:
    for param, specified in SPECIFIED[address]["params"].items():
        arg = ALL[address].params[param]
        assert arg.kind == specified["type"]
        assert set(specified.get("choices", ())) <= set(arg.choices or ())
        for key in specified.keys() & {"default", "required", "min_length", "max_length"}:
            assert getattr(arg, key) == specified[key], (param, key)


def test_nothing_is_found_by_the_check() -> None:
    ran = flow("check", *SKILLS, "--strict")

    *proved, last = ran.out.splitlines()
    assert (ran.status, last) == (0, f"{len(ALL)} workflows checked, nothing found")
    assert all(line.endswith(": proved") for line in proved)


# --- the texts


OBJECTS = {("perspective-swarm", "convergent_insights"), ("perspective-swarm", "divergent_insights")}
"""Lists of objects. YAML takes no such example, so the description is the JSON of one item."""


def test_every_required_value_without_choices_has_an_example_that_is_taken() -> None:
    for address, definition, step in steps():
        for fact, arg in {**definition.params, **fact_args(step)}.items():
            if arg.required and not arg.choices:
                is_object = (address, fact) in OBJECTS
                example = [json.loads(arg.description)] if is_object else json.loads(json.dumps(arg.example))
                assert example is not None, (address, step.id, fact)
                assert arg.problem(example) is None, (address, step.id, fact)


def test_a_text_names_every_fact_that_it_wants_and_every_value_to_choose_from() -> None:
    """An optional fact may be needed only in a later attempt, and a measured one is not reported."""
    for address, definition, step in steps():
        wanted = {fact: arg for fact, arg in step.reports.items() if not arg.source}
        for text in texts_of(definition, step):
            for fact, arg in wanted.items():
                if arg.required and "the values below" not in text:  # they are printed with their form
                    assert re.search(rf"\*\*{fact}\*\*|`{fact}`", text), (address, step.id, fact)
                for choice in (arg.choices or ()) if arg.kind != "list" else ():  # printed with their form
                    assert re.search(rf"`{choice}`|\"{choice}\"", text), (address, step.id, fact, choice)


def unknown_parts(line: str) -> Iterator[str]:
    """Yield the parts of a command line that `flow` does not know: a verb, an option, a workflow, a parameter."""
    group: click.Command | None = LazyGroup("flow", table=COMMANDS)
    words = shlex.split(line)[1:]
    while isinstance(group, click.Group):
        verb = words.pop(0)
        group = group.get_command(click.Context(group), verb)
        if group is None:
            yield verb
            return
    assert group is not None
    known = {option for param in group.params for option in param.opts}
    yield from (word for word in words if word.startswith("-") and word not in known)
    if line.startswith("flow step ") and "$" not in words[0]:
        address, *names = words[0], *re.findall(r"-p ([a-z_]+)=", line)
        params = ALL[address].params if address in ALL else {}
        yield from ([address] if address not in ALL else [name for name in names if name not in params])


def test_commands_and_files_of_ours_that_a_text_names_exist() -> None:
    for path in (*TEXTS, *Path(bundled_folder()).glob("*/resources/*.md")):
        text = path.read_text(encoding="utf-8")
        skill = Path(bundled_folder()) / name(path).partition("/")[0]
        wrong = [line for line in re.findall(r"`(flow [^`]+)`", text) if any(unknown_parts(line))]
        files = re.findall(r"\b(?:steps|resources|workflows)/[\w./-]+\.(?:md|yaml)\b", text)
        assert wrong == [], name(path)
        assert [file for file in files if not (skill / file).exists()] == [], name(path)
