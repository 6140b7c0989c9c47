"""Workflows with several mistakes at once, found by exactly their codes, each in its file and line."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from support.findings_pages import found_in
from support.mistakes import AREA, ASKED, CARD, GATED, GIVEN, LINE, RULED, WORK


class Broken(NamedTuple):
    """A skill by its files, and every finding as code and place."""

    files: dict[str, str]
    found: list[str]


def yaml(text: str, *found: str, **files: str) -> Broken:
    more = {name.replace("__", "/").replace("_md", ".md"): body for name, body in files.items()}
    return Broken({"SKILL.md": CARD, "workflow.yaml": text, **more}, list(found))


def python(body: str, *found: str) -> Broken:
    text = f"from flowrail import AgentRole, Arg, Outcome, Rule, StepDef, Variant, Workflow\n\n{body}"
    return Broken({"SKILL.md": CARD, "workflow.py": text}, list(found))


SEVERAL = {
    "a target, an outcome and an entry": yaml(
        LINE.replace("{ok: tell}", "{ok: tel, failed: null}").replace("steps:", "entry: lok\nsteps:"),
        "FR101 workflow.yaml:2",
        "FR113 workflow.yaml:4",
        "FR102 workflow.yaml:4",
    ),
    "two of a name, and one without anything": yaml(
        LINE + "  - {id: tell}\n",
        "FR112 workflow.yaml:5",
        "FR125 workflow.yaml:5",
        "FR106 workflow.yaml:5",
        "FR115 workflow.yaml:5",
    ),
    "no end, and a step that nobody comes to": yaml(
        LINE.replace("ok: null", "ok: look")
        + "  - {id: more, title: More, actions: [More.], next: {ok: tell}}\n",
        "FR103 workflow.yaml:2",
        "FR104 workflow.yaml:5",
    ),
    "a dead end and a loop by itself": yaml(
        """\
name: demo
steps:
  - {id: look, title: Look, actions: [Look.], next: {ok: null, fail: dig, skip: round}}
  - {id: dig, title: Dig, actions: [Dig.], next: {ok: dig}}
  - id: round
    title: Round
    actions: [Round.]
    rules: [{outcome: iterate}]
    next: {iterate: round, ok: null}
""",
        "FR108 workflow.yaml:4",
        "FR109 workflow.yaml:5",
    ),
    "expressions, placeholders and a default": yaml(
        GIVEN.replace("default: full", "default: al").replace("$mode", "$mod").replace("'full'", "'fast'"),
        "FR122 workflow.yaml:2",
        "FR121 workflow.yaml:4",
        "FR123 workflow.yaml:5",
    ),
    "a condition that cannot be read, and one of nobody": yaml(
        GIVEN.replace("mode == 'full'", "mode == ").replace("Tell it.], ", 'Tell it.], when: "mood == 1", '),
        "FR119 workflow.yaml:5",
        "FR120 workflow.yaml:6",
    ),
    "rules that lead nowhere and may not hold": yaml(
        RULED.replace("outcome: ok}, {outcome: iterate}", "outcome: skip}").replace("limit: 3", "limit: -1"),
        "FR118 workflow.yaml:8",
        "FR110 workflow.yaml:8",
        "FR117 workflow.yaml:6",
    ),
    "keys of no meaning, and a kind that is another": yaml(
        LINE.replace("title: Look", "titel: Look").replace("{ok: null}", "{ok: null}, limit: three"),
        "FR130 workflow.yaml:3",
        "FR130 workflow.yaml:4",
    ),
    "work over nothing, for nobody, joined by too many": yaml(
        WORK.replace("over: areas", "over: area").replace("demo/area", "demo/arena").replace("all", "most"),
        "FR140 workflow.yaml:14",
        "FR142 workflow.yaml:16",
        "FR143 workflow.yaml:13",
    ),
    "an agent's workflow that takes other values": Broken(
        {
            "SKILL.md": CARD,
            "workflow.yaml": WORK.replace("{area: $item}", "{are: $item, part: $thing}"),
            "workflows/area.yaml": AREA,
        },
        ["FR141 workflow.yaml:15"] + ["FR155 workflow.yaml:15"] * 3,
    ),
    "questions and gates": yaml(
        ASKED.replace('label: "No", outcome: fail', 'label: "Yes", outcome: skip')
        + GATED.partition("steps:\n")[2]
        .replace("limit: 3", "limit: 0")
        .replace("review: review", "review: x"),
        "FR146 workflow.yaml:10",
        "FR147 workflow.yaml:10",
        "FR104 workflow.yaml:12",
        "FR104 workflow.yaml:13",
        "FR104 workflow.yaml:14",
        "FR150 workflow.yaml:17",
        "FR148 workflow.yaml:17",
    ),
    "texts in files": yaml(
        "name: demo\nsteps:\n"
        "  - {id: look, title: Look, next: {ok: tell}}\n"
        "  - {id: tell, title: Tell, next: {ok: null}}\n",
        "FR121 steps/look.md:3",
        "FR127 steps/look.md:6",
        steps__look_md="Look.\n\nAt $what.\n\n```flow:resource\n- format\n```\n",
        steps__tell_md="Tell.\n",
    ),
    "words in files": yaml(
        "name: demo\nsteps:\n"
        "  - {id: look, title: Look, next: {ok: tell}}\n"
        "  - {id: tell, title: Tell, next: {ok: null}}\n",
        "FR167 steps/look.md:2",
        "FR166 steps/tell.md:3",
        "FR171 steps/more.md:1",
        steps__look_md="Look.\nThen report `done`.\n",
        steps__tell_md="Tell.\n\nAs step `lok` said.\n",
        steps__more_md="More.\n",
    ),
    "what is reported late, and on one path": yaml(
        """\
