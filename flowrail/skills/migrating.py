"""A session taken over to the workflow as it is now: shown first, done when it is plain what is meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from flowrail.errors import ChangedError, FlowError
from flowrail.machines.definition import Definition
from flowrail.machines.migration import Plan, migrated, note_of, plan
from flowrail.machines.plain import from_plain
from flowrail.machines.wording import listed
from flowrail.skills.opening import as_it_is
from flowrail.skills.runs import Answer, World, answer_of

MOST_SHOWN = 10


class Migration(NamedTuple):
    """What was found and, unless it was only asked for, what to tell of the session afterwards."""

    plan: Plan
    answer: Answer | None


def migrate(
    world: World,
    session_id: str,
    *,
    names: Mapping[str, str] | None = None,
    accept: bool = False,
    only_plan: bool = False,
) -> Migration:
    """Migrate a session, or only say what that would do.

    *names* says what steps are called now. *accept* agrees to names that were guessed, and to ways on
    that became others under the session.
    """
    with world.store.change(session_id, wait=world.wait) as change:
        session = change.kept.session
        kept = world.store.definition(session_id)
        opened = as_it_is(session, kept, world.roots, world.state)
        decided = plan(session, _old(kept), opened.workflow, given=names)
        if only_plan:
            return Migration(decided, None)
        missing = [need for need in decided.needs if need != "accept" or not accept]
        if missing:
            raise _refused(decided, missing)
        now = world.now()
        after = migrated(decided, session, opened.workflow, now)
        world.store.keep_definition(session_id, opened.kept)
        stays = change.kept
        if after != session:
            note = note_of(decided, session, after)
            stays = change.commit(after, kind="migrate", at=now, by=world.by, note=note)
    return Migration(decided, answer_of(world, stays, opened))


def _old(kept: Mapping[str, object]) -> Definition | None:
    try:
        return from_plain(dict(kept["workflow"]))  # type: ignore[call-overload]
    except (KeyError, TypeError, ValueError, AttributeError, FlowError):
        return None


def _refused(decided: Plan, missing: list[str]) -> ChangedError:
    step = decided.at
    if "map" in missing:
        what = f"step `{step}`, where session `{decided.session}` stands, is gone from the workflow"
        hint = f"say which step it is now: flow migrate {decided.session} --map {step}=STEP"
    elif "accept" in missing:
        guessed = f"; {listed(decided.guessed)} look renamed" if decided.guessed else ""
        what = f"the workflow changed under session `{decided.session}`: {decided.verdict}{guessed}"
        hint = f"see it with --plan, then: flow migrate {decided.session} --accept"
    else:
        what = f"the parameters no longer fit: {'; '.join(decided.problems[:MOST_SHOWN])}"
        hint = f"begin anew: flow start {decided.skill}"
    return ChangedError(what, hint=hint, session=decided.session, needs=missing)
