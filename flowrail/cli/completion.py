"""Shell completion of skills, steps, outcomes and sessions. Nothing is run, no error is shown.

A shell puts a word into the line as it stands, unquoted, and may look for commands and file names in it: no
word is offered that is none of ours to name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from flowrail.operations.environment import Environment
from flowrail.skills.catalog import listing
from flowrail.skills.summary import addresses, definition_of

Params = Mapping[str, Any]
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_/-]*\Z")
"""What the names of skills, steps, outcomes and sessions that can be used are made of."""


def complete(kind: str, params: Params, incomplete: str) -> list[str]:
    """Return what *incomplete* may become, given what stands on the command line before it."""
    try:
        return [word for word in _FINDERS[kind](params) if word.startswith(incomplete) and _WORD.match(word)]
    except Exception:  # noqa: BLE001 - whoever presses a key wants words or nothing
        return []


def _here(params: Params) -> Environment:
    return Environment(store=params.get("store"), roots=params.get("roots") or ())


def _skills(params: Params) -> Iterable[str]:

    return [address for found in listing(_here(params).roots) for address in addresses(found)]


def _steps(params: Params) -> Iterable[str]:

    definition, _ = definition_of(str(params.get("skill")), _here(params).roots)
    return [step.id for step in definition.steps]


def _sessions(params: Params) -> Iterable[str]:
    skill = params.get("skill")
    ids = _here(params).store.ids()
    return [each for each in ids if not skill or each.startswith(f"{str(skill).replace('/', '-')}-")]


def _outcomes(params: Params) -> Iterable[str]:
    """Return what is open now in the one open session, or every outcome.

    Judged from what the session keeps of its workflow, so that no skill's code is run.
    """
    # brings the engine, which completing names of skills and steps does without
    from flowrail.machines.definition.serialization import from_plain
    from flowrail.machines.guidance.guide import guide

    store = _here(params).store
    ids = [str(params["session_id"])] if params.get("session_id") else list(_open_ones(params))
    kept: dict[str, Any] = store.definition(ids[0]) if len(ids) == 1 else {"functions": True}
    if kept["functions"]:
        return ["ok", "fail", "skip", "iterate", "done"]
    told = guide(from_plain(kept["workflow"]), store.read(ids[0]).session)
    return dict.fromkeys(way.outcome for way in told.next)


def _open_ones(params: Params) -> Iterable[str]:
    store = _here(params).store
    for session_id in _sessions(params):
        session = store.read(session_id).session
        if session.is_open and session.skill == params.get("skill"):
            yield session_id


_FINDERS: Mapping[str, Callable[[Params], Iterable[str]]] = {
    "skills": _skills,
    "steps": _steps,
    "sessions": _sessions,
    "outcomes": _outcomes,
}
