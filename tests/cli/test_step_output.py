"""A step prints findings, failed work and many facts beside its instructions."""

from __future__ import annotations

from support.sandbox import flow, put_skill, told
from support.simulated_agents import read

REVIEWED = """\
name: NAME
steps:
  - id: work
    title: Work
    actions: [Work.]
    dispatch: {agent: developer, over: [a, b], join: JOIN, prompt: steps/work.agent.md}
    next: {ok: review}
  - id: review
    title: Review
    actions: [Review.]
    dispatch: {agent: quality-reviewer, workflow: NAME/look}
    next: {ok: gate}
  - id: gate
    title: Gate
    actions: [Decide.]
    gate: {name: Gate, review: review}
    next: {ok: null, fail: work}
"""
LOOK = """\
name: NAME/look
steps:
  - id: look
    title: Look
    actions: [Look.]
    reports:
      a: {type: string, required: true, example: x}
      b: {type: string, required: true, example: x}
      c: {type: string, required: true, example: x}
      d: {type: string, required: true, example: x}
    next: {ok: null}
"""


def put(join: str = "all") -> None:
    """Write a skill whose work is given out and reviewed."""
    texts = {"workflows/look.yaml": LOOK, "steps/work.agent.md": "Do $item."}
    put_skill("reviewed", REVIEWED.replace("JOIN", join), texts=texts)


def end(work: str, how: int) -> str:
    """Do a piece of work and report `ok` (0) or `fail` (1); return the next command."""
    line = read(flow(*work.split()[1:]).out).cases[how].command
    out = flow(*line.split()[1:], "-s", "reason=because").out
    return out.split("launched this one: ")[1].splitlines()[0]


def go(line: str) -> str:
    """Run a printed command and return the form for agents."""
    ran = flow(*line.split()[1:])
    assert ran.status == 0, ran
    return ran.out


def at_review() -> str:
    """Take a session to its review and return what is printed there."""
    begun = read(go("flow step reviewed --new"))
    back = [end(dispatch.command, 0) for dispatch in begun.work]
    return go(read(go(back[-1])).cases[0].command)


def test_work_that_failed_and_is_needed_is_printed_with_its_reason_and_its_command() -> None:
    put()
    begun = read(go("flow step reviewed --new"))

    back = [end(dispatch.command, 1) for dispatch in begun.work]
    out = go(back[-1])

    again = read(out)
    assert "If a failed dispatch is still needed, fix the reason" in out
    assert not again.cases
    replacements = [f"--session {begun.session} --again {number}" for number in (1, 2)]
    assert all(words in work.command for words, work in zip(replacements, again.work, strict=True))
    assert "because" in out
    for form in ("text", "json"):
        assert replacements[0] in flow(*back[-1].split()[1:], "--format", form).out
    assert [dispatch["again"] for dispatch in told(*back[-1].split()[1:])["dispatches"]] == [True, True]
    replaced = read(go(again.work[0].command)).work[0]
    assert read(go(end(replaced.command, 0))).work[0].status == "completed"


def test_a_review_its_agents_and_its_gate_are_told_how_to_record_a_finding() -> None:
    put()

    begun = read(go("flow step reviewed --new"))
    review = read(at_review())
    agent = read(go(review.work[0].command))

    assert not begun.finding
    assert agent.finding == f"flow finding add {agent.session}"
    assert review.finding == f"flow finding add {review.session}"
    text = flow("resume", agent.session, "--format", "text").out
    append = "--severity MUST|SHOULD|COULD --place PLACE --text TEXT"
    assert f"To record a finding, append {append} to\n    {agent.finding}" in text
