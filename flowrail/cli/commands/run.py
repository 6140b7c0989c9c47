"""Commands that start a session, show it and report to it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

import click

from flowrail.cli import options
from flowrail.cli.environment import SessionCall, given_facts
from flowrail.command import Command, Hint
from flowrail.discovery.locations import OFFERED
from flowrail.errors import UsageError
from flowrail.machines.engine.advance import REPORTED
from flowrail.operations.running import steps


@SessionCall.command(
    "step",
    "flow step problem-analysis -p topic='slow login'",
    "flow step problem-analysis ok --session problem-analysis-k3x9q2 --expect 0",
    'flow step problem-analysis done -s confidence=high -s \'areas=["auth", "db"]\'',
    "flow step --session planner-k3x9q2.0.1",
)
@options.optional_skill
@options.outcome
@options.facts
@options.note
@options.params
@click.option("--new", is_flag=True, help="Start a new session, even if one is open.")
@options.session_option
@click.option(
    "--again",
    metavar="N",
    help="Replace the agent of dispatch N of the session's step by a new one, in a session of its own.",
)
@options.expect
@options.take_over
@options.form
@options.store
@options.root
@options.wait_in_a_crowd
def step_command(
    call: SessionCall,
    skill: str | None,
    outcome: str | None,
    assignments: dict[str, str],
    facts_file: str | None,
    note: str,
    params: dict[str, str],
    new: bool,
    session_id: str | None,
    again: str | None,
    expect: int | None,
    take_over: bool,
) -> None:
    """Show the current step, or report its outcome and show the next

    Without OUTCOME, shows the step of this conversation's open session again; nothing changes. If it has none,
    starts one (-p sets its parameters). With --session, SKILL can be left out. OUTCOME is ok, fail, skip or iterate,
    or done if the step itself decides; a reviewer may report pass for ok. Every answer prints the commands that can
    come next. A sub-agent names the session that its prompt names.
    """
    if session_id and skill and outcome is None and skill in REPORTED:
        skill, outcome = None, skill
    _check_combination(skill, outcome, session_id, new=new, again=again, params=params)
    is_report = assignments or facts_file or expect is not None or note
    if outcome is None and is_report:
        raise UsageError(
            "facts, --expect and --note belong to a report",
            hint=Hint("name the outcome: ", Command("step", skill or "SKILL", "OUTCOME")),
        )
    environment = call.environment
    if outcome is not None:
        answer = steps.report(
            environment,
            skill,
            outcome,
            facts=given_facts(assignments, facts_file),
            session_id=session_id,
            expect=expect,
            note=note,
            take_over=take_over,
        )
    elif again is not None:
        answer = steps.replace_agent(environment, str(session_id), again)
    elif session_id:
        answer = steps.look(environment, session_id, skill, take_over=take_over)
    elif new:
        answer = steps.begin(environment, str(skill), params)
    else:
        answer = steps.step_again(environment, str(skill), params)
    call.show(answer.guidance, answer.notes)


def _check_combination(
    skill: str | None,
    outcome: str | None,
    session_id: str | None,
    *,
    new: bool,
    again: str | None,
    params: Mapping[str, str],
) -> None:
    """Refuse options that exclude each other, or a command that names neither a skill nor a session."""
    if not (skill or session_id):
        hint = Hint("name it, or a session; see the skills: ", Command("list"))
        raise UsageError("the skill is missing", hint=hint)
    if session_id and (new or params):
        raise UsageError(
            "--new and -p belong to a new session, and --session names one", hint="leave one of them out"
        )
    if outcome is not None and (new or params or again is not None):
        raise UsageError(
            "--new, -p and --again do not belong to a report", hint="give facts of a report with -s"
        )
    if again is not None and not session_id:
        raise UsageError("--again needs --session", hint="name the session whose step has the dispatch")


@SessionCall.command("resume", "flow resume", "flow resume problem-analysis-k3x9q2 --format text")
@options.optional_session
@options.take_over
@options.form
@options.store
def resume_command(call: SessionCall, session_id: str | None, take_over: bool) -> None:
    """Show the current step of a session again

    Without ID, shows this conversation's open session. The session does not change, unless --take-over makes
    it this conversation's. The skills that `flow discover` offered it are searched again.
    """
    if take_over and session_id is None:
        hint = Hint("see the sessions: ", Command("sessions"))
        raise UsageError("--take-over needs the id of a session", hint=hint)
    environment = call.environment
    answer = steps.resume(environment, session_id, take_over=take_over)
    with suppress(OSError):
        os.unlink(os.path.join(environment.store.folder(answer.guidance.session), OFFERED))
    call.show(answer.guidance, answer.notes)
