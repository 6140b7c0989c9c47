"""Approve what may run in a project, and accept foreign sessions. Only a person decides that."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from flowrail import approval
from flowrail.approval import Approval, FolderContent, Program
from flowrail.command import Command, Hint
from flowrail.discovery.declaration import read_declaration
from flowrail.discovery.frontmatter import read_frontmatter
from flowrail.discovery.scan import SKILL_FILE
from flowrail.errors import ONLY_A_PERSON, FlowError, TrustError, UsageError
from flowrail.operations.environment import Confirmation, Environment
from flowrail.operations.operation import Help, operation
from flowrail.operations.parameters import OptionalSkill
from flowrail.operations.sessions.accept import AcceptedSession, accept
from flowrail.skills.bundled_copies import runs_bundled_script
from flowrail.skills.catalog import (
    OWN_SCOPES,
    Skill,
    UnknownSkillError,
    find,
    listing,
    named_root,
    places,
    workflow_file,
    workflows,
)
from flowrail.skills.loader import Loader
from flowrail.text.report import Report
from flowrail.text.safe_text import one_line


@dataclass(frozen=True)
class TrustedSkill:
    """A skill that was approved for a project, or whose approval was removed."""

    skill: str
    """Its name."""
    folder: str
    """Its folder."""
    project: str
    """The project in which its code, commands and health check may run."""
    allowed: bool
    """Whether it may run now."""
    changed: bool
    """Whether the command changed that."""
    digest: str = ""
    """The digest of the approved content."""
    remove_command: Command | None = None
    """The command that removes the approval."""

    def report(self) -> Report:
        """Return what a person reads."""
        if self.allowed:
            until = "" if self.remove_command is None else f"; to remove the approval: {self.remove_command}"
            yield one_line(f"{self.skill} may now run in this project, until its content changes{until}")
        else:
            yield one_line(f"{self.skill} {'may no longer run' if self.changed else 'was not approved'}")


@operation("trust", "flow trust my-skill", "flow trust my-skill --edits", "flow trust --session other-k3x9q2")
def trust(
    environment: Environment,
    skill: OptionalSkill = None,
    *,
    edits: Annotated[bool, Help("Approve later edits by the owner of the folder, too.")] = False,
    remove: Annotated[bool, Help("Remove the approval.")] = False,
    session: Annotated[
        str | None,
        Help("Accept this session of another user or machine.", metavar="ID"),
    ] = None,
    digest: Annotated[
        str | None, Help("Approve without asking if the content has this digest.", metavar="HEX")
    ] = None,
) -> TrustedSkill | AcceptedSession:
    """Approve a skill to run, or accept a session

    Shows the files, the commands and their programs, marks what changed since the last approval, and asks at the
    terminal. Exactly this content may then run its code, its commands and its health check in this project. Any
    change needs a new approval, except with --edits. In CI, where no person can answer, --digest names the content
    that a person has looked at. With --session, accepts a session that another user or machine started.
    """
    if session is not None:
        if skill is not None or remove or edits:
            raise UsageError("--session accepts one session", hint="leave out the other arguments")
        return _accept(environment, session)
    if skill is None:
        raise UsageError(
            "the skill is missing", hint=Hint("see what waits for approval: ", Command("doctor"))
        )
    return _removed(environment, skill) if remove else _approved(environment, skill, digest, edits=edits)


def _approved(environment: Environment, name: str, digest: str | None, *, edits: bool) -> TrustedSkill:
    skill = _find(name, environment.loader)
    content = approval.snapshot(skill.folder)
    if digest is None:
        before = approval.approval_of(skill.folder, environment.project, environment.state)
        later = " Later edits by the owner of its folder are approved, too." if edits else ""
        environment.confirm(
            Confirmation(
                f"Allow skill {one_line(name)[:200]} to run as you in this project?{later}",
                [*_description(skill, content, before, environment)],
                approval.how_to_approve(name, named_root(skill)),
                content.digest,
            )
        )
    elif not environment.is_persons:
        raise TrustError(ONLY_A_PERSON, hint=approval.how_to_approve(name, named_root(skill)))
    elif digest != content.digest:
        raise TrustError(
            f"the digest is {content.digest}, not {digest[:80]}",
            hint="read what changed before you approve it",
            digest=content.digest,
        )
    project, state, at = environment.project, environment.state, environment.now
    approval.approve(content, project, state, at=at, edits=edits)  # so that Python can name its commands
    programs = _programs(skill, environment)
    approval.approve(content, project, state, at=at, programs=programs, edits=edits)
    return TrustedSkill(
        skill=name,
        folder=content.folder,
        project=project,
        allowed=True,
        changed=True,
        digest=content.digest,
        remove_command=Command("trust", name, remove=True, root=named_root(skill) or None),
    )


def _removed(environment: Environment, name: str) -> TrustedSkill:
    """Remove the approval of the nearest skill called *name*, which may have been deleted since."""
    project, state = environment.project, environment.state
    is_plain = name == os.path.basename(name) and name not in {"", os.curdir, os.pardir}
    folders = [os.path.join(root, name) for _, root in places(environment.roots)] if is_plain else []
    for folder in folders:
        if approval.revoke(folder, project, state):
            return TrustedSkill(name, folder, project, allowed=False, changed=True)
    return TrustedSkill(name, _find(name, environment.loader).folder, project, allowed=False, changed=False)


def _accept(environment: Environment, session_id: str) -> AcceptedSession:
    store = environment.store
    if store.is_foreign(session_id):
        records = list(store.records(session_id, foreign=True))
        first, last = records[0], records[-1]
        lines = [
            f"session {session_id}",
            f"  workflow {last.session.skill}, step {last.session.step or 'none'}, {last.session.status}",
            f"  started at {first.at} by {first.by}, {len(records)} records",
            *(f"  parameter {key}: {str(value)[:200]}" for key, value in last.session.params.items()),
            *(f"  fact {key}: {str(value)[:200]}" for key, value in last.session.state.items()),
        ]
        hint = Hint("a person runs: ", environment.command("trust", session=session_id))
        environment.confirm(Confirmation("Continue this session as yours?", lines, hint))
    return accept(environment, session_id)


def waiting_skills(environment: Environment) -> Iterator[tuple[str, str, Command]]:
    """Yield the skills that do not run before a person approves them: the name, the reason and the command for that."""
    loader = environment.loader
    for skill in listing(environment.roots):
        why = ""
        try:
            loader.allowed(skill, workflow_file(skill.name, skill))
            commands = _commands(skill, loader)
        except TrustError as error:
            why = error.message
        except FlowError:
            continue  # `flow check` shows its errors
        else:
            approved = approval.approval_of(skill.folder, environment.project, environment.state)
            if commands and (approved is None or not approved.covers(approval.snapshot(skill.folder))):
                why = f"declares commands: {', '.join(sorted({command[0] for command in commands.values()}))}"
        if why:
            yield skill.name, why, Command("trust", skill.name, root=named_root(skill) or None)


def _find(name: str, loader: Loader) -> Skill:
    """Return the skill called *name* whose folder can be approved.

    A project's skill without a workflow counts too, because its health check is a program. A workflow of that
    name comes first, unless it is the user's own and needs no approval.
    """
    skill = _without_workflow(name, loader)
    try:
        matching = find(name, loader.roots)
    except UnknownSkillError:
        if skill is None:
            raise
        return skill
    return skill if skill is not None and matching.source in OWN_SCOPES else matching


def _without_workflow(name: str, loader: Loader) -> Skill | None:
    """Return the nearest skill of a project that has a SKILL.md.

    A name that could pass for other text in the question to a person is refused.
    """
    if name != os.path.basename(name) or not approval.is_name(name):
        return None
    for source, root in places(loader.roots):
        folder = os.path.join(root, name)
        if source not in OWN_SCOPES and os.path.isfile(os.path.join(folder, SKILL_FILE)):
            return Skill(name, folder, source)
    return None


def _commands(skill: Skill, loader: Loader) -> dict[str, tuple[str, ...]]:
    """Return the commands of *skill* that need approval; `TrustError` if only its Python knows them.

    Scripts of a bundled skill, or of an unchanged copy, need none.
    """
    return {
        f"{file.address}, step {step.id}, {name}": tuple(command.run)
        for file in workflows(skill)
        for step in loader.read(file).definition.steps
        for name, command in step.commands.items()
        if not runs_bundled_script(command.run, skill.folder, skill.source)
    }


def _programs(skill: Skill, environment: Environment) -> dict[str, Program]:
    try:
        commands = [*_commands(skill, environment.loader).values()]
    except FlowError:
        commands = []  # it has an error; `flow check` shows it
    return approval.programs(commands, environment.project, environment.environ)


def _description(
    skill: Skill, now: FolderContent, approved: Approval | None, environment: Environment
) -> Iterator[str]:
    """Yield lines about a folder: its files, what changed since it was *approved*, and what would run."""
    yield f"folder {now.folder}"
    yield f"project {environment.project}"
    yield f"digest {now.digest}"
    before = approved.files if approved else None
    for path, mark in now.files.items():
        remarks = [f"{len(now.contents[path])} bytes"]
        if mark.startswith("x"):
            remarks.append("executable")
        if before is not None and before.get(path) != mark:
            remarks.append("changed" if path in before else "new")
        yield f"  {path} ({', '.join(remarks)})"
    for path in sorted((before or {}).keys() - now.files.keys()):
        yield f"  {path} (deleted)"
    if approved:
        same = approved.digest == now.digest
        yield f"approved at {approved.at}{'' if same else '; the files marked above have changed since'}"
    yield from _runs(skill, now, environment)


def _runs(skill: Skill, now: FolderContent, environment: Environment) -> Iterator[str]:
    """Yield lines about the code, the commands and the health check of a skill."""
    python = [file.path for file in workflows(skill) if file.is_python]
    for path in python:
        yield f"runs {path} each time a step is shown or reported"
    try:
        for about, command in _commands(skill, environment.loader).items():
            yield f"may run, for {about}: {shlex.join(command)}"
        for word, program in _programs(skill, environment).items():
            yield f"  {word} is {program.path or 'not found'}"
    except FlowError:
        yield f"may run the commands that {', '.join(python) or 'it'} declares"
    front = read_frontmatter(now.contents.get(SKILL_FILE, b""), SKILL_FILE)
    if check := read_declaration(front).values.get("health_check"):
        yield f"runs, if a health check is requested: {check}"
