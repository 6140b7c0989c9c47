"""The sessions of a project and the leave that its skills have, as an examination sees them."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from flowrail import approval
from flowrail.discovery.locations import Root
from flowrail.errors import DocumentError, FlowError
from flowrail.machines.definition.findings import Finding
from flowrail.machines.sessions.store import ForeignSessionError, Store, UnknownSessionError
from flowrail.operations.doctor.section import DoctorContext, Section
from flowrail.skills.bundled_copies import as_bundled
from flowrail.skills.catalog import OWN_SCOPES, Skill, listing, named_root, workflows
from flowrail.storage.ownership import Owner

if TYPE_CHECKING:
    from flowrail.machines.sessions.store import Store

_KINDS = ("open", "ended", "foreign", "broken")


class _Looking(Owner):
    """This user, for whom no key is made only because somebody looked; empty where there is none."""

    def key(self) -> bytes:
        try:
            return super().key() if os.path.lexists(os.path.join(self.folder, "key")) else b""
        except FlowError:
            return b""


def sessions(world: DoctorContext) -> Section:
    """Return where sessions are kept, how many stand how, and what is wrong with them."""
    findings = [
        *_unusable(world.store, "sessions", "mend that, or name another place with --store"),
        *_unusable(world.state, "the user's own state", "mend that"),
        *_key(world.state),
    ]
    store = Store(world.store, _Looking(world.state))
    counts: Counter[str] = Counter()
    for session_id in _ids(store, findings):
        try:
            kept = store.read(session_id)
        except UnknownSessionError:
            continue  # its start was interrupted: it never began
        except ForeignSessionError:
            counts["foreign"] += 1
            findings.append(_foreign(session_id))
            continue
        except FlowError as error:
            counts["broken"] += 1
            findings.append(Finding("SESSION_BROKEN", "error", error.message, str(error.hint), session_id))
            continue
        counts["open" if kept.session.is_open else "ended"] += 1
    exists = os.path.isdir(world.store)
    told = ", ".join(f"{counts[kind]} {kind}" for kind in _KINDS)
    facts = [
        f"{world.store}: {told if exists else 'none yet; the first `flow start` makes it'}",
        f"keys and trust: {world.state}",
    ]
    data = {"store": world.store, "state": world.state, "exists": exists}
    return Section("sessions", facts, findings, data | {kind: counts[kind] for kind in _KINDS})


def _ids(store: Store, findings: list[Finding]) -> list[str]:
    """Return the ids of all sessions; add to *findings* what is in the way, unless that is told already."""
    try:
        return store.ids()
    except FlowError as error:
        if not any(each.place == store.path for each in findings):
            findings.append(Finding("STORE_UNUSABLE", "error", error.message, str(error.hint), store.path))
        return []


def _foreign(session_id: str) -> Finding:
    return Finding(
        "SESSION_FOREIGN",
        "warning",
        "it was not started by you on this machine",
        f"to continue it, a person runs: flow session adopt {session_id}",
        session_id,
    )


def _key(state: str) -> Iterator[Finding]:
    if os.path.lexists(os.path.join(state, "key")):
        try:
            Owner(state).key()
        except DocumentError as error:
            yield Finding("KEY_BROKEN", "error", error.fact, str(error.hint), error.place)


def _unusable(folder: str, what: str, remedy: str) -> Iterator[Finding]:
    """Yield what would keep us from writing into *folder*, or from making it."""
    place = folder
    while not os.path.lexists(place) and os.path.dirname(place) != place:
        place = os.path.dirname(place)
    try:
        about = os.lstat(place) if place == folder else os.stat(place)
    except OSError as error:
        problem = f"cannot be reached: {error.strerror}"
    else:
        problem = _problem(place, about, own=place == folder)
    if problem:
        yield Finding("STORE_UNUSABLE", "error", f"{what}: {place} {problem}", remedy, folder)


def _problem(place: str, about: os.stat_result, *, own: bool) -> str:
    if not stat.S_ISDIR(about.st_mode):
        return "is no folder"
    if own and about.st_uid != os.geteuid():
        return "belongs to another user"
    return "" if os.access(place, os.W_OK | os.X_OK) else "cannot be written to"


def leave(roots: Sequence[Root], state: str) -> Section:
    """Return which skills of the project need a person's leave to run, and which have it."""
    skills = [(found, *_standing(found, state)) for found in listing(roots) if _needs_leave(found)]
    findings = [
        Finding("NOT_TRUSTED", "warning", f"`{found.name}` {why}, so it does not run", remedy, found.folder)
        for found, standing, why, remedy in skills
        if standing != "allowed"
    ]
    counts = Counter(standing for _, standing, _, _ in skills)
    told = ", ".join(f"{many} {standing}" for standing, many in counts.items())
    facts = [f"skills of the project that run only if a person allowed it: {told or 'none'}"]
    data = {
        "skills": [
            {"skill": found.name, "path": found.folder, "standing": standing}
            for found, standing, _, _ in skills
        ]
    }
    return Section("trust", facts, findings, data)


def _needs_leave(found: Skill) -> bool:
    if found.source in OWN_SCOPES:
        return False
    stands_in_front = found.hides_own and not as_bundled(found)
    return stands_in_front or any(file.is_python for file in workflows(found))


def _standing(found: Skill, state: str) -> tuple[str, str, str]:
    """Return how a skill stands, in a word and in a sentence, and what to do about it."""
    ask = str(approval.how_to_approve(found.name, named_root(found)))
    allowed = approval.approval_of(found.folder, state)
    try:
        now = approval.snapshot(found.folder, keep=False).digest
    except FlowError as error:
        return "impossible", f"cannot be allowed ({error.message})", str(error.hint)
    if allowed is None:
        return "not allowed", "was not allowed by anybody", ask
    if allowed.digest != now:
        return "changed", "changed since it was approved", ask
    return "allowed", "", ""
