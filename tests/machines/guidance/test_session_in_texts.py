"""`$session` in a text is the id of the run, so that an author can name files that no other run uses."""

from __future__ import annotations

from support.workflows import step, workflow

from flowrail.machines.definition.step_parts import Dispatch, Option, Question
from flowrail.machines.engine import dispatched_work
from flowrail.machines.engine.advance import entered, start

RUN = "dull-k3x9q2"


def test_work_handed_out_and_questions_name_the_run_that_asks() -> None:
    work = Dispatch("explore", prompt=("Read $session.",), context_vars={"report": "$session.md"})
    yes, no = Option("Yes", outcome="ok"), Option("No", outcome="ok")
    flow = workflow(
        step("hand", dispatch=work, next={"ok": "ask"}),
        step("ask", questions=[Question("go", "Go", "Is $session.md right?", (yes, no))]),
    )
    begun = start(flow, session_id=RUN)

    (handed,) = entered(flow, begun).dispatches
    (question,) = entered(flow, begun._replace(step="ask")).questions

    assert handed.vars == {"report": f"{RUN}.md"}
    assert dispatched_work.prompt_of(flow.step("hand"), handed, {"session": RUN}) == f"Read {RUN}."
    assert question.text == f"Is {RUN}.md right?"
