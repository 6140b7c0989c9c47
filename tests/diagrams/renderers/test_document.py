"""A workflow as a document: its picture and its tables, in Markdown."""

from __future__ import annotations

from hypothesis import given
from support.pictures import FEW, ODD
from support.workflows import linear, loop, step, workflow

from flowrail.diagrams.extract import picture
from flowrail.diagrams.renderers import markdown
from flowrail.diagrams.renderers.document import WorkflowPicture
from flowrail.diagrams.renderers.markdown import outcomes_table, params_table
from flowrail.machines.definition.step_parts import Dispatch
from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow


def drawn(made: Workflow) -> WorkflowPicture:
    return WorkflowPicture(made, picture(made))


def test_outcomes_are_told_with_what_the_limit_does() -> None:
    assert outcomes_table(loop(3)).splitlines()[2:] == [
        "| 1 Look | ok | 2 Last |  |",
        "| 1 Look | fail | 1 Look | after 3 times the user decides |",
        "| 1 Look | skip | completed |  |",
        "| 1 Look | iterate | 1 Look | after 3 times it leads where ok does |",
        "| 2 Last | ok | completed |  |",
    ]


def test_parameters_are_told_with_what_stands_in_for_them() -> None:
    made = workflow(
        step("one"),
        params={
            "mode": Arg("How | much", default="full", choices=("quick", "full")),
            "size": Arg(type="integer", required=True),
            "note": Arg(),
        },
    )

    assert params_table(made).splitlines()[2:] == [
        '| mode | quick or full | default "full" | How \\| much |',
        "| size | integer | required |  |",
        "| note | string | optional |  |",
    ]


def test_workflows_that_agents_run_follow_and_are_linked() -> None:
    handing = Dispatch("explore", script="dull/look")
    first = workflow(step("one", dispatch=handing, next={"ok": None, "fail": None}))
    text = markdown.render([drawn(first), drawn(linear("a", "b", name="dull/look"))])

    assert text.startswith("# dull\n")
    assert "Its agents run [dull/look](#dulllook)." in text
    assert "\n\n## dull/look\n\n" in text
    assert text.count("```mermaid\n") == 2


@FEW
@given(ODD)
def test_markdown_keeps_its_tables_and_fences(made: Workflow) -> None:
    text = markdown.render([drawn(made)])
    fences = [line for line in text.split("\n") if line.startswith("```")]

    assert fences == ["```mermaid", "```"]
    assert all(line.endswith(" |") for line in text.split("\n") if line.startswith("| "))
