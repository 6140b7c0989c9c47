"""For every code of a finding a small skill that is in order, and what turns it into one that is not.

The reference page of findings is made of these, so that what it shows is what the tests run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

CARD = """\
---
name: demo
description: Shows one thing. Use it to see how it is written.
---

Start: `flow step demo`
"""
OFFER = """\
metadata:
  handoff: "{accepts_handoff: true, handoff_description: Digs deeper, handoff_categories: [research]}"
"""
LINE = """\
name: demo
steps:
  - {id: look, title: Look, actions: [Look around.], next: {ok: tell}}
  - {id: tell, title: Tell, actions: [Tell it.], next: {ok: null}}
"""
RULED = """\
name: demo
steps:
  - id: look
    title: Look
    actions: [Look around.]
    limit: 3
    reports: {sure: {type: string, choices: [low, high], required: true}}
    rules: [{if: "sure == 'high'", outcome: ok}, {outcome: iterate}]
    next: {ok: tell, iterate: look}
  - {id: tell, title: Tell, actions: ["Tell it: $sure."], next: {ok: null}}
"""
SURE = """\
name: demo
params: {sure: {type: string, choices: [low, high], default: low}}
steps:
  - id: look
    title: Look
    actions: [Look around.]
    limit: 3
    reports: {sure: {type: string, choices: [low, high], required: true}}
    rules: [{if: "sure == 'high'", outcome: ok}, {outcome: iterate}]
    next: {ok: null, iterate: look}
"""
RULES = """limit: 3
    reports: {sure: {type: string, choices: [low, high], required: true}}
    rules: [{if: "sure == 'high'", outcome: ok}, {outcome: iterate}]"""
BRANCH = """\
name: demo
steps:
  - {id: look, title: Look, actions: [Look around.], next: {ok: null, fail: tell}}
  - {id: tell, title: Tell, actions: [Tell it.], next: {ok: null}}
"""
NOTED = """\
name: demo
steps:
  - {id: look, title: Look, actions: [Look.], reports: {note: {type: string, required: true}},
     next: {ok: tell}}
  - id: tell
    title: Tell
    actions: [Tell it.]
    reports: {note: {type: string}}
    variants: [{when: "note == 'none'", actions: [Say that there is nothing.]}]
    next: {ok: null}
"""
PROVEN = """\
name: demo
steps:
  - id: look
    title: Look
    actions: [Write three reports.]
    evidence: {ok: [{id: reports, files: "reports/*.md", at_least: 3}]}
    next: {ok: null}
"""
GIVEN = """\
name: demo
params: {mode: {type: string, choices: [quick, full], default: full}}
steps:
  - {id: look, title: Look, actions: ["Look, $mode."], next: {ok: dig}}
  - {id: dig, title: Dig, actions: [Dig.], when: "mode == 'full'", next: {ok: tell}}
  - {id: tell, title: Tell, actions: [Tell it.], next: {ok: null}}
"""
WORK = """\
name: demo
steps:
  - id: look
    title: Look
    actions: [Look around.]
    reports: {areas: {type: list, required: true, example: [auth]}}
    next: {ok: work}
  - id: work
    title: Work
    actions: [Hand it out.]
    dispatch:
      agent: explore
      run: demo/area
      over: areas
      vars: {area: $item}
      join: all
    next: {ok: null, fail: null}
"""
AREA = """\
name: demo/area
params: {area: {type: string, required: true, example: auth}}
steps:
  - {id: look, title: Look, actions: ["Look at $area."], next: {ok: null}}
"""
AREAS = {"workflows/area.yaml": AREA}
THREE = """\
name: demo
steps:
  - id: work
    title: Work
    actions: [Hand it out.]
    dispatch: {agent: explore, over: [docs, code, tests], prompt: steps/work.agent.md, join: at least 2}
    next: {ok: null, fail: null}
"""
PROMPT = {"steps/work.agent.md": "Look at $item.\n"}
ASKED = """\
name: demo
steps:
  - id: ask
    title: Ask
    actions: [Ask the user.]
    questions:
      - id: go
        header: Approve
        text: "Go on?"
        options: [{label: "Yes", outcome: ok}, {label: "No", outcome: fail}]
    next: {ok: null, fail: null}
"""
GATED = """\
name: demo
steps:
  - {id: plan, title: Plan, actions: [Plan it.], next: {ok: review}}
  - {id: review, title: Review, actions: [Review the plan.], next: {ok: gate}}
  - id: gate
    title: Gate
    actions: [Decide.]
    gate: {name: Plan, review: review, limit: 3}
    next: {ok: null, fail: plan}
"""
PYTHON = """\
from flowrail import Outcome, StepDef, Workflow


def decide(ctx, mode="full"):
    return Outcome.OK


WORKFLOW = Workflow(
    "demo",
    StepDef("look", "Look", ["Look around."], decide, next={Outcome.OK: None}),
)
"""
HANDED = """\
from flowrail import AgentRole, Dispatch, Outcome, StepDef, Workflow

