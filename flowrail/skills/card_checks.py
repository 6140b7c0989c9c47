"""Check a SKILL.md against the open specification and its workflow, and find texts that no step uses.

An agent reads SKILL.md before anything runs. If it shows a command that the workflow does not accept, the agent's first
command fails.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator

from flowrail.discovery.frontmatter import read_frontmatter
from flowrail.discovery.specification import departures, handoff_issues
from flowrail.errors import DocumentError
from flowrail.machines.findings import Finding, Place, first
from flowrail.machines.loading.loaded_workflow import LoadedWorkflow
from flowrail.machines.loading.skill_folder import ENTRY_FILES, WorkflowFile, scripts
from flowrail.machines.step import WORKFLOW_NAME
from flowrail.machines.workflow import Workflow
from flowrail.skills.catalog import Skill, unread_workflows, workflows
from flowrail.skills.references import WorkflowInterface, WorkflowInterfaces
from flowrail.storage.files import read_bounded
from flowrail.text import limits
from flowrail.text.phrases import Suggestions, listed
from flowrail.text.phrases import near as near_names
from flowrail.text.placeholders import in_fences
from flowrail.text.safe_text import decode

CARD = "SKILL.md"
SKILLS_FOLDER = "skills"
"""The name of folders in which hosts look for skills, such as `.claude/skills`."""
_COMMAND = re.compile(r"[ \t$]*(flow (?:step|start) .*)")
_OPEN_VALUE = re.compile(r"…|\.\.\.|<|\$|[A-Z]{3,}")
"""A placeholder for a value in a SKILL.md; it is not checked."""


def findings(file: WorkflowFile, loaded: LoadedWorkflow, interfaces: WorkflowInterfaces) -> list[Finding]:
    """Return findings about the files around a workflow; SKILL.md is checked only for the entry workflow.

    If the workflow could not be read, texts and SKILL.md are not compared with it.
    """
    is_readable = bool(loaded.definition.steps)
    groups: list[Iterable[Finding]] = [_unused_texts(file, loaded, interfaces)] if is_readable else []
    if "/" in file.address:
        return [*first(groups)]
    groups.append(ignored_files(file))
    if not os.path.lexists(os.path.join(file.folder, CARD)):
        return [*first((*groups, _no_card(file)))]
    try:
        data = _read(file.folder)
        text = decode(data, source=CARD)
    except DocumentError as error:
        return [*first(groups), _unreadable(error)]
    groups += [_file_findings(file.folder, data)]
    if is_readable:
        groups.append(_commands(file, loaded.definition, text, interfaces))
    return [*first(groups)]


def _no_card(file: WorkflowFile) -> Iterator[Finding]:
    """Yield a finding if a skill in a location of hosts has no SKILL.md; elsewhere it needs none."""
    if os.path.basename(os.path.dirname(os.path.abspath(file.folder))) == SKILLS_FOLDER:
        message = f"{CARD} is missing, so agents cannot discover `{file.address}`"
        hint = f"write one with `name`, `description` and `{_beginning(file)}`"
        yield Finding("FR182", "warning", message, hint, Place(file.path, 1))


def _beginning(file: WorkflowFile) -> str:
    """Return the command that starts a workflow; a folder's name is only used if it is an address."""
    return f"flow step {file.address if WORKFLOW_NAME.match(file.address) else 'NAME'}"


def _file_findings(folder: str, data: bytes) -> Iterator[Finding]:
    front, name = read_frontmatter(data, CARD), os.path.basename(folder)
    for code, issues in (("FR168", departures(front, name)), ("FR183", handoff_issues(front, name))):
        for issue in issues:
            yield Finding(code, issue.severity, issue.reason, issue.hint, Place(CARD, issue.line or 1))


def of_card(path: str) -> list[Finding]:
    """Return findings about a skill without a workflow: its fields, its handoff block and a workflow that is not read."""
    unread = [
        Finding(
            "FR174", "warning", f"nothing reads `{name}`", "name it `workflow.yaml`, in YAML", Place(name, 1)
        )
        for name in unread_workflows(path)
    ]
    try:
        data = _read(path)
    except DocumentError as error:
        return [*unread, _unreadable(error)]
    return [*unread, *_file_findings(path, data)]


def _read(folder: str) -> bytes:
    return read_bounded(os.path.join(folder, CARD), limit=limits.TEXT_BYTES, what="it")


def _unreadable(error: DocumentError) -> Finding:
    place = Place.of(error.place) if error.place.startswith(CARD) else Place(CARD, 1)
    return Finding("FR168", "warning", f"SKILL.md cannot be read: {error.fact}", f"fix {CARD}", place)


