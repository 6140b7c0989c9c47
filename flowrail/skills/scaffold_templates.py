# ruff: noqa: E501 - a frontmatter's description is one line
"""What a new skill begins with. ``SKILL`` stands for its name."""

from __future__ import annotations

from collections.abc import Mapping

CARD = """\
---
name: SKILL
description: "Says in one sentence what SKILL does, then when to use it: use when the user asks for … Start at once with `flow step SKILL -p task=\\"…\\"`; the steps say what to do when."
license: MIT
allowed-tools: Bash(flow:*)
---

# SKILL

What it is for, and what it is not for, in two or three sentences.

## Start

```
flow step SKILL -p task="bring the changelog up to date"
```

Without `-p task` the first step takes it from the user's request.

## Go on

- Each answer tells one step and, below it, the command of every way on. Do the step, then run one of
  those commands exactly as printed. Never compose one, never work ahead.
- Context lost, or work interrupted: `flow step SKILL` prints the current step again and changes nothing.
- A new run while another is open: `flow start SKILL -p task="…"`.

## Steps

<!-- flow:steps -->
| # | Step | Ways on |
| --- | --- | --- |
| 1 | Settle what is wanted | ok → 2 |
| 2 | Work, one point at a time (at most 5 times) | ok → 3, iterate → 2 |
| 3 | Tell what was done | ok → end |
<!-- /flow:steps -->
"""

WORKFLOW_YAML = """\
# The graph of SKILL. What a step tells stands in steps/STEP.md; `flow check SKILL` names every mistake,
# `flow preview SKILL STEP` shows what an agent is told, `flow schema workflow` says what else can stand here.
name: SKILL
description: Settle what is wanted, do it point by point, and tell what was done.
params:
  task:
    type: string
    default: ""
    example: "bring the changelog up to date"
    description: What is to be done; left out, it is taken from the user's request.
steps:
  - id: settle
    title: Settle what is wanted
    next: {ok: work} # outcome: step; `null` ends the run
  - id: work
    title: Work, one point at a time
    limit: 5 # the fifth visit is the last: `iterate` then goes the way of `ok` by itself
    reports: # facts that come with the report; texts and expressions may use them from then on
      left:
        type: integer
        required: true
        min: 0
        max: 50
        example: 0
        description: How many points of the list are not done yet
    rules: # the first that holds decides, so that the agent reports facts and not a verdict
      - {if: "left == 0", outcome: ok}
      - {outcome: iterate}
    next: {ok: tell, iterate: work}
  - id: tell
    title: Tell what was done
    next: {ok: null}
"""

SETTLE = """\
The task, as given when this run began: "$task". If nothing stands there, take it from the user's request.

1. Read what the task points at, as far as understanding it needs. Change nothing yet.
2. Write the points to be done as a list into `$session-notes.md`, each with what somebody can see or run once
   it is done.
3. Ask the user about a point that you could only guess, two questions at most, and wait.

Done when every point could be judged by somebody else.
"""
WORK = """\
Visit $visit of at most $limit. Take the first point of `$session-notes.md` that is not done.

1. Do it, and nothing else that you notice on the way; write that down for the end.
2. Look or run, as the point says, and mark it as done only if it shows what it should.

Report **left**: how many points are not done yet. 0 ends the work; do not report it to come to an end.
"""
TELL = """\
Tell the user, in at most ten lines: each point with what shows that it is done, points that are left and why,
and what you noticed and left alone. Points left when the work ended: $left.
"""

WORKFLOW_PY = (
    '''\
"""The procedure of SKILL, in Python, for logic that YAML cannot say.

`flow check SKILL` reads this file without running it; before it runs in a project, a person allows it
with `flow trust SKILL`.
"""

from flowrail import Outcome, StepDef, Workflow


def decide(ctx):
    """Go on once no point is left. What was reported stands in ctx.step_state."""
    return Outcome.OK if ctx.step_state["left"] == 0 else Outcome.ITERATE


WORKFLOW = Workflow(
    "SKILL",
    StepDef(
        id="settle",
        title="Settle what is wanted",
        actions=[
            """\\
SETTLE_TEXT""",
        ],
        next={Outcome.OK: "work"},
    ),
    StepDef(
        id="work",
        title="Work, one point at a time",
        actions=[
            """\\
WORK_TEXT""",
        ],
        handler=decide,
        limit=5,
        reports={
            "left": {
                "type": "integer",
                "required": True,
                "min": 0,
                "max": 50,
                "example": 0,
                "description": "How many points of the list are not done yet",
            },
        },
        next={Outcome.OK: "tell", Outcome.ITERATE: "work"},
    ),
    StepDef(
        id="tell",
        title="Tell what was done",
        actions=[
            """\\
TELL_TEXT""",
        ],
        next={Outcome.OK: None},
    ),
    description="Settle what is wanted, do it point by point, and tell what was done.",
    params={
        "task": {
            "type": "string",
            "default": "",
            "example": "bring the changelog up to date",
            "description": "What is to be done; left out, it is taken from the user's request.",
        },
    },
)
'''.replace("SETTLE_TEXT", SETTLE)
    .replace("WORK_TEXT", WORK)
    .replace("TELL_TEXT", TELL)
)

TEST = '''\
"""What SKILL must do: run this file with python3, or with pytest. `flow test SKILL` walks more."""

from pathlib import Path

from flowrail.machines.loading.skill_folder import entry_file, run
from flowrail.testing import Run, plan

FOLDER = Path(__file__).resolve().parents[1]
LOADED = run(entry_file(str(FOLDER), FOLDER.name))


def test_nothing_is_wrong_with_it():
    assert not LOADED.findings


def test_every_way_on_can_be_taken_and_every_walk_ends():
    planned = plan(LOADED.workflow())

    assert not planned.missing
    assert not [walk for walk in planned.walks if walk.loose or walk.error]


def test_work_goes_on_until_nothing_is_left():
    run = Run(LOADED.workflow()).report("ok")

    assert run.report(left=2).step == "work"
    assert run.report(left=0).step == "tell"
    assert run.report("ok").status == "completed"


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(f"passed: {name}")
'''

YAML: Mapping[str, str] = {
    "workflow.yaml": WORKFLOW_YAML,
    "steps/settle.md": SETTLE,
    "steps/work.md": WORK,
    "steps/tell.md": TELL,
}
PYTHON: Mapping[str, str] = {"workflow.py": WORKFLOW_PY}
COMMON: Mapping[str, str] = {"SKILL.md": CARD, "TEST": TEST}
