"""Check the references of a workflow: workflows that its agents run, the workflow after it, and fenced blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice, product
from typing import NamedTuple

from flowrail.errors import DocumentError, FlowError, TrustError
from flowrail.machines.dispatch import Dispatch
from flowrail.machines.findings import Finding, Path, Place, first
from flowrail.machines.loading.loaded_workflow import LoadedWorkflow
from flowrail.machines.loading.skill_folder import WorkflowFile, find_file
from flowrail.machines.parts import texts_of
from flowrail.machines.step import WORKFLOW_NAME, StepDef
from flowrail.machines.values import Arg
from flowrail.skills.catalog import Skill, find, workflow_file, workflows
from flowrail.skills.loader import Loader
from flowrail.text import phrases, placeholders

MOST_TRIED = 50
"""At most this many possible values of one `then` are looked up."""
_WHOLE = re.compile(r"\$([a-z][a-z0-9_]*)\Z")


Problems = Callable[[str], Iterable[tuple[int, str, str]]]
"""Returns line, name and message of each fence that cannot be rendered; `formatters` provides it."""


class WorkflowInterface(NamedTuple):
    """The part of a workflow that other workflows use."""

    address: str
    params: Mapping[str, Arg]
    files: frozenset[str]
    """The texts that its steps use."""
    is_known: bool
    """False if a file could not be read, or is Python that is not approved."""
    total_steps: int

    @property
    def required(self) -> list[str]:
        """The names of the parameters that have no default."""
        return [name for name, arg in self.params.items() if arg.required]


class WorkflowInterfaces:
    """The interfaces of workflows, each file read once."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader
        self._interfaces: dict[WorkflowFile, WorkflowInterface | None] = {}

    def get(self, file: WorkflowFile) -> WorkflowInterface | None:
        """Return the interface of the workflow in *file*, or `None` if it cannot be read."""
        if file not in self._interfaces:
            try:
                self.add(file, self.loader.read(file))
            except DocumentError:
                self._interfaces[file] = None
            except TrustError:
                self._interfaces[file] = WorkflowInterface(file.address, {}, frozenset(), False, 0)
        return self._interfaces[file]

    def get_with_steps(self, file: WorkflowFile) -> WorkflowInterface | None:
        """Return the interface of the workflow in *file*, or `None` if no step of it can be read."""
        interface = self.get(file)
        return interface if interface is not None and interface.total_steps else None

    def add(self, file: WorkflowFile, loaded: LoadedWorkflow) -> None:
        """Add the interface of a workflow that was read already."""
        self._interfaces[file] = WorkflowInterface(
            loaded.definition.name,
            loaded.definition.params,
            frozenset(loaded.files),
            all(finding.code != "FR100" for finding in loaded.findings),
            loaded.definition.total_steps,
        )


def findings(
    file: WorkflowFile,
    loaded: LoadedWorkflow,
    interfaces: WorkflowInterfaces,
    problems: Problems,
) -> list[Finding]:
    """Return findings about the references of the workflow in *file*."""
    references = _References(file, loaded, interfaces)
    return [*first([references.runs(), references.then(), _fences(file, loaded, problems)])]