def _commands(
    file: WorkflowFile, definition: Workflow, text: str, interfaces: WorkflowInterfaces
) -> Iterator[Finding]:
    own = {workflow.address: workflow for workflow in workflows(Skill(file.address, file.folder, "path"))}
    own.setdefault(file.address, file)
    lines = list(_shown_commands(text))
    guesses = Suggestions()
    starting = [words for _, words in lines if words[2] == file.address]
    if not starting:
        near = next((line for line, words in lines if near_names(words[2], [file.address])), 1)
        hint = f"add `{_beginning(file)}`"
        yield Finding(
            "FR169", "warning", f"SKILL.md never shows `{_beginning(file)}`", hint, Place(CARD, near)
        )
    elif not any(_complete(words, definition) for words in starting):
        required = listed(name for name, arg in definition.params.items() if arg.required)
        message = f"no command in SKILL.md sets {required}, which `{file.address}` requires"
        yield Finding("FR169", "warning", message, "add `-p NAME=VALUE` to a command", Place(CARD, 1))
    for line, words in lines:
        address = words[2]
        if address.partition("/")[0] == file.address and address not in own:
            hint = guesses.did_you_mean(address, own, f"it has {listed(own)}")
            yield Finding("FR169", "warning", f"unknown workflow `{address}`", hint, Place(CARD, line))
        elif address in own and (interface := interfaces.get_with_steps(own[address])) is not None:
            for message, hint in _param_problems(words, interface, guesses):
                yield Finding("FR169", "warning", message, hint, Place(CARD, line))


def _shown_commands(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each command that starts a workflow: its line and its words."""
    fenced = in_fences(text)
    for number, line in enumerate(text.split("\n")):
        for code in [line] if number in fenced else re.findall(r"`([^`]+)`", line):
            command = _COMMAND.match(code)
            try:
                words = shlex.split(command[1]) if command else []
            except ValueError:
                continue
            if len(words) > 2:  # noqa: PLR2004 - flow, the verb, the skill
                yield number + 1, words


def _params(words: list[str]) -> dict[str, str]:
    pairs = [words[at + 1] for at, word in enumerate(words[:-1]) if word in {"-p", "--param"}]
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


def _complete(words: list[str], definition: Workflow) -> bool:
    params = _params(words)
    return all(not arg.required or name in params for name, arg in definition.params.items())


def _param_problems(
    words: list[str], interface: WorkflowInterface, guesses: Suggestions
) -> Iterator[tuple[str, str]]:
    for name, value in _params(words).items():
        arg = interface.params.get(name)
        if arg is None:
            takes = f"it takes {listed(interface.params) or 'none'}"
            hint = guesses.did_you_mean(name, interface.params, takes)
            yield f"`{interface.address}` takes no parameter `{name}`", hint
        elif not _OPEN_VALUE.search(value):
            try:
                arg.read(value)
            except ValueError as error:
                yield f"the value of parameter `{name}` in SKILL.md {error}", "show a valid value"


def ignored_files(file: WorkflowFile) -> Iterator[Finding]:
    """Yield findings about files that look like workflows of the skill but are not read."""
    entries = [path for path in ENTRY_FILES if os.path.lexists(os.path.join(file.folder, path))]
    entries += [
        script.path for script in scripts(file.folder, file.address) if script.address == file.address
    ]
    for name in (*entries, *unread_workflows(file.folder)):
        if name != file.path:
            message = f"nothing reads `{name}`: `{file.path}` is the workflow"
            yield Finding("FR174", "warning", message, "keep one of them", Place(name, 1))
    try:
        names = sorted(os.listdir(os.path.join(file.folder, "workflows")))
    except OSError:
        return
    for name in names:
        if name.endswith((".yml", ".json", ".py")) and not name.startswith("_"):
            hint = f"name it `{name.rpartition('.')[0]}.yaml`, in YAML"
            message = f"nothing reads `workflows/{name}`"
            yield Finding("FR174", "warning", message, hint, Place(f"workflows/{name}", 1))


def _unused_texts(
    file: WorkflowFile, loaded: LoadedWorkflow, interfaces: WorkflowInterfaces
) -> Iterator[Finding]:
    """Yield findings about texts in the workflow's folder that no workflow of the skill uses."""
    if file.is_python:
        return
    folder = os.path.join(file.folder, *file.text_folder.split("/"))
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    paths = (f"{file.text_folder}/{name}" for name in names if name.endswith(".md"))
    unused = dict.fromkeys(path for path in paths if path not in loaded.files)
    for sibling in workflows(Skill(file.address.partition("/")[0], file.folder, "path")) if unused else ():
        if sibling.address != file.address and not sibling.is_python:
            interface = interfaces.get_with_steps(sibling)
            if interface is None:
                return
            unused = dict.fromkeys(path for path in unused if path not in interface.files)
    silent = {f"{file.text_folder}/{step.id}.md" for step in loaded.definition.steps if not step.actions}
    guesses = Suggestions()
    for path in unused:
        hint = guesses.did_you_mean(path, silent, "name it after its step, or delete it")
        yield Finding("FR171", "warning", "no step uses this text", hint, Place(path, 1))
