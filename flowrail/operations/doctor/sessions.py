"""The sessions and trust sections of `flow doctor`: the store, its sessions, and approved skills."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence

from flowrail import approval
from flowrail.command import Command, Hint
from flowrail.discovery.locations import Root
from flowrail.errors import DocumentError, FlowError
from flowrail.machines.sessions.store import ForeignSessionError, UnknownSessionError
from flowrail.operations.doctor.section import Section, SetupFinding, short
from flowrail.operations.environment import Environment
from flowrail.skills.bundled_copies import as_bundled
from flowrail.skills.catalog import OWN_SCOPES, Skill, listing, named_root, workflows
from flowrail.storage.ownership import Owner

_KINDS = ("open", "ended", "foreign", "broken")


def sessions(environment: Environment) -> Section:
    """Return where sessions are stored, how many have each status, and the findings about them."""
    findings = [
        *_unusable(environment.store_path, "sessions", "fix it, or name another folder with --store"),
        *_unusable(environment.state, "the user's own state", "fix it"),
        *_key(environment.state),
    ]
    counts: Counter[str] = Counter()
    if not findings:
        findings += _examined(environment, counts)
    location = (
        environment.database.shown if environment.database else short(environment.store_path, environment)
    )
    exists = environment.database is not None or os.path.isdir(environment.store_path)
    listed = ", ".join(f"{counts[kind]} {kind}" for kind in _KINDS)
    if not exists:
        listed = f"not found; `{Command('step', 'SKILL')}` creates it"
    facts = [f"{location}: {listed}", f"key and approvals: {short(environment.state, environment)}"]
    data = {"store": environment.store_path, "state": environment.state, "exists": exists}
    return Section("sessions", facts, findings, data | {kind: counts[kind] for kind in _KINDS})


def _examined(environment: Environment, counts: Counter[str]) -> Iterator[SetupFinding]:
    """Read every session, count it, and yield the findings about it."""
    store = environment.store
    try:
        ids = store.ids()
    except FlowError as error:
        yield SetupFinding("STORE_UNUSABLE", "error", error.message, str(error.hint), store.path)
        return
    for session_id in ids:
        try:
            session = store.read(session_id).session
            counts["open" if session.is_open else "ended"] += 1
        except UnknownSessionError:
            continue  # its start was interrupted
        except ForeignSessionError:
            counts["foreign"] += 1
            yield _foreign(session_id)
        except FlowError as error:
            counts["broken"] += 1
            yield SetupFinding("SESSION_BROKEN", "error", error.message, str(error.hint), session_id)


def _foreign(session_id: str) -> SetupFinding:
    return SetupFinding(
        "SESSION_FOREIGN",
        "warning",
        "you did not start it on this machine",
        str(Hint("to continue it, a person must run: ", Command("trust", session=session_id))),
        session_id,
    )


def _key(state: str) -> Iterator[SetupFinding]:
    if os.path.lexists(os.path.join(state, "key")):
        try:
            Owner(state).key()
        except DocumentError as error:
            yield SetupFinding("KEY_BROKEN", "error", error.fact, str(error.hint), error.place)


def _unusable(folder: str, subject: str, remedy: str) -> Iterator[SetupFinding]:
    """Yield a finding if *folder* cannot be created or written to."""
    path = folder
    while not os.path.lexists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    problem = ""
    try:
        status = os.lstat(path) if path == folder else os.stat(path)
        if not stat.S_ISDIR(status.st_mode):
            problem = "is not a folder"
        elif path == folder and status.st_uid != os.geteuid():
            problem = "belongs to another user"
        elif not os.access(path, os.W_OK | os.X_OK):
            problem = "cannot be written to"
    except OSError as error:
        problem = f"cannot be reached: {error.strerror}"
    if problem:
        yield SetupFinding("STORE_UNUSABLE", "error", f"{subject}: {path} {problem}", remedy, folder)


def approvals(roots: Sequence[Root], project: str, state: str) -> Section:
    """Return which skills of the project need approval, and which have it."""
    skills = [
        (skill, *_standing(skill, project, state)) for skill in listing(roots) if _needs_approval(skill)
    ]
    findings = [
        SetupFinding(
            "NOT_TRUSTED", "warning", f"`{skill.name}` {why}, so it does not run", remedy, skill.folder
        )
        for skill, standing, why, remedy in skills
        if standing != "approved"
    ]
    counts = Counter(standing for _, standing, _, _ in skills)
    listed = ", ".join(f"{many} {standing}" for standing, many in counts.items())
    facts = [f"skills of the project that need approval: {listed or 'none'}"]
    data = {
        "skills": [
            {"skill": skill.name, "path": skill.folder, "standing": standing}
            for skill, standing, _, _ in skills
        ]
    }
    return Section("trust", facts, findings, data)


def _needs_approval(skill: Skill) -> bool:
    if skill.source in OWN_SCOPES:
        return False
    hides_another = skill.hides_own and not as_bundled(skill)
    return hides_another or any(file.is_python for file in workflows(skill))


def _standing(skill: Skill, project: str, state: str) -> tuple[str, str, str]:
    """Return whether a skill is approved, as a word and as a clause, and the remedy if it is not."""
    ask = str(approval.how_to_approve(skill.name, named_root(skill)))
    approved = approval.approval_of(skill.folder, project, state)
    try:
        now = approval.snapshot(skill.folder)
    except FlowError as error:
        return "impossible", f"cannot be approved ({error.message})", str(error.hint)
    if approved is None:
        return "not approved", "is not approved", ask
    if not approved.covers(now):
        return "changed", "changed since it was approved", ask
    return "approved", "", ""