WORKFLOW = Workflow(
    "demo",
    StepDef(
        "look",
        "Look",
        ["Look around."],
        dispatch=Dispatch("explore", prompt=("Look at the tests.",)),
        next={Outcome.OK: None, Outcome.FAIL: None},
    ),
)
"""
TABLE = """
<!-- flow:steps -->
| # | Step | Transitions |
| --- | --- | --- |
| 1 | Look | ok → 2 |
| 2 | Tell | ok → end |
<!-- /flow:steps -->
"""
LONG = "Look at every file, and write down what you see. " * 130


class Example(NamedTuple):
    """A skill in order, and the one swap that makes it wrong; ``file`` is where it is made.

    ``adds`` are files that stand there only when it is wrong.
    """

    right: str
    old: str
    new: str
    file: str = "workflow.yaml"
    more: Mapping[str, str] = {}
    adds: Mapping[str, str] = {}

    def files(self, *, wrong: bool) -> dict[str, str]:
        """Return the files of the skill, in order or *wrong*."""
        texts = {"SKILL.md": CARD, **self.more}
        main = "workflow.py" if self.right.startswith("from ") else "workflow.yaml"
        texts[main] = self.right
        if wrong:
            assert self.old in texts[self.file], self
            texts[self.file] = texts[self.file].replace(self.old, self.new, 1)
            texts |= self.adds
        return {path: text for path, text in texts.items() if text}


EXAMPLES: Mapping[str, Example] = {
    "FR100": Example(LINE, "name: demo", "name: [demo"),
    "FR101": Example(LINE, "steps:", "entry: lock\nsteps:"),
    "FR102": Example(LINE, "{ok: null}", "{ok: null, fail: report}"),
    "FR103": Example(LINE, "ok: null", "ok: look"),
    "FR104": Example(LINE, "{ok: tell}", "{ok: null}"),
    "FR105": Example(PYTHON, 'mode="full"', "mode", "workflow.py"),
    "FR106": Example(
        LINE, "{ok: null}}", "{ok: null}}\n  - {id: tell, title: Again, actions: [Again.], next: {ok: null}}"
    ),
    "FR107": Example(LINE, "name: demo", "name: My Demo"),
    "FR108": Example(BRANCH, "[Tell it.], next: {ok: null}", "[Tell it.], next: {ok: tell}"),
    "FR109": Example(RULED, RULES, "reports: {sure: {type: string}}\n    rules: [{outcome: iterate}]"),
    "FR110": Example(RULED, "next: {ok: tell, iterate: look}", "next: {ok: tell}"),
    "FR111": Example(LINE, "{ok: null}", "{ok: null, fail: null, skip: null, iterate: look, _default: null}"),
    "FR112": Example(BRANCH, "[Tell it.], next: {ok: null}", "[Tell it.], next: {}"),
    "FR113": Example(LINE, "{ok: null}", "{ok: null, failed: null}"),
    "FR114": Example(
        PYTHON,
        '    StepDef("look", "Look", ["Look around."], decide, next={Outcome.OK: None}),\n',
        "",
        "workflow.py",
    ),
    "FR115": Example(LINE, "title: Tell, ", ""),
    "FR116": Example(GIVEN, "{id: look, title: Look,", "{id: look, title: Look, when: \"mode == 'full'\","),
    "FR117": Example(RULED, "limit: 3", "limit: 0"),
    "FR118": Example(RULED, ", {outcome: iterate}]", "]"),
    "FR119": Example(GIVEN, "\"mode == 'full'\"", "\"mode = 'full'\""),
    "FR120": Example(GIVEN, "\"mode == 'full'\"", "\"mod == 'full'\""),
    "FR121": Example(GIVEN, "Look, $mode.", "Look, $mood."),
    "FR122": Example(GIVEN, "default: full", "default: all"),
    "FR123": Example(GIVEN, "\"mode == 'full'\"", "\"mode == 'all'\""),
    "FR124": Example(
        ASKED, "next: {ok: null, fail: null}", "rules: [{outcome: ok}]\n    next: {ok: null, fail: null}"
    ),
    "FR125": Example(LINE, ", actions: [Tell it.]", "", more={"steps/look.md": ""}),
    "FR126": Example(NOTED, "[Look.], reports: {note: {type: string, required: true}}", "[Look.]"),
    "FR127": Example(
        LINE.replace(", actions: [Look around.]", ""),
        "- severity",
        "- severities",
        "steps/look.md",
        {
            "steps/look.md": "Look.\n\n```flow:resource\n- severity\n```\n",
            "resources/severity.md": "MUST: wrong.\n",
        },
    ),
    "FR128": Example(PYTHON, 'def decide(ctx, mode="full")', "async def decide(ctx)", "workflow.py"),
    "FR130": Example(LINE, "name: demo", "name: demo\ncolour: red"),
    "FR131": Example(PYTHON, "{Outcome.OK: None}", "{Outcome.OK: None, Outcome.OK: None}", "workflow.py"),
    "FR140": Example(WORK, "over: areas", "over: area", more=AREAS),
    "FR141": Example(WORK, "area: $item", "area: $items", more=AREAS),
    "FR142": Example(THREE, "at least 2", "at least 4", more=PROMPT),
    "FR143": Example(WORK, "run: demo/area", "run: demo/areas", more=AREAS),
    "FR144": Example(WORK, "      run: demo/area\n", "", more=AREAS),
    "FR145": Example(HANDED, '"explore"', '"explorer"', "workflow.py"),
    "FR146": Example(ASKED, "header: Approve", "header: Ask for approval"),
    "FR147": Example(ASKED, 'label: "No", outcome: fail', 'label: "No", outcome: skip'),
    "FR148": Example(GATED, "review: review", "review: revue"),
    "FR149": Example(GATED, "fail: plan", "fail: null"),
    "FR150": Example(GATED, "limit: 3", "limit: 3, policy: strict"),
    "FR151": Example(LINE, "steps:", "then: another-skill\nsteps:"),
    "FR152": Example(
        LINE.replace(", actions: [Look around.]", ""),
        "flow:forbidden",
        "flow:forbiden",
        "steps/look.md",
        {"steps/look.md": "Look.\n\n```flow:forbidden\n- Changing anything\n```\n"},
    ),
    "FR153": Example(THREE, "join: at least 2", "join: at least 2, lease: 9999999", more=PROMPT),
    "FR154": Example(HANDED, "dispatch=", "handler=Dispatch(AgentRole.EXPLORE), dispatch=", "workflow.py"),
    "FR155": Example(WORK, "vars: {area: $item}", "vars: {part: $item}", more=AREAS),
    "FR156": Example(LINE, "[Look around.],", "[Look around.], forbids: [Edit, git push],"),
    "FR157": Example(PROVEN, "at_least: 3", "at_least: 0"),
    "FR158": Example(LINE, "name: demo\n", "name: demo\nwork_folder: research\n"),
    "FR160": Example(WORK, "required: true, example", "example", more=AREAS),
    "FR161": Example(RULED, ", required: true", ""),
    "FR162": Example(RULED, "next: {ok: tell, iterate: look}", "next: {ok: tell, iterate: look, fail: null}"),
    "FR163": Example(RULED, "    limit: 3\n", ""),
    "FR164": Example(LINE, "title: Tell,", "title: Tell, limit: 3,"),
    "FR165": Example(LINE, "Look around.", LONG),
    "FR166": Example(LINE, "[Tell it.]", '["Tell what step `lok` has shown."]'),
    "FR167": Example(LINE, "[Tell it.]", '["Tell it, then report `done`."]'),
    "FR168": Example(LINE, "name: demo", "name: Demo", "SKILL.md"),
    "FR169": Example(LINE, "flow step demo", "flow step demo -p topic=x", "SKILL.md"),
    "FR170": Example(
        LINE, "| 2 | Tell | ok → end |", "| 2 | Tell | ok → 1 |", "SKILL.md", {"SKILL.md": CARD + TABLE}
    ),
    "FR171": Example(
        LINE.replace(", actions: [Look around.]", ""),
        "",
        "",
        "steps/look.md",
        {"steps/look.md": "Look.\n"},
        {"steps/old.md": "Told by nobody.\n"},
    ),
    "FR172": Example(LINE, "steps:", "ignore: [{code: FR163, reason: it is short}]\nsteps:"),
    "FR173": Example(SURE, "reports: {sure", "reports: {certain"),
    "FR174": Example(LINE, "", "", adds={"workflow.py": PYTHON}),
    "FR176": Example(WORK, "{ok: null, fail: null}", "{fail: null}", more=AREAS),
    "FR177": Example(
        RULED,
        "outcome: ok}, {outcome",
        "outcome: ok}, {if: \"sure == 'high' and visit > 1\", outcome: ok}, {outcome",
    ),
    "FR178": Example(
        GATED.replace("    next: {ok: null, fail: plan}\n", "    next: {ok: null, fail: fix}\n")
        + "  - {id: fix, title: Fix, actions: [Fix it.], next: {ok: review}}\n",
        "next: {ok: review}}\n  - {id: review",
        "next: {ok: review, skip: gate}}\n  - {id: review",
    ),
    "FR179": Example(THREE, "Look at $item.", "Look at your part.", "steps/work.agent.md", PROMPT),
    "FR180": Example(RULED, "required: true}", "required: true, default: low}"),
    "FR181": Example(RULED, "[Look around.]", '["Look around. Report **certain**."]'),
    "FR182": Example(LINE, CARD, "", "SKILL.md"),
    "FR183": Example(
        LINE,
        "handoff_description: Digs deeper, ",
        "",
        "SKILL.md",
        {"SKILL.md": CARD.replace("---\n\n", f"{OFFER}---\n\n")},
    ),
    "FR184": Example(PROVEN, 'files: "reports/*.md", at_least: 3', "file: report.md"),
    "FR190": Example(PYTHON, '["Look around."]', "open('look.md').read()", "workflow.py"),
}


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """Write a skill's files and return its folder."""
    for path, text in files.items():
        full = folder / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(text, encoding="utf-8")
    return folder