class _References:
    """The workflows that one workflow refers to. They are in the same folder, or among all skills."""

    def __init__(self, file: WorkflowFile, loaded: LoadedWorkflow, interfaces: WorkflowInterfaces) -> None:
        self.definition = loaded.definition
        self.locate = loaded.locate
        self.interfaces = interfaces
        self.files: dict[str, WorkflowFile | None] = {}
        self.skill = Skill(file.address.partition("/")[0], file.folder, "path")
        self.suggestions = phrases.Suggestions()
        reported = {name: arg for step in loaded.definition.steps for name, arg in step.reports.items()}
        self.declared = {**loaded.definition.params, **reported}

    def runs(self) -> Iterator[Finding]:
        """Yield findings about the workflows that sub-agents run."""
        for index, step in enumerate(self.definition.steps):
            if step.work is not None and step.work.workflow is not None:
                yield from self._run(step, step.work.workflow, step.work, ("steps", index, "dispatch"))

    def then(self) -> Iterator[Finding]:
        """Yield findings about the workflow that comes next."""
        definition, place = self.definition, self.locate(("then",))
        for address in islice(self._addresses(definition.then or ""), MOST_TRIED):
            target = self._get(address)
            if target is None:
                message = f"`{definition.name}` continues with `{address}`, which does not exist"
                yield Finding("FR151", "error", message, self._hint(address), place)
            elif target.required:
                required = phrases.listed(target.required)
                message = f"`{definition.name}` continues with `{address}`, which requires {required}"
                hint = "let its first step ask for the value, or add a default"
                yield Finding("FR151", "error", message, hint, place)

    def _run(self, step: StepDef, address: str, work: Dispatch, at: Path) -> Iterator[Finding]:
        target = self._get(address)
        if target is None:
            message = f"step `{step.id}` runs `{address}` in agents, but that workflow does not exist"
            yield Finding("FR143", "error", message, self._hint(address), self.locate((*at, "run")), step.id)
            return
        if not target.is_known:
            return
        params, place = target.params, self.locate((*at, "vars"))
        for name, value in work.vars.items():
            problem = _unfit(name, params.get(name), value, self.declared)
            if problem:
                takes = f"it takes {phrases.listed(params) or 'none'}"
                hint = self.suggestions.did_you_mean(name, params, takes)
                hint = f"give it a {params[name].kind}" if name in params else hint
                message = f"step `{step.id}` runs `{address}` in agents, which {problem}"
                yield Finding("FR155", "error", message, hint, self.locate((*at, "vars", name)), step.id)
        if work.total_steps not in {None, target.total_steps}:
            message = f"step `{step.id}` says that `{address}` has {work.total_steps} steps, not {target.total_steps}"
            total = self.locate((*at, "total_steps"))
            yield Finding("FR155", "error", message, "remove `total_steps`", total, step.id)
        for name in target.required:
            if name not in work.vars:
                message = f"`{address}` requires `{name}`, which step `{step.id}` does not set"
                yield Finding("FR155", "error", message, f"add `{name}` to its `vars`", place, step.id)

    def _get(self, address: str) -> WorkflowInterface | None:
        """Return the workflow at *address*, or `None` if it cannot be read."""
        if address not in self.files:
            self.files[address] = self._file(address)
        file = self.files[address]
        return self.interfaces.get(file) if file is not None else None

    def _file(self, address: str) -> WorkflowFile | None:
        if not WORKFLOW_NAME.match(address):
            return None
        if address.partition("/")[0] == self.skill.name and (own := find_file(self.skill.folder, address)):
            return own
        try:
            return workflow_file(address, find(address, self.interfaces.loader.roots))
        except (FlowError, DocumentError):
            return None

    def _hint(self, address: str) -> str:
        """Return a hint for an unknown address."""
        siblings = [file.address for file in workflows(self.skill)]
        otherwise = f"this skill has {phrases.listed(siblings)}; `flow list` shows other skills"
        return self.suggestions.did_you_mean(address, siblings, otherwise)

    def _addresses(self, then: str) -> Iterator[str]:
        """Yield the possible values of *then*; nothing if they are unknown, or if it is empty."""
        names = sorted(placeholders.placeholders(then))
        choices = [self.declared[name].choices or () if name in self.declared else () for name in names]
        for values in product(*choices) if then else ():
            yield placeholders.fill(then, dict(zip(names, values, strict=True)))


def _unfit(name: str, arg: Arg | None, value: object, declared: Mapping[str, Arg]) -> str | None:
    """Return why *value* does not fit a parameter, as far as it is known before the workflow runs."""
    if arg is None:
        return f"takes no `{name}`"
    whole = _WHOLE.match(value) if isinstance(value, str) else None
    if whole:
        kind = declared[whole[1]].kind if whole[1] in declared else arg.kind
        fits = kind == arg.kind or (kind, arg.kind) == ("integer", "number")
        return None if fits else f"takes a {arg.kind} for `{name}`, not a {kind}"
    if isinstance(value, str) and placeholders.placeholders(value):
        return None if arg.kind == "string" else f"takes a {arg.kind} for `{name}`, not a text"
    problem = arg.problem(value)
    return None if problem is None else f"takes another `{name}`: it {problem}"


def _fences(file: WorkflowFile, loaded: LoadedWorkflow, problems: Problems) -> Iterator[Finding]:
    for index, step in enumerate(loaded.definition.steps):
        for text in texts_of(step):
            if text.key not in {"actions", "variants", "prompt"}:
                continue
            for line, name, problem in problems(text.value):
                place = loaded.locate(("steps", index, *text.path))
                if place.file != file.path and not file.is_python:
                    # A file of its own. The text lacks the blank lines at its top.
                    written = loaded.files.get(place.file, b"")
                    above = written[: len(written) - len(written.lstrip())].count(b"\n")
                    place = Place(place.file, line + above)
                message = f"step `{step.id}` prints its fence `flow:{name}` as text: {problem}"
                hint = "fix it, or write it without `flow:`"
                yield Finding("FR152", "error", message, hint, place, step.id)
