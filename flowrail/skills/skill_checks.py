"""Check what is around a workflow: the workflows that it names, its texts, and the other files of its skill."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from flowrail.discovery.frontmatter import read_frontmatter
from flowrail.discovery.scan import SKILL_FILE
from flowrail.errors import DocumentError, FlowError, TrustError
from flowrail.machines.dispatch import Dispatch
from flowrail.machines.findings import Finding, Path, Place, UnplacedFinding, first
from flowrail.machines.loading.skill_folder import WorkflowFile, find_file, workflow_files
from flowrail.machines.loading.workflow_source import LoadedWorkflow
from flowrail.machines.parts import texts_of
from flowrail.machines.step import WORKFLOW_NAME, StepDef
from flowrail.machines.values import Arg
from flowrail.skills import card
from flowrail.skills.catalog import Skill, find, unread_workflows, workflow_file, workflows
from flowrail.skills.loader import Loader
from flowrail.storage.files import read_bounded
from flowrail.text import phrases, placeholders, size_limits
from flowrail.text.safe_text import decode

SKILLS_FOLDER = "skills"
"""The name of folders in which hosts look for skills, such as `.claude/skills`."""

Problems = Callable[[str], Iterable[tuple[int, str, str]]]
"""Returns line, name and message of each fence that cannot be rendered; `formatters` provides it."""


@dataclass
class WorkflowReader:
    """Reads workflows, each file once."""

    loader: Loader
    _read: dict[WorkflowFile, LoadedWorkflow | FlowError] = field(default_factory=dict)

    def read(self, file: WorkflowFile) -> LoadedWorkflow:
        """Return the workflow in *file*; refuse one that cannot be read, or may not run."""
        if file not in self._read:
            try:
                self._read[file] = self.loader.read(file)
            except (DocumentError, TrustError) as error:
                self._read[file] = error
        found = self._read[file]
        if isinstance(found, FlowError):
            raise found
        return found


def check_skill(
    file: WorkflowFile, loaded: LoadedWorkflow, reader: WorkflowReader, problems: Problems
) -> tuple[list[Finding], list[Finding]]:
    """Return the findings about the references of a workflow, and those about the files around it."""
    references = _References(file, loaded, reader)
    return (
        [*first([references.runs(), references.then(), _fences(file, loaded, problems)])],
        [*first(_beside(file, loaded))],
    )


def _beside(file: WorkflowFile, loaded: LoadedWorkflow) -> Iterator[Iterable[Finding]]:
    """Yield the findings of each rule about the files around a workflow.

    If the workflow could not be read, SKILL.md is not compared with it. SKILL.md belongs to the entry workflow.
    """
    if "/" in file.address:
        return
    yield ignored_files(file)
    if not os.path.lexists(os.path.join(file.folder, SKILL_FILE)):
        if os.path.basename(os.path.dirname(os.path.abspath(file.folder))) == SKILLS_FOLDER:
            message = f"{SKILL_FILE} is missing, so agents cannot discover `{file.address}`"
            hint = f"write one with `name`, `description` and `flow step {file.address}`"
            yield [_found("FR182", message, hint, Place(file.path, 1))]
        return
    own = [known.address for known in workflows(Skill(file.address, file.folder, "path"))]
    yield check_card(file.folder, file.address if loaded.definition.steps else "", own)


def check_card(folder: str, address: str = "", known: Collection[str] = ()) -> list[Finding]:
    """Return findings about a SKILL.md: its fields, its handoff metadata and, for the skill at *address*, its commands.

    *known* are the addresses of the skill's workflows.
    """
    try:
        data = read_bounded(os.path.join(folder, SKILL_FILE), limit=size_limits.TEXT_BYTES, what="it")
        text = decode(data, source=SKILL_FILE)
    except DocumentError as error:
        place = Place.of(error.place) if error.place.startswith(SKILL_FILE) else Place(SKILL_FILE, 1)
        return [_found("FR168", f"SKILL.md cannot be read: {error.fact}", f"fix {SKILL_FILE}", place)]
    front, name = read_frontmatter(data, SKILL_FILE), os.path.basename(folder)
    commands = card.command_findings(text, address, known) if address else ()
    return [*card.departures(front, name), *card.handoff_findings(front, name), *commands]


def check_plain_skill(folder: str) -> list[Finding]:
    """Return findings about a skill without a workflow: its SKILL.md, and a workflow that is not read."""
    unread = [
        _found("FR174", f"nothing reads `{name}`", "name it `workflow.yaml`, in YAML", Place(name, 1))
        for name in unread_workflows(folder)
    ]
    return [*unread, *check_card(folder)]


def ignored_files(file: WorkflowFile) -> Iterator[Finding]:
    """Yield findings about files that look like workflows of the skill but are not read."""
    entries = [
        known.path for known in workflow_files(file.folder, file.address) if known.address == file.address
    ]
    for name in (*entries, *unread_workflows(file.folder)):
        if name != file.path:
            message = f"nothing reads `{name}`: `{file.path}` is the workflow"
            yield _found("FR174", message, "keep one of them", Place(name, 1))


class _References:
    """The workflows that one workflow refers to. They are in the same folder, or among all skills."""

    def __init__(self, file: WorkflowFile, loaded: LoadedWorkflow, reader: WorkflowReader) -> None:
        self.definition, self.locate, self.reader = loaded.definition, loaded.locate, reader
        self._file = cache(self._find_file)
        self.skill = Skill(file.address.partition("/")[0], file.folder, "path")
        self.suggestions = phrases.Suggestions()

    def runs(self) -> Iterator[Finding]:
        """Yield findings about the workflows that sub-agents run."""
        for index, step in enumerate(self.definition.steps):
            if step.work is not None and step.work.workflow is not None:
                yield from self._run(step, step.work.workflow, step.work, ("steps", index, "dispatch"))

    def then(self) -> Iterator[Finding]:
        """Yield findings about the workflow that comes next."""
        name, address, place = self.definition.name, self.definition.then, self.locate(("then",))
        if not address or placeholders.placeholders(address):
            return  # its value is known when the session ends
        target = self._get(address)
        if target is None:
            message = f"`{name}` continues with `{address}`, which does not exist"
            yield _found("FR151", message, self._hint(address), place)
        elif required := _required(target):
            message = f"`{name}` continues with `{address}`, which requires {phrases.listed(required)}"
            hint = "let its first step ask for the value, or add a default"
            yield _found("FR151", message, hint, place)

    def _run(self, step: StepDef, address: str, work: Dispatch, at: Path) -> Iterator[Finding]:
        def found(code: str, message: str, hint: str, *path: str) -> Finding:
            return _found(code, message, hint, self.locate((*at, *path)), step.id)

        target = self._get(address)
        if target is None:
            message = f"step `{step.id}` runs `{address}` in agents, but that workflow does not exist"
            yield found("FR143", message, self._hint(address), "workflow")
            return
        if isinstance(target, TrustError) or any(finding.code == "FR100" for finding in target.findings):
            return
        params, total = target.definition.params, target.definition.total_steps
        for name, value in work.vars.items():
            problem = _unfit(name, params.get(name), value)
            if problem:
                takes = f"it takes {phrases.listed(params) or 'none'}"
                hint = self.suggestions.did_you_mean(name, params, takes)
                hint = f"give it a {params[name].kind}" if name in params else hint
                message = f"step `{step.id}` runs `{address}` in agents, which {problem}"
                yield found("FR155", message, hint, "vars", name)
        if work.total_steps not in {None, total}:
            message = f"step `{step.id}` says that `{address}` has {work.total_steps} steps, not {total}"
            yield found("FR155", message, "remove `total_steps`", "total_steps")
        for name in _required(target):
            if name not in work.vars:
                message = f"`{address}` requires `{name}`, which step `{step.id}` does not set"
                yield found("FR155", message, f"add `{name}` to its `vars`", "vars")

    def _get(self, address: str) -> LoadedWorkflow | TrustError | None:
        """Return the workflow at *address*, the error of one that may not run, or `None` if it cannot be read."""
        file = self._file(address)
        try:
            return self.reader.read(file) if file is not None else None
        except TrustError as error:
            return error
        except DocumentError:
            return None

    def _find_file(self, address: str) -> WorkflowFile | None:
        if not WORKFLOW_NAME.match(address):
            return None
        if address.partition("/")[0] == self.skill.name and (own := find_file(self.skill.folder, address)):
            return own
        try:
            return workflow_file(address, find(address, self.reader.loader.roots))
        except FlowError:
            return None

    def _hint(self, address: str) -> str:
        """Return a hint for an unknown address."""
        siblings = [file.address for file in workflows(self.skill)]
        otherwise = f"this skill has {phrases.listed(siblings)}; `flow list` shows other skills"
        return self.suggestions.did_you_mean(address, siblings, otherwise)


def _required(target: LoadedWorkflow | TrustError) -> list[str]:
    """Return the parameters of a workflow that have no default, as far as they are known."""
    if isinstance(target, TrustError):
        return []
    return [name for name, arg in target.definition.params.items() if arg.required]


def _unfit(name: str, arg: Arg | None, value: object) -> str | None:
    """Return why *value* does not fit a parameter; `None` also if its placeholders have no value yet."""
    if arg is None:
        return f"takes no `{name}`"
    if isinstance(value, str) and placeholders.placeholders(value):
        return None
    problem = arg.problem(value)
    return None if problem is None else f"takes another `{name}`: it {problem}"


def _fences(file: WorkflowFile, loaded: LoadedWorkflow, problems: Problems) -> Iterator[Finding]:
    for index, step in enumerate(loaded.definition.steps):
        for text in texts_of(step, ("steps", index)):
            if text.key not in {"actions", "variants", "prompt"}:
                continue
            for line, name, problem in problems(text.value):
                place = loaded.locate(text.path)
                if place.file != file.path and not file.is_python:
                    # A file of its own. The text lacks the blank lines at its top.
                    written = loaded.files.get(place.file, b"")
                    above = written[: len(written) - len(written.lstrip())].count(b"\n")
                    place = Place(place.file, line + above)
                message = f"step `{step.id}` prints its fence `flow:{name}` as text: {problem}"
                yield _found("FR152", message, "fix it, or write it without `flow:`", place, step.id)


def _found(code: str, message: str, hint: str, place: Place, step: str | None = None) -> Finding:
    return UnplacedFinding(code, (), message, hint, step).at(place)
