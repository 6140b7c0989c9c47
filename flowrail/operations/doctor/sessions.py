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
from flowrail.machines.sessions.store import ForeignSessionError, Store, UnknownSessionError
from flowrail.operations.doctor.section import Section, SetupFinding, short
from flowrail.operations.environment import Environment
from flowrail.skills.bundled_copies import as_bundled
from flowrail.skills.catalog import OWN_SCOPES, Skill, listing, named_root, workflows
from flowrail.storage.ownership import Owner

_KINDS = ("open", "ended", "foreign", "broken")


class _ReadOnlyOwner(Owner):
    """This user. No key is created; without one the key is empty."""

    def key(self) -> bytes:
        try:
            return super().key() if os.path.lexists(os.path.join(self.folder, "key")) else b""
        except FlowError:
            return b""


def sessions(here: Environment) -> Section:
    """Return where sessions are stored, how many have each status, and what is wrong with them."""
    findings = [
        *_unusable(here.store_path, "sessions", "fix it, or name another folder with --store"),
        *_unusable(here.state, "the user's own state", "fix it"),
        *_key(here.state),
    ]
    store = Store(here.store_path, _ReadOnlyOwner(here.state))
    counts: Counter[str] = Counter()
    for session_id in _ids(store, findings):
        try:
            kept = store.read(session_id)
        except UnknownSessionError:
            continue  # its start was interrupted
        except ForeignSessionError:
            counts["foreign"] += 1
            findings.append(_foreign(session_id))
            continue
        except FlowError as error:
            counts["broken"] += 1
            findings.append(
                SetupFinding("SESSION_BROKEN", "error", error.message, str(error.hint), session_id)
            )
            continue
        counts["open" if kept.session.is_open else "ended"] += 1
    exists = os.path.isdir(here.store_path)
    listed = ", ".join(f"{counts[kind]} {kind}" for kind in _KINDS)
    if not exists:
        listed = f"not found; `{Command('start', 'SKILL')}` creates it"
    facts = [f"{short(here.store_path, here)}: {listed}", f"key and approvals: {short(here.state, here)}"]
    data = {"store": here.store_path, "state": here.state, "exists": exists}
    return Section("sessions", facts, findings, data | {kind: counts[kind] for kind in _KINDS})


def _ids(store: Store, findings: list[SetupFinding]) -> list[str]:
    """Return the ids of all sessions; add a finding if the store cannot be read and no finding says so yet."""
    try:
        return store.ids()
    except FlowError as error:
        if not any(finding.place == store.path for finding in findings):
            findings.append(
                SetupFinding("STORE_UNUSABLE", "error", error.message, str(error.hint), store.path)
            )
        return []


def _foreign(session_id: str) -> SetupFinding:
    return SetupFinding(
        "SESSION_FOREIGN",
        "warning",
        "you did not start it on this machine",
        str(Hint("to continue it, a person must run: ", Command("session adopt", session_id))),
        session_id,
    )


def _key(state: str) -> Iterator[SetupFinding]:
    if os.path.lexists(os.path.join(state, "key")):
        try:
            Owner(state).key()
        except DocumentError as error:
            yield SetupFinding("KEY_BROKEN", "error", error.fact, str(error.hint), error.place)


def _unusable(folder: str, what: str, remedy: str) -> Iterator[SetupFinding]:
    """Yield a finding if *folder* cannot be created or written to."""
    place = folder
    while not os.path.lexists(place) and os.path.dirname(place) != place:
        place = os.path.dirname(place)
    problem = ""
    try:
        about = os.lstat(place) if place == folder else os.stat(place)
        if not stat.S_ISDIR(about.st_mode):
            problem = "is not a folder"
        elif place == folder and about.st_uid != os.geteuid():
            problem = "belongs to another user"
        elif not os.access(place, os.W_OK | os.X_OK):
            problem = "cannot be written to"
    except OSError as error:
        problem = f"cannot be reached: {error.strerror}"
    if problem:
        yield SetupFinding("STORE_UNUSABLE", "error", f"{what}: {place} {problem}", remedy, folder)


def approvals(roots: Sequence[Root], state: str) -> Section:
    """Return which skills of the project need approval, and which have it."""
    skills = [(found, *_standing(found, state)) for found in listing(roots) if _needs_approval(found)]
    findings = [
        SetupFinding(
            "NOT_TRUSTED", "warning", f"`{found.name}` {why}, so it does not run", remedy, found.folder
        )
        for found, standing, why, remedy in skills
        if standing != "approved"
    ]
    counts = Counter(standing for _, standing, _, _ in skills)
    listed = ", ".join(f"{many} {standing}" for standing, many in counts.items())
    facts = [f"skills of the project that need approval: {listed or 'none'}"]
    data = {
        "skills": [
            {"skill": found.name, "path": found.folder, "standing": standing}
            for found, standing, _, _ in skills
        ]
    }
    return Section("trust", facts, findings, data)


def _needs_approval(found: Skill) -> bool:
    if found.source in OWN_SCOPES:
        return False
    hides_another = found.hides_own and not as_bundled(found)
    return hides_another or any(file.is_python for file in workflows(found))


def _standing(found: Skill, state: str) -> tuple[str, str, str]:
    """Return whether a skill is approved, in a word and as a clause, and what to do about it."""
    ask = str(approval.how_to_approve(found.name, named_root(found)))
    approved = approval.approval_of(found.folder, state)
    try:
        now = approval.snapshot(found.folder).digest
    except FlowError as error:
        return "impossible", f"cannot be approved ({error.message})", str(error.hint)
    if approved is None:
        return "not approved", "is not approved", ask
    if approved.digest != now:
        return "changed", "changed since it was approved", ask
    return "approved", "", ""
