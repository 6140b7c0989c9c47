"""A workflow as a Mermaid flowchart: valid whatever its titles are, and the same every time."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from flowrail.diagrams.extract import picture
from flowrail.diagrams.mermaid import quoted, render
from flowrail.diagrams.model import Arrow, Node, Picture
from flowrail.machines.definition import Definition, Outcome, Rule, StepDef

LABEL = r'"(?:[^"#\\<>|\[\](){}&;`\x00-\x1f\x7f-\x9f]|#\d+;)+"'
NODE = rf"s\d+(?:\[{LABEL}\]|\[/{LABEL}/\]|\{{\{{{LABEL}\}}\}})"
LINE = re.compile(
    r"flowchart TD"
    r"|    begin\(\(start\)\) --> s\d+"
    rf"|    subgraph p\d+\[{LABEL}\]"
    r"|    end"
    rf"|    {NODE}"
    rf"|    s\d+ -->\|{LABEL}\| (?:s\d+|completed|failed)"
    r"|    completed\(\(\(completed\)\)\)"
    r"|    failed\(\(\(failed\)\)\)"
)


def well_formed(text: str) -> bool:
    """Return whether every line is one that is meant, and subgraphs are closed."""
    lines = text.split("\n")
    depth = 0
    for line in lines:
        depth += line.startswith("    subgraph") - (line == "    end")
        if not LINE.fullmatch(line) or depth not in {0, 1}:
            return False
    return depth == 0


def shown(label: str) -> str:
    """Return what a label shows."""
    return re.sub(r"#(\d+);", lambda found: chr(int(found[1])), label[1:-1])


def test_a_workflow_is_drawn_in_the_order_of_its_steps() -> None:
    workflow = Definition(
        "w",
        [
            StepDef("first", "First", phase="one", next={"ok": "look", "fail": None}),
            StepDef(
                "look",
                "Look",
                phase="one",
                limit=3,
                rules=[Rule("ok")],
                next={"ok": "last", "iterate": "look"},
            ),
            StepDef("last", "Last", when="visit > 1", next={Outcome.DEFAULT: None}),
        ],
    )

    assert render(picture(workflow)).splitlines() == [
        "flowchart TD",
        "    begin((start)) --> s1",
        '    subgraph p0["one"]',
        '    s1["First"]',
        '    s2{{"Look #40;at most 3 times#41;"}}',
        "    end",
        '    s3[/"Last"/]',
        '    s1 -->|"ok"| s2',
        '    s1 -->|"fail"| failed',
        '    s2 -->|"ok"| s3',
        '    s2 -->|"iterate"| s2',
        '    s3 -->|"any other"| completed',
        "    completed(((completed)))",
        "    failed(((failed)))",
    ]


@given(st.text())
def test_no_text_breaks_out_of_its_quotes(text: str) -> None:
    label = quoted(text)

    assert re.fullmatch(LABEL, label), label
    assert label.isprintable()
    folded = " ".join(text.split()) or " "
    assert shown(label) == folded


TEXTS = st.text(max_size=12) | st.sampled_from(
    [
        '"]',
        "end",
        '"] --> x',
        "`md`",
        "#quot;",
        "%%{init: {}}%%",
        "<script>",
        "a\nb",
        "subgraph x",
        "-->|x|",
        "",
        " ",
    ]
)
IDS = st.sampled_from(["end", "class", "style", "graph", "subgraph", "send", "a-b", "click", "default", "x"])
STEPS = st.lists(
    st.builds(
        StepDef,
        IDS,
        TEXTS,
        st.just(["Do."]),
        next=st.dictionaries(st.sampled_from(list(Outcome)), st.none() | IDS, max_size=4),
        phase=st.none() | TEXTS,
        limit=st.none() | st.integers(1, 9),
        when=st.none() | st.just("visit > 1"),
    ),
    max_size=6,
)


@given(STEPS)
def test_every_workflow_has_a_well_formed_picture(steps: list[StepDef]) -> None:
    workflow = Definition("w", steps)

    text = render(picture(workflow))

    assert well_formed(text), text
    assert text == render(picture(Definition("w", steps)))


@given(STEPS)
def test_every_way_on_to_a_step_that_exists_is_drawn_once(steps: list[StepDef]) -> None:
    workflow = Definition("w", {step.id: step for step in steps}.values())

    text = render(picture(workflow))

    ways = sum(to is None or to in workflow for step in workflow.steps for to in step.next.values())
    assert len(re.findall(r"^    s\d+ -->", text, re.MULTILINE)) == ways


def test_a_checker_that_takes_everything_would_be_no_use() -> None:
    for text in (
        's1["a"]',
        '    s1["a"b"]',
        "    s1[a]",
        '    s1["a#"]',
        '    subgraph p1["a"]',
        '    s1["<b>"]',
    ):
        assert not well_formed(text)


def test_functions_are_drawn_by_the_id_of_their_step() -> None:
    workflow = Definition(
        "w", [StepDef("first", lambda _: "x", ["Do."], lambda _: Outcome.OK, next={"ok": None})]
    )

    assert picture(workflow) == Picture(
        "w", "first", (Node("first", "first", None, None, True, False),), (Arrow("first", "ok", None, False),)
    )


def test_a_workflow_without_steps_is_an_empty_picture() -> None:
    assert render(picture(Definition("w", ()))) == "flowchart TD"
