"""The decisions of a step: whether it applies, which instructions it prints, which outcome it has.

An author's function has a time limit, and its output does not mix with the answer. Gates are in
`flowrail.machines.gate_verdict`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from inspect import unwrap
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from flowrail.errors import FlowError
from flowrail.machines import expressions
from flowrail.machines.frozen import Frozen
from flowrail.machines.graph import decided_outcomes
from flowrail.machines.step import (
    NO_RESOURCES,
    Condition,
    MissingValueError,
    StepContext,
    StepDef,
    handler_signature,
)
from flowrail.machines.values import Arg
from flowrail.machines.work_folder import NOTES_FILE, default_work_folder
from flowrail.machines.workflow import Workflow
from flowrail.outcome import REPORTABLE, Outcome
from flowrail.processes import time_limit
from flowrail.text import json as strict_json
from flowrail.text import placeholders
from flowrail.text.safe_text import Markup, parts, shortened

if TYPE_CHECKING:
    from flowrail.machines.session import Session  # a workflow is read without it

NO_SESSION = "SESSION"
"""The placeholder for the id of a session that has not started, as in a preview."""
SCRIPTS = "scripts"
"""The folder of a skill's scripts, in the skill's folder."""

HANDLER_SECONDS = 30.0
"""How long an author's function may take."""
_LONGEST_MESSAGE = 200

Result = TypeVar("Result")


class HandlerError(FlowError):
    """An author's function or rule failed; the session is unchanged."""

    code = "HANDLER_FAILED"


class Decision(NamedTuple):
    """The outcome of a step, and values to keep.

    At its limit, the user may ``stop`` the run, or have ``granted`` another round.
    """

    outcome: Outcome
    values: Mapping[str, Any] = Frozen()
    stop: bool = False
    granted: bool = False


def in_context(
    workflow: Workflow,
    step: StepDef,
    params: Mapping[str, object],
    state: Mapping[str, object],
    visit: int,
    session: str = "",
    work: str = "",
) -> StepContext:
    """Return the context of *step*.

    ``workflow_params`` has the fact for a name that a step reports or that is not a parameter, and the fixed value
    for any other parameter.
    """
    defaults = {
        name: workflow.params[name].default
        for name in workflow.handler_params
        if workflow.params[name].has_default
    }
    facts = {name: value for name, value in state.items() if name in workflow.reported or name not in params}
    return StepContext(
        step.id,
        {**defaults, **params, **facts},
        state,
        visit,
        step.limit,
        session,
        work,
        f"{workflow.folder}/{SCRIPTS}" if workflow.folder else SCRIPTS,
        resources=workflow.provider or NO_RESOURCES,
    )


def session_context(
    workflow: Workflow,
    session: Session,
    step: StepDef,
    facts: Mapping[str, object] | None = None,
    *,
    visit: int | None = None,
) -> StepContext:
    """Return the context of *step* in *session*, with *facts* that a report adds; *visit* is another attempt."""
    return in_context(
        workflow,
        step,
        session.params,
        {**session.state, **facts} if facts else session.state,
        session.visits.get(step.id, 0) if visit is None else visit,
        session.id,
        session.work,
    )


def names_in(context: StepContext) -> dict[str, object]:
    """Return every value that an expression or a placeholder can use."""
    work = context.work or default_work_folder(context.session or NO_SESSION)
    return {
        **context.step_state,
        **context.workflow_params,
        "visit": context.visit,
        "limit": context.limit,
        "session": context.session or NO_SESSION,
        "work": work,
        "notes": f"{work}/{NOTES_FILE}",
        "scripts": context.scripts,
    }


def names_at(
    workflow: Workflow, session: Session, step: StepDef, facts: Mapping[str, object] | None = None
) -> dict[str, object]:
    """Return every value that an expression or a placeholder can use at *step* in *session*, with reported *facts*."""
    return names_in(session_context(workflow, session, step, facts))


def holds(condition: Condition, context: StepContext, *, where: str) -> bool:
    """Return whether a condition holds; a `HandlerError` names *where* it failed."""
    if callable(condition):
        return call_function(condition, context, convert=bool)
    try:
        return expressions.parse(condition).holds(names_in(context))
    except expressions.RuleError as error:
        raise HandlerError(
            f"{where}: {error}", hint="report values of the type that the expression compares", place=where
        ) from None


def applies(step: StepDef, context: StepContext) -> bool:
    """Return whether *step* applies in *context*."""
    return step.when is None or holds(step.when, context, where=f"`when` of step `{step.id}`")


def title_of(step: StepDef, context: StepContext) -> str:
    """Return the current title."""
    if callable(step.title):
        return call_function(step.title, context, convert=str)
    return placeholders.fill(step.title, names_in(context))


def name_of(step: StepDef, context: StepContext) -> str:
    """Return the current title, or the id if a function computes the title."""
    return placeholders.fill(step.name, names_in(context))


def actions_of(step: StepDef, context: StepContext) -> tuple[str, ...]:
    """Return the current instructions of the step: the first variant whose condition holds, else its own text."""
    for variant in step.variants:
        if holds(variant.when, context, where=f"a variant of step `{step.id}`"):
            return _filled(variant.actions, context)
    if callable(step.actions):
        return call_function(
            step.actions,
            context,
            convert=lambda texts: (texts,) if isinstance(texts, str) else tuple(map(str, texts)),
        )
    return _filled(step.actions, context)


def _filled(texts: Sequence[str], context: StepContext) -> tuple[str, ...]:
    """Return texts with their values; a block is markup already and stays as it is."""
    fill = placeholders.Filling(names_in(context), quoting=True).fill

    def filled(text: str) -> str:
        if isinstance(text, Markup):
            return text
        return "".join(part if isinstance(part, Markup) else fill(part) for part in parts(str(text)))

    return tuple(map(filled, texts))


