"""What a workflow refers to beside itself: workflows that its agents run, the one that comes then, blocks."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

from flowrail.discovery.locations import Root
from flowrail.errors import DocumentError, FlowError
from flowrail.machines.definition.findings import Finding, Path, first
from flowrail.machines.definition.step import WORKFLOW_NAME, Delegation, StepDef
from flowrail.machines.definition.validation import origin_of
from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.loading import skill_folder
from flowrail.machines.loading.skill_folder import Loaded, WorkflowFile
from flowrail.skills.beside import Beside, Shelf
from flowrail.skills.catalog import find, workflow_file
from flowrail.storage.files import read_bounded
from flowrail.text import phrases, placeholders, suggestions
from flowrail.text.safe_text import decode

MOST_TRIED = 50
"""So many addresses that one `then` may come to are looked up."""
_WHOLE = re.compile(r"\$([a-z][a-z0-9_]*)\Z")


Problems = Callable[[str], Iterable[tuple[int, str, str]]]
"""Returns line, name and message of each fence that stays text; the formatters know, this room does not."""


def findings(
    file: WorkflowFile, loaded: Loaded, roots: Sequence[Root], shelf: Shelf, problems: Problems | None = None
) -> list[Finding]:
    """Return what is wrong with everything that the workflow in *file* refers to."""
    look = _Look(file, roots, shelf)
    fences = (each for step in loaded.definition.steps for each in _fences(step, file, problems or _none))
    return [*first([_works(loaded, look), _then(loaded, look), fences])]


def _none(_text: str) -> tuple[tuple[int, str, str], ...]:
    return ()


class _Look:
    """Looks up workflows: those of the same folder there, any other among the skills in sight."""

    def __init__(self, file: WorkflowFile, roots: Sequence[Root], shelf: Shelf) -> None:
        self.own = file.address.partition("/")[0]
        self.folder = file.folder
        self.roots = roots
        self.shelf = shelf
        self.known: dict[str, WorkflowFile | None] = {}
        self.beside = shelf.files(self.own, self.folder)
        self.guesses = suggestions.Suggestions()

    def get(self, address: str) -> Beside | None:
        """Return the workflow at *address*, or `None` where there is none to be read."""
        if address not in self.known:
            self.known[address] = self._file(address)
        file = self.known[address]
        return self.shelf.get(file) if file is not None else None

    def near(self, address: str) -> str:
        """Return a hint for an address at which nothing stands."""
        otherwise = f"there is {phrases.listed(self.beside)}; `flow list` shows more"
        return self.guesses.did_you_mean(address, self.beside, otherwise)

    def _file(self, address: str) -> WorkflowFile | None:
        if not WORKFLOW_NAME.match(address):
            return None
        try:
            return self.beside.get(address) or workflow_file(address, find(address, self.roots))
        except (FlowError, DocumentError):
            return None


def _works(loaded: Loaded, look: _Look) -> Iterator[Finding]:
    declared = _declared(loaded.definition)
    for index, step in enumerate(loaded.definition.steps):
        if step.work is not None:
            yield from _work(index, step, step.work, loaded, look, declared)


def _work(
    index: int, step: StepDef, work: Delegation, loaded: Loaded, look: _Look, declared: Mapping[str, Arg]
) -> Iterator[Finding]:
    if work.run is None:
        return
    at: Path = ("steps", index, "dispatch")
    locate = loaded.locate or origin_of(loaded.definition)
    target = look.get(work.run)
    if target is None:
        what = f"step `{step.id}` lets agents run `{work.run}`, which is not there"
        yield Finding("FR143", "error", what, look.near(work.run), locate((*at, "run")), step.id)
        return
    if not target.is_known:
        return
    takes = target.params
    for name, value in work.vars.items():
        problem = _unfit(name, takes.get(name), value, declared)
        if problem:
            hint = look.guesses.did_you_mean(name, takes, target.takes)
            hint = f"give it a {takes[name].kind}" if name in takes else hint
            what = f"`{work.run}`, which step `{step.id}` gives to agents, {problem}"
            yield Finding("FR155", "error", what, hint, locate((*at, "vars", name)), step.id)
    for name in target.required:
        if name not in work.vars:
            what = f"`{work.run}` needs `{name}`, which step `{step.id}` does not give"
            hint = f"add `{name}` to its `vars`"
            yield Finding("FR155", "error", what, hint, locate((*at, "vars")), step.id)


def _unfit(name: str, arg: Arg | None, value: Any, declared: Mapping[str, Arg]) -> str | None:
    """Say what keeps *value* from being given for a parameter, as far as that can be known."""
    if arg is None:
        return f"takes no `{name}`"
    whole = _WHOLE.match(value) if isinstance(value, str) else None
    if whole:
        given = declared.get(whole.group(1))
        fits = given is None or given.kind == arg.kind or (given.kind, arg.kind) == ("integer", "number")
        return None if fits or given is None else f"takes a {arg.kind} for `{name}`, not a {given.kind}"
    if isinstance(value, str) and placeholders.placeholders(value):
        return None if arg.kind == "string" else f"takes a {arg.kind} for `{name}`, not a text"
    problem = arg.problem(value)
    return None if problem is None else f"takes another `{name}`: it {problem}"


def _then(loaded: Loaded, look: _Look) -> Iterator[Finding]:
    definition = loaded.definition
    if not definition.then:
        return
    place = (loaded.locate or origin_of(definition))(("then",))
    for address in islice(_addresses(definition.then, definition), MOST_TRIED):
        target = look.get(address)
        if target is None:
            what = f"`{address}` comes after `{definition.name}`, and is not there"
            yield Finding("FR151", "error", what, look.near(address), place)
            continue
        if target.required:
            what = f"`{address}` comes after `{definition.name}` and needs {phrases.listed(target.required)}"
            hint = "let its first step ask for it, or give it a default"
            yield Finding("FR151", "error", what, hint, place)


def _addresses(then: str, definition: Workflow) -> Iterator[str]:
    """Yield what *then* may come to; nothing where that cannot be known."""
    names = sorted(placeholders.placeholders(then))
    known = _declared(definition)
    choices = [known[name].choices or () if name in known else () for name in names]
    for values in product(*choices):
        yield placeholders.fill(then, dict(zip(names, values, strict=True)))


def _declared(definition: Workflow) -> dict[str, Arg]:
    reported = {name: arg for step in definition.steps for name, arg in step.reports.items()}
    return {**definition.params, **reported}


def _fences(step: StepDef, file: WorkflowFile, problems: Problems) -> Iterator[Finding]:
    texts = [] if callable(step.actions) else [str(each) for each in step.actions]
    texts += [text for variant in step.variants for text in variant.actions]
    texts += list(step.work.prompt) if step.work is not None else []
    own: tuple[str, str] | None = None
    for text in dict.fromkeys(texts):
        wrong = [*problems(text)]
        own = own or (_own_text(step, file) if wrong else None)
        place = _place(text, *own) if own else None
        for line, name, message in wrong:
            what = f"the fence `flow:{name}` of step `{step.id}` stays text: {message}"
            hint = "mend it, or write it without `flow:`"
            at = f"{place[0]}:{line + place[1]}" if place else step.origin or file.address
            yield Finding("FR152", "error", what, hint, at, step.id)


def _own_text(step: StepDef, file: WorkflowFile) -> tuple[str, str]:
    """Return the name of the file that a step has for its text, and what is written in it."""
    name = f"{file.text_folder}/{step.id}.md"
    try:
        path = os.path.join(file.folder, name)
        return name, decode(read_bounded(path, limit=skill_folder.LARGEST_TEXT, what="the text"), source=name)
    except DocumentError:
        return name, ""


def _place(text: str, name: str, written: str) -> tuple[str, int] | None:
    """Return the file that *text* came from and the lines before it there, `None` where it stands elsewhere."""
    return (name, len(written) - len(written.lstrip("\n"))) if written.strip("\n") == text else None
