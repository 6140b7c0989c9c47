"""A workflow written in Python: what a file assigns to ``WORKFLOW``, read without running it, and running it."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from traceback import extract_tb
from types import ModuleType

from flowrail.errors import DocumentError, FlowError
from flowrail.machines.outcome_decision import HandlerError, call_function
from flowrail.machines.step import StepContext
from flowrail.machines.workflow import Workflow

_NOT_A_CALL = (ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Lambda, ast.BinOp)


@dataclass(frozen=True)
class ScannedWorkflow:
    """What a Python file assigns to ``WORKFLOW`` at its top level."""

    name: str = ""
    """The name of the workflow; empty if it is known only when the file runs."""
    problem: str = ""
    """Why the value cannot be a workflow, or why its name is unknown."""
    is_workflow: bool = True
    """False if the value is certainly not a workflow."""


def scan(data: bytes) -> ScannedWorkflow | None:
    """Return what a file assigns to ``WORKFLOW``, without running it; `None` if it assigns nothing."""
    if b"WORKFLOW" not in data:
        return None
    try:
        body = ast.parse(data).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f" (line {error.lineno}: {error.msg})" if isinstance(error, SyntaxError) else ""
        return ScannedWorkflow(problem=f"is not valid Python{line}", is_workflow=False)
    values: dict[str, ast.expr] = {}
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if isinstance(node, ast.Assign | ast.AnnAssign) and value is not None:
            values |= {target.id: value for target in targets if isinstance(target, ast.Name)}
    value = values.get("WORKFLOW")
    if value is None:
        return None
    if isinstance(value, _NOT_A_CALL):
        return ScannedWorkflow(
            problem="assigns something other than a Workflow to `WORKFLOW`", is_workflow=False
        )
    arguments = (
        [*value.args[:1], *(word.value for word in value.keywords if word.arg == "name")]
        if isinstance(value, ast.Call)
        else []
    )
    for argument in arguments:
        constant = values.get(argument.id) if isinstance(argument, ast.Name) else argument
        if isinstance(constant, ast.Constant) and isinstance(constant.value, str):
            return ScannedWorkflow(constant.value)
    return ScannedWorkflow(problem="computes the name of its `WORKFLOW`; write it as a text")


class NotLoadedError(DocumentError):
    """The file raised an error, or did not define a workflow."""

    code = "NOT_LOADED"
    exit_status = 1


def run(data: bytes, address: str, path: str) -> Workflow:
    """Return the ``WORKFLOW`` that running *data* gives; *path* is its name in tracebacks.

    The module has a private name, so that nothing imports it by accident, and no bytecode is written.
    """
    name = f"flowrail_skill_{address.replace('-', '_').replace('/', '__')}"
    module = ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module

    def load(_: StepContext) -> None:
        try:
            exec(compile(data, path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - approved code
        except FlowError:
            raise
        except (Exception, SystemExit) as error:
            message = " ".join(str(error).split())[:200]
            lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == path]
            place = f"{path}:{lines[-1]}" if lines else path
            raise _not_loaded(f"raised {type(error).__name__}: {message}", place) from error

    load.__qualname__ = path  # the name that a time limit prints
    try:
        call_function(load, StepContext(""))
    except HandlerError as error:
        raise _not_loaded(error.message.removeprefix(f"`{path}` "), path, "make the file faster") from error
    workflow = getattr(module, "WORKFLOW", None)
    if not isinstance(workflow, Workflow):
        raise _not_loaded("has no `WORKFLOW` that is a Workflow", path, "assign one at the top level")
    if workflow.name != address:
        hint = f"name the workflow `{address}`, or rename the file or its folder"
        raise _not_loaded(f"defines `{workflow.name}` but its path says `{address}`", path, hint)
    return workflow


def _not_loaded(problem: str, place: str, hint: str = "fix the file") -> NotLoadedError:
    return NotLoadedError(problem, hint=hint, place=place)
