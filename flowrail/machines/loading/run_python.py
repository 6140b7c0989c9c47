"""Load a workflow to run it. Python is run from exactly the bytes that were approved."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from traceback import extract_tb
from types import ModuleType

from flowrail.command import Command, Hint
from flowrail.errors import FlowError
from flowrail.machines.definition.step import StepContext
from flowrail.machines.definition.validation import origin_of
from flowrail.machines.definition.workflow import Workflow, step_texts
from flowrail.machines.engine.outcome import caller
from flowrail.machines.loading.loaded_workflow import LoadedWorkflow
from flowrail.machines.loading.skill_folder import WorkflowFile
from flowrail.machines.loading.workflow_source import SkillTexts, read


class NotLoadedError(FlowError):
    """The file raised an error, or did not define a workflow."""

    code = "NOT_LOADED"


def run(
    file: WorkflowFile,
    contents: Mapping[str, bytes] | None = None,
    *,
    convention: Callable[[str], str | None] = lambda _: None,
) -> LoadedWorkflow:
    """Return the workflow in *file*, ready to run. A Python file is run, so it must be approved."""
    if not file.is_python:
        loaded = read(file, contents, convention=convention)
    else:
        texts = SkillTexts(file, contents, convention)
        path = os.path.join(file.folder, file.path)
        workflow = run_python(texts.data(file.path), file.address, path, text_of=texts.of_step)
        loaded = texts.complete(LoadedWorkflow(workflow, (), origin_of(workflow)))
    return loaded._replace(definition=loaded.definition.located(file.folder))


def run_python(
    data: bytes, address: str, path: str, *, text_of: Callable[[str], str | None] | None = None
) -> Workflow:
    """Return the ``WORKFLOW`` that running *data* gives; *path* is its name in tracebacks.

    *text_of* returns the text of a step that has no `actions`.

    The module has a private name, so that nothing imports it by accident, and
    no bytecode is written.
    """
    name = f"flowrail_skill_{address.replace('-', '_').replace('/', '__')}"
    module = ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module

    def load(_: StepContext) -> None:
        try:
            execute(data, path, module.__dict__)
        except FlowError:
            raise
        except (Exception, SystemExit) as error:
            raise NotLoadedError(
                f"{path} raised {type(error).__name__}: "
                f"{' '.join(str(error).split())[:200]}{_line(error, path)}",
                hint=Hint("fix the file; check it without running it: ", Command("check")),
                path=path,
            ) from error

    load.__qualname__ = path  # the name that a time limit prints
    texts = step_texts.set(text_of)
    try:
        caller.get()(load, StepContext(""), {})
    finally:
        step_texts.reset(texts)
    workflow = getattr(module, "WORKFLOW", None)
    if not isinstance(workflow, Workflow):
        raise NotLoadedError(
            f"{path} has no `WORKFLOW` that is a Workflow", hint="assign one at the top level", path=path
        )
    if workflow.name != address:
        raise NotLoadedError(
            f"{path} defines `{workflow.name}` but its path says `{address}`",
            hint=f"name the workflow `{address}`, or rename the folder",
            path=path,
        )
    return workflow


def execute(data: bytes, path: str, namespace: dict[str, object]) -> None:
    """Run the Python in *data*, called *path* in tracebacks, in *namespace*."""
    exec(compile(data, path, "exec", dont_inherit=True), namespace)  # noqa: S102 - approved code


def _line(error: BaseException, path: str) -> str:
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == path]
    return f" ({path}:{lines[-1]})" if lines else ""
