"""Child sessions: start the session that a dispatch reserves for an agent, or replace it."""

from __future__ import annotations

import os
import shlex
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial

from flowrail.command import Command, Hint
from flowrail.errors import ConflictError
from flowrail.machines.agents import (
    find_dispatch,
    number_of,
    parent_of,
    replace_child,
    variables_of,
    workflow_of_prompt,
)
from flowrail.machines.dispatch import Dispatch
from flowrail.machines.graph import reviews
from flowrail.machines.outcome_decision import SCRIPTS, names_at
from flowrail.machines.plain_form import to_plain
from flowrail.machines.reported_values import ValuesError
from flowrail.machines.session import Dispatched, ParentSession, Session
from flowrail.machines.session_store import UnknownSessionError
from flowrail.machines.step import StepDef
from flowrail.machines.transition import current_step
from flowrail.operations.environment import Environment
from flowrail.operations.steps import session_workflow, working_files
from flowrail.operations.steps.dispatched_work import (
    check_dispatched,
    check_still_dispatched,
    children_of,
    runs_to_inherit,
)
from flowrail.operations.steps.held_session import hold
from flowrail.operations.steps.new_session import start_session
from flowrail.operations.steps.shown_step import ShownStep, commit_shown
from flowrail.skills.opened_workflow import OpenedWorkflow
from flowrail.text.phrases import in_words

MOST_GENERATIONS = 8
"""How deep the sessions of sub-agents may be nested."""
PROMPT = "prompt"
"""The source of the definition of a session that works from a prompt: no file contains it."""


def start_if_reserved(environment: Environment, session_id: str, *, is_given_up: bool = False) -> bool:
    """Start a session that is reserved for a sub-agent, and return whether it had not been started."""
    if parent_of(session_id) is None or environment.store.find(session_id) is not None:
        return False
    _start_reserved(environment, session_id, is_given_up=is_given_up)
    return True


def _start_reserved(environment: Environment, child_id: str, *, is_given_up: bool) -> None:
    """Start the session that is reserved for a sub-agent, unless another agent starts it first.

    If it *is_given_up*, it gets a workflow of one step, which can always be started.
    """
    with environment.store.change(str(parent_of(child_id)), wait=environment.wait) as change:
        parent = change.kept.session
        check_dispatched(parent, child_id)
        check_still_dispatched(environment.store, parent)
        if environment.store.find(child_id) is not None:
            return
        if os.path.lexists(environment.store.folder(child_id)):
            environment.store.delete(child_id)  # its start was interrupted
        above = session_workflow.open_session(environment, parent)
        step = current_step(above.workflow, parent)
        dispatch, work = find_dispatch(parent, child_id), step.work
        assert work is not None  # noqa: S101 - the step has dispatches
        has_prompt = work.workflow is None or is_given_up
        review = step.id if step.id in reviews(above.workflow) else parent.parent and parent.parent.review
        params: dict[str, object] = {}
        if has_prompt:
            opened = _of_prompt(environment, parent, above, step, dispatch)
        else:
            values = names_at(above.workflow, parent, step)
            params = {
                name: working_files.for_agents(environment, parent, value)
                for name, value in variables_of(work, dispatch, values).items()
                if value is not None
            }
            opened = session_workflow.open_beside(environment, str(work.workflow), above.definition)
        try:
            start_session(
                environment,
                opened,
                child_id,
                params,
                parent=ParentSession(parent.id, _depth_below(parent), review or None, prompt=has_prompt),
                project=parent.project,
                topic=in_words(dispatch.item) if dispatch.item is not None else step.name,
                runs=runs_to_inherit(environment.store, child_id),
                note={"for": parent.id},
            )
        except ValuesError as error:  # an agent cannot fix its own parameters
            abandon = Command("session abandon", child_id, reason="REASON", store=environment.store.address)
            error.hint = Hint("stop here and say so; the agent that launched this one can give up: ", abandon)
            raise


def _depth_below(parent: Session) -> int:
    depth = (parent.parent.depth if parent.parent else 0) + 1
    if depth > MOST_GENERATIONS:
        raise ConflictError(
            f"session `{parent.id}` is nested {MOST_GENERATIONS} levels deep and cannot dispatch more work",
            code="TOO_DEEP",
            hint="fix the workflow that dispatches work to itself",
            session=parent.id,
        )
    return depth


def _of_prompt(
    environment: Environment, parent: Session, above: OpenedWorkflow, step: StepDef, dispatch: Dispatched
) -> OpenedWorkflow:
    """Return the workflow of one step for an agent that works from a prompt."""
    convert = partial(working_files.for_agents, environment, parent)
    has_module = step.work is not None and step.work.script
    introduction = [_how_to_run_module(environment, above, step.work)] if step.work and has_module else []
    workflow = workflow_of_prompt(
        above.workflow,
        parent,
        step,
        dispatch,
        introduction=introduction,
        convert=lambda text: str(convert(text)),
    )
    plain = to_plain(workflow)
    definition = replace(above.definition, source=PROMPT, files={}, functions=False, workflow=plain)
    return OpenedWorkflow(workflow, definition)


def _how_to_run_module(environment: Environment, opened: OpenedWorkflow, work: Dispatch) -> str:
    """Return the instruction to run the Python module of a dispatch, or that the module is missing."""
    module = str(work.script)
    roots = [root.path for root in environment.roots]
    folders = [opened.folder, f"{opened.folder}/{SCRIPTS}", *roots, *map(os.path.dirname, roots)]
    for folder in [working_files.project_of(environment), *filter(None, folders)]:
        path = os.path.join(folder, *module.split("."))
        if os.path.isfile(f"{path}.py") or os.path.isfile(os.path.join(path, "__main__.py")):
            total = f" --total-steps {work.total_steps}" if work.total_steps else ""
            command = f"PYTHONPATH={shlex.quote(folder)} python3 -m {module} --step 1{total}"
            return f"Run `{command}`, and do what it prints, step by step, to its end."
    return (
        f"The module `{module}` was not found in the project or beside the skills, so it cannot be run. Report `fail` "
        f"with -s reason='module {module} not found'."
    )


def replace_agent(environment: Environment, session_id: str, name: str) -> ShownStep:
    """Reserve a new child session for one piece of the current step's work; reports of the old one are refused."""
    with hold(environment, session_id) as held, ExitStack() as lock:
        session, _ = held.session, held.step  # refused if it has ended
        old = find_dispatch(session, name)
        with suppress(UnknownSessionError):  # not started
            lock.enter_context(environment.store.change(old.child, wait=environment.wait))
        children = children_of(environment.store, session.dispatches)
        after = replace_child(held.workflow, session, name, children)
        new = find_dispatch(after, str(number_of(old)))
        return commit_shown(held, after, "again", replaced=old.child, child=new.child)