def by_rules(step: StepDef, context: StepContext) -> Outcome:
    """Return the outcome of the first rule that holds in *context*."""
    where = f"a rule of step `{step.id}`"
    decided = decided_outcomes(step, lambda condition: holds(condition, context, where=where))
    if not decided:
        raise HandlerError(
            f"no rule of step `{step.id}` applies", hint="add a last rule without `if`", step=step.id
        )
    return Outcome(*decided)


def decide(step: StepDef, context: StepContext) -> Decision:
    """Return the decision of the step's handler or rules on the values in *context*."""
    if step.rules:
        return Decision(by_rules(step, context))
    handler = cast("Callable[..., object]", step.handler)
    answer: Any = call_function(handler, context, _supplied(step, context))
    outcome, values = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, {})  # noqa: PLR2004
    if outcome not in REPORTABLE or not isinstance(values, Mapping):
        raise HandlerError(
            f"the handler of step `{step.id}` returned {str(answer)[:80]!r} ({_defined_at(handler)})",
            hint="return an Outcome, or a pair of an Outcome and a dict",
            step=step.id,
        )
    return Decision(Outcome(outcome), _storable(step, values, handler))


def _storable(
    step: StepDef, values: Mapping[str, object], handler: Callable[..., object]
) -> dict[str, object]:
    """Return the values of a handler as the journal will return them; refuse values that JSON cannot hold."""
    try:
        plain: dict[str, object] = json.loads(json.dumps(dict(values), allow_nan=False)) if values else {}
        problem = strict_json.problem(plain)
    except (TypeError, ValueError, RecursionError) as error:
        problem = _one_line(error)
    if problem is None:
        return plain
    raise HandlerError(
        f"the handler of step `{step.id}` returned values that cannot be saved: {problem} ({_defined_at(handler)})",
        hint="return texts, numbers, true or false, and lists and dicts of them",
        step=step.id,
    )


def _supplied(step: StepDef, context: StepContext) -> dict[str, object]:
    """Return the arguments that the handler declares, from facts, parameters and defaults."""
    known = {**context.step_state, **context.workflow_params}
    supplied: dict[str, object] = {}
    for name, declared in handler_signature(step.handler).items():
        arg = declared if isinstance(declared, Arg) else None
        if name in known:
            value = known[name]
            is_default = arg is not None and arg.has_default and value == arg.default
            problem = arg.problem(value) if arg is not None and not is_default else None
            if problem:
                raise HandlerError(
                    f"the handler of step `{step.id}` cannot be called: `{name}` {problem}",
                    hint="report a value that fits",
                    step=step.id,
                )
            supplied[name] = value
        elif arg is not None and arg.has_default:
            supplied[name] = arg.default
        elif declared is not True:
            raise HandlerError(
                f"the handler of step `{step.id}` needs `{name}`, which has no value yet",
                hint=f"give `{name}` as a parameter at the start, or report it as a fact",
                step=step.id,
            )
    return supplied


class TimeIsUp(BaseException):
    """Stops an author's function that takes too long. Not an `Exception`, so that `except Exception` does not catch it."""


def call_function(
    function: Callable[..., object],
    context: StepContext,
    arguments: Mapping[str, object] = Frozen(),
    *,
    convert: Callable[[Any], Result] = lambda value: value,
) -> Result:
    """Call an author's function, and return what *convert* makes of its value, with its output on stderr.

    It is stopped after `HANDLER_SECONDS`. An exception becomes one line with the file and line of the author's code.
    """
    try:
        with redirect_stdout(sys.stderr), time_limit(HANDLER_SECONDS, TimeIsUp):
            return convert(function(context, **arguments))
    except TimeIsUp:
        raise HandlerError(
            f"{function_name(function)} took more than {HANDLER_SECONDS:g} seconds",
            code="HANDLER_TIMEOUT",
            hint="the session is unchanged; make the function faster, then report again",
            seconds=HANDLER_SECONDS,
        ) from None
    except (FlowError, KeyboardInterrupt):
        raise
    except BaseException as error:  # includes cancellations and the end of the program
        raise HandlerError(
            f"{function_name(function)} raised {type(error).__name__}: {_one_line(error)} ({_place(error)})",
            hint=f"the session is unchanged; report `{error.args[0]}`, or give it when the session starts"
            if isinstance(error, MissingValueError)
            else "the session is unchanged; fix the function, then report again",
            exception=type(error).__name__,
        ) from error


_PACKAGE = os.path.realpath(os.path.join(os.path.dirname(__file__), "..")) + os.sep


def function_name(function: Callable[..., object]) -> str:
    """Return the name of an author's function for messages."""
    return f"`{getattr(function, '__qualname__', type(function).__name__)}`"


def _defined_at(function: Callable[..., object]) -> str:
    """Return the file and the line at which an author defines *function*."""
    code = getattr(unwrap(getattr(function, "func", function)), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else function_name(function)


def _one_line(error: BaseException) -> str:
    try:
        return shortened(str(error), _LONGEST_MESSAGE)
    except Exception:  # noqa: BLE001 - an author's class may raise anything
        return "(its message cannot be shown)"


def _place(error: BaseException) -> str:
    """Return the last line of the author's code that led to *error*."""
    lines = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    own = [(file, line) for file, line in lines if not file.startswith(_PACKAGE)]
    file, line = [*lines, *own][-1] if lines else ("unknown place", 0)
    return f"{file}:{line}"