name: demo
steps:
  - {id: look, title: Look, actions: ["So far: $note."], next: {ok: tell, fail: dig}}
  - id: dig
    title: Dig
    actions: [Dig.]
    reports: {note: {type: string, required: true}}
    next: {ok: tell}
  - {id: tell, title: Tell, actions: ["Tell: $note, visit $visit of $limit."], next: {ok: null}}
""",
        "FR126 workflow.yaml:3",
        "FR161 workflow.yaml:9",
        "FR161 workflow.yaml:9",
    ),
    "a loop without a bound, a limit without a loop, a way never decided": yaml(
        RULED.replace("    limit: 3\n", "")
        .replace("iterate: look}", "iterate: look, fail: null}")
        .replace("title: Tell,", "title: Tell, limit: 2,"),
        "FR163 workflow.yaml:3",
        "FR164 workflow.yaml:9",
        "FR162 workflow.yaml:8",
    ),
    "Python: targets and rules, each in its line": python(
        """\
WORKFLOW = Workflow(
    "demo",
    StepDef(
        "look",
        "Look",
        ["Look.", "At $mood."],
        reports={"sure": {"choices": ["low", "high"], "required": True}},
        rules=[
            Rule("ok", "sure == 'higher'"),
            Rule("iterate"),
        ],
        next={
            Outcome.OK: "tel",
            Outcome.FAIL: None,
        },
    ),
    StepDef("tell", "Tell", ["Tell."], limit=0, next={"ok": None}),
    params={
        "mode": Arg(choices=("quick", "full"), default="all"),
    },
)
""",
        "FR122 workflow.py:21",
        "FR102 workflow.py:15",
        "FR110 workflow.py:12",
        "FR123 workflow.py:11",
        "FR121 workflow.py:8",
        "FR117 workflow.py:19",
    ),
    "Python: handlers that ask for what nobody gives": python(
        """\
Topic = Annotated[str, Arg()]


def decide(ctx, mode, mood: str, size=3, *, topic, about: Topic, where: Annotated[str, Arg()]):
    return Outcome.OK


@decorated
def unknown(ctx, anything):
    return Outcome.OK


WORKFLOW = Workflow(
    "demo",
    StepDef("look", "Look", ["Look."], decide, next={"ok": "dig"}),
    StepDef("dig", "Dig", ["Dig."], unknown, next={"ok": "tell"}),
    StepDef(
        "tell",
        "Tell",
        ["Tell."],
        handler=lambda ctx, sure: "ok",
        next={"ok": None},
    ),
    params={"mode": {"default": "x"}},
)
""",
        "FR105 workflow.py:17",
        "FR105 workflow.py:17",
        "FR105 workflow.py:23",
    ),
    "Python: constants, long texts and advice": python(
        '''\
TEXT = """\\
Look around.
Then report `done`.
"""
LOOK = StepDef("look", "Look", [TEXT], next={Outcome.OK: "tell", Outcome.ITERATE: "look"})
WORKFLOW = Workflow(
    "demo",
    LOOK,
    StepDef(
        "tell",
        "Tell",
        [
            "Tell it.",
            "As step `lok` said.",
        ],
        next={Outcome.OK: None},
    ),
)
''',
        "FR163 workflow.py:7",
        "FR167 workflow.py:5",
        "FR166 workflow.py:16",
    ),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_every_mistake_is_found_by_its_code_in_its_place_and_none_beside(name: str, tmp_path: Path) -> None:
    broken = SEVERAL[name]

    found = found_in(broken.files, tmp_path)

    assert sorted(f"{each.code} {str(each.place).partition(' (')[0]}" for each in found) == sorted(
        broken.found
    )
