"""The results of a session that has ended: result files and sent handoffs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from stat import S_ISREG

from flowrail.command import Command
from flowrail.handoff.handoff import ACKNOWLEDGMENT, INVOCATION
from flowrail.handoff.store import Handoffs, missing_parts, payload_path
from flowrail.machines.guidance.views import SentWork
from flowrail.machines.session import Session, WorkingFile
from flowrail.operations.environment import Environment
from flowrail.operations.running import session_files

MOST_FILES = 5
"""At most this many result files are named."""


def result_files(environment: Environment, session: Session) -> tuple[WorkingFile, ...]:
    """Return the files that the session's facts name, the pages in its folder, and the folder if that holds more.

    A page is a Markdown file at the top of the folder, such as a plan. The page that was changed last comes first. Scratch
    files are not named.
    """
    project = session_files.project_of(environment, session)
    now = datetime.fromisoformat(environment.now).timestamp()
    named = [_file(path, project, now) for path in _paths(session)]
    working_files = session_files.listed(environment, session)
    pages = [
        file
        for file in working_files
        if file.path.endswith(".md") and os.path.dirname(file.path) == session.work_folder
    ]
    pages.sort(key=lambda file: file.seconds)
    by_path = {file.path: file for file in (*named, *pages) if file is not None}
    results = [*by_path.values()][:MOST_FILES]
    others = [file for file in working_files if file not in results]
    if others:
        size = sum(file.bytes for file in others)
        results.append(replace(others[0], path=f"{session.work_folder}/", bytes=size))
    return tuple(results)


def sent_work(environment: Environment, session: Session) -> tuple[SentWork, ...]:
    """Return the handoffs that the session has sent, with the command that receives each.

    One whose payload or target is gone is not among them.
    """
    handoffs = Handoffs(environment.store).all()
    return tuple(
        SentWork(
            handoff.target,
            handoff.phase == ACKNOWLEDGMENT,
            Command(
                "handoff receive",
                payload_path(environment.store, handoff),
                sha256=handoff.sha256,
                root=handoff.root or None,
                store=environment.shown_store,
            ),
        )
        for handoff in handoffs
        if handoff.session == session.id
        and handoff.phase in {INVOCATION, ACKNOWLEDGMENT}
        and not missing_parts(environment.store, handoff)
    )


def _paths(session: Session) -> Iterator[str]:
    """Yield the texts among the session's facts, which can be paths."""
    for value in session.state.values():
        yield from (
            item for item in (value if isinstance(value, tuple) else (value,)) if isinstance(item, str)
        )


def _file(path: str, project: str, now: float) -> WorkingFile | None:
    """Return a file inside the project by its path, or `None`."""
    relative = os.path.relpath(os.path.join(project, path), project)
    try:
        status = os.lstat(os.path.join(project, relative))
    except (OSError, ValueError):
        return None
    if relative.startswith(os.pardir) or not S_ISREG(status.st_mode):
        return None
    return session_files.described(relative, status, now)
