"""Shell completion of skills, steps, outcomes and sessions. It runs no code of a skill and shows no errors.

A shell inserts completed words without quoting them, so only words of plain characters are offered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from flowrail.machines.outcome import DONE
from flowrail.operations.environment import Environment
from flowrail.operations.explanations import known_codes
from flowrail.skills.catalog import listing, workflows

Params = Mapping[str, Any]
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_/-]*\Z")
"""The names of skills, steps, outcomes and sessions that can be inserted unquoted."""


def complete(kind: str, params: Params, incomplete: str) -> list[str]:
    """Return the words that begin with *incomplete*, given the parameters before it."""
    try:
        return [word for word in _FINDERS[kind](params) if word.startswith(incomplete) and _WORD.match(word)]
    except Exception:  # noqa: BLE001 - a completion has no place for errors
        return []


def _environment(params: Params) -> Environment:
    return Environment(store=params.get("store"), roots=params.get("roots") or ())


def _skills(params: Params) -> Iterable[str]:
    return [file.address for skill in listing(_environment(params).roots) for file in workflows(skill)]


def _steps(params: Params) -> Iterable[str]:
    loader = _environment(params).loader
    _, file = loader.find(str(params.get("skill")))
    return [] if file.is_python else [step.id for step in loader.read(file).definition.steps]


def _sessions(params: Params) -> Iterable[str]:
    skill = params.get("skill")
    ids = _environment(params).store.ids()
    return [
        session_id
        for session_id in ids
        if not skill or session_id.startswith(f"{str(skill).replace('/', '-')}-")
    ]


def _outcomes(params: Params) -> Iterable[str]:
    """Return the outcomes that the only open session accepts now, or all outcomes.

    Uses the session's stored definition, so that no code of a skill runs.
    """
    store = _environment(params).store
    ids = [str(params["session"])] if params.get("session") else list(_open_sessions(params))
    session = store.read(ids[0]).session if len(ids) == 1 else None
    if session is None or store.definition(session).functions:
        return ["ok", "fail", "skip", "iterate", "done"]
    step = store.workflow(session).get(session.step)
    return [] if step is None else [DONE] if step.decides else map(str, step.transitions)


def _open_sessions(params: Params) -> Iterable[str]:
    store = _environment(params).store
    for session_id in _sessions(params):
        session = store.read(session_id).session
        if session.is_open and session.skill == params.get("skill"):
            yield session_id


def _codes(_params: Params) -> Iterable[str]:
    return known_codes()


_FINDERS: Mapping[str, Callable[[Params], Iterable[str]]] = {
    "skills": _skills,
    "steps": _steps,
    "sessions": _sessions,
    "outcomes": _outcomes,
    "codes": _codes,
}
