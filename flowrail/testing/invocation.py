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
from flowrail.machines.reported_values import check_facts, check_params
from flowrail.machines.session import Report, Session
from flowrail.machines.step import StepDef, accepts_any_fact, fact_args
from flowrail.machines.transition import advance, entered, reportable_outcomes
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
    step = _step_of(workflow, values)
    params, state, facts = _parted(workflow, step, values)
    session = Session(
        id="",
        skill=workflow.name,
        step=step.id,
        params=check_params(workflow, params),
        state=Frozen(state),
        visits=Frozen({step.id: _whole(values, ITERATION, default=1)}),
    )
    check_facts(workflow, step, session.params, facts)
    if not applies(step, session_context(workflow, session, step)):
        given = ", ".join(f"{name}={value}" for name, value in values.items() if name not in RESERVED)
        problem = f"step `{step.id}` does not apply with {given or 'these values'}"
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


def _step_of(workflow: Workflow, values: Mapping[str, object]) -> StepDef:
    number = _whole(values, STEP)
    total = _whole(values, TOTAL, default=workflow.total_steps)
    if total != workflow.total_steps:
        problem = f"`{workflow.name}` has {workflow.total_steps} steps, not {total}"
        raise UsageError(problem, hint=f"leave `{TOTAL}` out; it follows from the workflow")
    if number > workflow.total_steps:
        problem = f"`{STEP}` is at most {workflow.total_steps}, not {number}"
        raise UsageError(problem, hint="use the number of a step, counted from 1")
    return workflow.steps[number - 1]


def _whole(values: Mapping[str, object], name: str, default: int | None = None) -> int:
    value = values.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        problem = f"`{name}` is a whole number from 1, not {value!r}"
        raise UsageError(problem, hint="use values that `generate_inputs` yields")
    return value


def _parted(
    workflow: Workflow, step: StepDef, values: Mapping[str, object]
) -> tuple[dict[str, object], dict[str, object], dict[str, object]]:
    """Split *values* into parameters, facts reported before, and facts of the report."""
    params: dict[str, object] = {}
    state: dict[str, object] = {}
    facts: dict[str, object] = {}
    fixed = workflow.params.keys() - workflow.handler_params - step.reports.keys()
    reported = fact_args(step).keys() - fixed
    for name in values.keys() - RESERVED:
        if name in reported:
            group = facts
        elif name in workflow.params:
            group = params
        elif name in workflow.reported:
            group = state
        elif accepts_any_fact(step):
            group = facts
        else:
            problem = f"no step or parameter is called `{name[:60]}`"
            raise UsageError(problem, hint="use values that `generate_inputs` yields")
        group[name] = values[name]
    return params, state, facts
