"""Run one step of a workflow with generated input, in a process of its own."""

from __future__ import annotations

import multiprocessing
import sys
import traceback
import warnings
from collections.abc import Mapping
from contextlib import redirect_stdout

from flowrail.errors import FlowError, UsageError
from flowrail.machines.frozen import Frozen
from flowrail.machines.guidance.guide import guide
from flowrail.machines.outcome_decision import applies, session_context
from flowrail.machines.reported_values import ValuesError, check_facts, check_params, problems_of
from flowrail.machines.session import Report, Session
from flowrail.machines.step import fact_args
from flowrail.machines.transition import advance, entered, reportable_outcomes
from flowrail.machines.values import Arg
from flowrail.machines.walks.actions import ended_children
from flowrail.machines.walks.inputs import ITERATION, RESERVED, STEP, TOTAL
from flowrail.machines.workflow import Workflow

SECONDS = 120.0
TIMED_OUT = 124


def run_skill_invocation(workflow: Workflow, params: Mapping[str, object]) -> int:
    """Return the exit status of one step with *params*, which `generate_inputs` yields.

    The step is printed and reported in a process of its own: 0 if nothing went wrong, 1 if a function of the workflow
    raised an exception, 2 if *params* do not fit or the step is skipped with them, 4 if the step does not accept its
    own outcome. The message is on standard error. A step that asks questions or is a review gate is only printed. The
    operating system must be able to fork a process.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    process = multiprocessing.get_context("fork").Process(target=_run, args=(workflow, dict(params)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns if other threads run
        process.start()
    process.join(SECONDS)
    if process.is_alive():
        process.kill()
        process.join()
        return TIMED_OUT
    return process.exitcode or 0


def _run(workflow: Workflow, params: Mapping[str, object]) -> None:
    with redirect_stdout(sys.stderr):
        try:
            _step(workflow, params)
        except FlowError as error:
            sys.stderr.write(f"{error.message} [{error.code}]\n  {error.hint}\n")
            sys.exit(error.exit_status)
        except Exception:  # noqa: BLE001 - an author's object may raise anything
            traceback.print_exc()
            sys.exit(1)


def _step(workflow: Workflow, values: Mapping[str, object]) -> None:
    """Print the step of *values*, and report each outcome that it accepts."""
    total = workflow.total_steps
    numbers = {name: value for name, value in values.items() if name in RESERVED}
    declared = {
        STEP: Arg(min=1, max=total, required=True),
        TOTAL: Arg(min=total, max=total),
        ITERATION: Arg(min=1, default=1),
    }
    if problems := problems_of(declared, numbers):
        hint = "use values that `generate_inputs` yields"
        raise ValuesError(f"`{workflow.name}` has no such step", problems, hint=hint, names=list(declared))
    step = workflow.steps[int(str(numbers[STEP])) - 1]
    fixed = workflow.params.keys() - workflow.handler_params - step.reports.keys()
    accepted = fact_args(step).keys() - fixed
    params: dict[str, object] = {}
    reported_before: dict[str, object] = {}
    facts: dict[str, object] = {}
    given = {name: value for name, value in values.items() if name not in RESERVED}
    for name, value in given.items():
        if name in accepted:
            facts[name] = value
        elif name in workflow.params:
            params[name] = value
        else:
            (reported_before if name in workflow.reported else facts)[name] = value
    session = Session(
        id="",
        skill=workflow.name,
        step=step.id,
        params=check_params(workflow, params),
        state=Frozen(reported_before),
        visits=Frozen({step.id: int(str(numbers.get(ITERATION, 1)))}),
    )
    check_facts(workflow, step, session.params, facts)
    if not applies(step, session_context(workflow, session, step)):
        shown = ", ".join(f"{name}={value}" for name, value in given.items())
        problem = f"step `{step.id}` does not apply with {shown or 'these values'}"
        raise UsageError(
            problem, hint="use values that `generate_inputs` yields: it leaves out skipped steps"
        )
    session = entered(workflow, session)
    guide(workflow, session)
    if session.questions or step.gate is not None:
        return
    children = ended_children(session, ["ok"] * len(session.dispatches))
    for outcome in reportable_outcomes(workflow, step, session):
        advance(workflow, session, Report(outcome, facts), children=children)
