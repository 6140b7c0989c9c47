"""The sessions that count for a workflow's coverage, and a picture with a count on every transition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from flowrail.diagrams.extract import picture
from flowrail.diagrams.model import Picture
from flowrail.errors import FlowError
from flowrail.machines.session_record import Record
from flowrail.machines.session_store import Store, UnknownSessionError
from flowrail.machines.walks.coverage import Coverage
from flowrail.machines.workflow import Workflow
from flowrail.storage.record_store import is_id_of


def histories(store: Store, address: str) -> Iterator[list[Record]]:
    """Yield the records of every session of *address*; an empty list for a session that cannot be read."""
    for session_id in store.ids():
        if not is_id_of(session_id, address):
            continue
        try:
            records = list(store.records(session_id))
        except UnknownSessionError:
            continue  # its start was interrupted
        except FlowError:
            records = []
        if not records or records[0].session.skill == address:
            yield records


def drawn(workflow: Workflow, covered: Coverage) -> Picture:
    """Return the picture of *workflow* with how often each transition was taken."""
    plain = picture(workflow)
    arrows = tuple(
        replace(arrow, taken=sum(covered.counts.get((arrow.source, outcome), 0) for outcome in arrow.every))
        if arrow.every
        else replace(arrow, taken=1 if covered.taken else None)
        for arrow in plain.arrows
    )
    return replace(plain, arrows=arrows)
