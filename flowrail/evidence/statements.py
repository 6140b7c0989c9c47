"""In-toto statements about the steps of a session: their claims and their checks.

There is one statement for each step that the session left. A step that demanded evidence, from its own agent or from
those that it dispatched, has the predicate `test-result`, any other one `link`. The subjects are the record in the
journal and the files that checks looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flowrail.machines.definition.evidence import EvidenceResult
from flowrail.machines.definition.step import Outcome
from flowrail.machines.sessions.record import Record
from flowrail.machines.sessions.session import Dispatched, Move

STATEMENT = "https://in-toto.io/Statement/v1"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
LINK = "https://in-toto.io/attestation/link/v0.3"


def statements(records: Iterable[Record]) -> Iterator[dict[str, object]]:
    """Yield a statement for each move among the *records* of a session."""
    dispatches: tuple[Dispatched, ...] = ()
    for record in records:
        move = record.session.last if record.kind == "move" else None
        if move is not None:
            own = [result for result in move.evidence if result.is_demanded]
            yield _statement(record, move, [*own, *_of_agents(dispatches)])
        dispatches = record.session.dispatches


def _of_agents(dispatches: Iterable[Dispatched]) -> Iterator[EvidenceResult]:
    """Yield the results for which the work of agents was accepted, with the dispatch in the name of each check."""
    for dispatch in dispatches:
        if dispatch.evidence is not None and dispatch.outcome == Outcome.OK:
            for result in dispatch.evidence.results:
                yield result._replace(check=f"{dispatch.id} {result.check}")


def _statement(record: Record, move: Move, demanded: list[EvidenceResult]) -> dict[str, object]:
    session = record.session
    files = {
        path: digest for result in demanded for path, digest in result.files.items() if len(digest) == _SHA256
    }
    subject = [_resource(f"{session.id}/records/{record.seq}", record.hash)]
    subject += [_resource(path, digest) for path, digest in sorted(files.items())]
    predicate = _test_result(record, move, demanded) if demanded else _link(record, move)
    return {
        "_type": STATEMENT,
        "subject": subject,
        "predicateType": TEST_RESULT if demanded else LINK,
        "predicate": predicate,
    }


_SHA256 = 64


def _test_result(record: Record, move: Move, demanded: list[EvidenceResult]) -> dict[str, object]:
    waived = [result.check for result in demanded if result.waived]
    return {
        "result": "WARNED" if waived else "PASSED",
        "configuration": [_resource(record.session.skill, record.definition)],
        "passedTests": [result.check for result in demanded if not result.waived],
        "warnedTests": waived,
        "failedTests": [],
        "step": move.step,
        "outcome": move.outcome,
        "finishedOn": record.at,
        "checks": [_check(result) for result in demanded],
    }


def _check(result: EvidenceResult) -> dict[str, object]:
    fields = {
        "id": result.check,
        "kind": result.kind,
        "level": result.level,
        "verdict": result.verdict,
        "expected": result.expected,
        "found": result.found,
        "command": list(result.command),
        "exitStatus": result.exit_status,
        "event": result.event,
        "outputDigest": result.output_digest,
        "waived": result.waived,
        "reason": result.reason,
        "by": result.by,
    }
    return {
        name: value for name, value in fields.items() if value is not False and value not in ("", None, [])
    }


def _link(record: Record, move: Move) -> dict[str, object]:
    return {
        "name": move.step,
        "command": [],
        "materials": [_resource(record.session.skill, record.definition)],
        "byproducts": {"outcome": move.outcome, "to": move.to, "finishedOn": record.at},
        "environment": {"session": record.session.id},
    }


def _resource(name: str, digest: str) -> dict[str, object]:
    return {"name": name, "digest": {"sha256": digest}}
