"""The history of a session, record by record, and its migration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from flowrail.formatters.guidance.content import plain
from flowrail.formatters.reports.evidence import result_data
from flowrail.hosts.conversation import short_id
from flowrail.machines.definition.diff import IDENTICAL
from flowrail.machines.definition.evidence import EvidenceResult, tally
from flowrail.machines.engine.migration import MigrationPlan
from flowrail.machines.sessions.record import Record
from flowrail.machines.sessions.session import FOUND, REMEMBER
from flowrail.text.phrases import duration, seconds_between
from flowrail.text.report import Moment, Part, Report, Span, Style, Table, columns
from flowrail.text.safe_text import LONGEST_LINE, one_line, shortened


def items(records: Iterable[Record], *, in_full: bool = True) -> Iterator[dict[str, Any]]:
    """Yield one item per record: the reported step and outcome, the next step, the duration.

    Unless *in_full*, facts are cut to what one line can show.
    """
    since = ""
    for stored in records:
        record = stored.shown
        move = record.session.last if record.kind == "move" else None
        facts: Mapping[str, object] = move.facts if move else {}
        yield (
            {
                "seq": record.seq,
                "kind": record.kind,
                "at": record.at,
                "by": record.by,
                "conversation": record.conversation or None,
                "revision": record.session.revision,
                "status": record.session.status,
                "step": move.step if move else record.session.step,
                "reported": move.reported if move else None,
                "outcome": move.outcome if move else None,
                "facts": plain(facts) if in_full else _beginning(facts, iter(range(LONGEST_LINE))),
                "to": record.session.step,
                "capped": bool(move and move.capped),
                "skipped": list(move.skipped) if move else [],
                "found": _memory(record, FOUND),
                "remember": _memory(record, REMEMBER),
                "evidence": [result_data(result) for result in _results(record)] if in_full else [],
                "evidence_summary": tally(_results(record)),
                "seconds": seconds_between(since, record.at) if move else None,
                "note": plain(record.note) if in_full else record.note,
                "hash": record.hash,
            }
        )
        since = record.at if not record.seq or record.kind in {"move", "rewind"} else since


def _results(record: Record) -> tuple[EvidenceResult, ...]:
    """Return the results of the checks behind a move, or behind a claim that was refused."""
    session, dispatch = record.session, record.note.get("dispatch")
    known = session.evidence.get(str(session.step))
    if dispatch is not None and record.kind in {"refused", "finish"}:
        known = next((each.evidence for each in session.dispatches if each.id == dispatch), None)
        return known.results if known is not None else ()
    if record.kind == "refused" and known is not None:
        return known.results
    return session.last.evidence if record.kind == "move" and session.last else ()


def report(records: Iterable[Record]) -> Iterator[Table]:
    """Yield the records as a table."""
    rows = (
        [
            str(item["revision"]),
            Moment(item["at"]),
            _author(item),
            item["kind"] if item["kind"] != "move" else item["step"],
            _outcome_part(item),
            item["to"] or f"({item['status']})",
            duration(item["seconds"]),
        ]
        for item in items(records, in_full=False)
    )
    titles = ("rev", "at", "by", "step", "outcome", "to", "took")
    yield Table(columns(*titles, wraps=("step", "outcome", "to"), optional=("by", "took")), rows)


_STYLES = {"ok": Style.GOOD, "fail": Style.BAD, "iterate": Style.WARNING, "refused": Style.WARNING}


def _outcome_part(item: dict[str, Any]) -> Part:
    text = shortened(one_line(_outcome(item)), LONGEST_LINE)
    style = _STYLES.get(str(item["outcome"] or item["kind"]))
    return Span(text, style) if style is not None else text


def _memory(record: Record, kind: str) -> str | None:
    """Return what came with a record as `--found` or `--remember`."""
    move = record.session.last if record.kind == "move" else None
    if move is not None:
        return (move.found if kind == FOUND else move.remember) or None
    return record.note.get("found") if kind == FOUND else record.note.get("remember")


def _author(item: dict[str, Any]) -> str:
    """Return who wrote a record: the beginning of a conversation's id, or the user."""
    return short_id(item["conversation"]) if item["conversation"] else str(item["by"])


def _outcome(item: dict[str, Any]) -> str:
    owner = item["note"].get("taken_over_from")
    taken_over = f"taken over from {short_id(str(owner))}" if owner else ""
    memories = [f"{kind}: {item[kind]}" for kind in (FOUND, REMEMBER) if item[kind]]
    return "; ".join(text for text in (_transition(item), taken_over, *memories) if text)


def _transition(item: dict[str, Any]) -> str:
    if item["outcome"] is None:
        return _note_text(item["kind"], {**item["note"], "evidence": item["evidence_summary"]})
    facts = "".join(f" {name}={value}" for name, value in item["facts"].items())
    decided = f" → {item['outcome']}" if item["reported"] != item["outcome"] else ""
    capped = " (at the limit)" if item["capped"] else ""
    skipped = f" (skipping {', '.join(item['skipped'])})" if item["skipped"] else ""
    checked = f" ({item['evidence_summary']})" if item["evidence_summary"] else ""
    return f"{item['reported']}{facts}{decided}{capped}{skipped}{checked}"


def _beginning(value: Any, room: Iterator[int]) -> object:
    """Return as many values of plain data as *room* has numbers; long texts are cut."""
    if isinstance(value, Mapping):
        return {
            _beginning(key, room): _beginning(item, room)
            for _, (key, item) in zip(room, value.items(), strict=False)
        }
    if isinstance(value, (list, tuple)):
        return [_beginning(item, room) for _, item in zip(room, value, strict=False)]
    is_long = isinstance(value, str) and len(value) > 2 * LONGEST_LINE
    return f"{value[: 2 * LONGEST_LINE]}…" if is_long else value


def _note_text(kind: str, note: Mapping[str, Any]) -> str:
    """Return a record that is not a move, as text."""
    text = ""
    if kind == "rewind":
        text = f"from revision {note['from']} to {note['to']}"
    elif kind == "held":
        text = f"kept from ending its turn, time {note.get('times')}"
    elif kind == "released":
        text = "the conversation ended"
    elif kind == "fork" and "into" in note:
        text = f"at revision {note['at']} into {note['into']}"
    elif kind == "fork":
        text = f"of {note['from']['session']} at revision {note['from']['revision']}"
    elif kind == "migrate":
        names = ", ".join(f"{old} → {new}" for old, new in note["renamed"].items())
        text = f"{note['verdict']}{f': {names}' if names else ''}"
    else:
        text = shortened(_agents_note(kind, note))
    reason = shortened(str(note.get("reason", "")))
    return f"{text} ({reason})" if text and reason else text or reason


def _agents_note(kind: str, note: Mapping[str, Any]) -> str:
    """Return a record about dispatches, questions, evidence or findings, as text."""
    if kind == "claim":
        into = f", as {note['child']}" if note.get("child") else ""
        return f"{note.get('dispatch')} by {note.get('holder')}{into}"
    if kind == "refused":
        of = f"{note['dispatch']} " if note.get("dispatch") else ""
        lacks = ", ".join(note.get("missing") or ())
        return f"{of}claimed {note.get('claim')}, {note['evidence']}: lacks {lacks}"
    if kind in {"evidence", "approve", "waive"}:
        return " ".join(str(note[name]) for name in ("check", "level", "verdict") if note.get(name))
    if kind in {"finish", "cancel"}:
        checked = f" ({note['evidence']})" if note["evidence"] else ""
        return " ".join(str(note[name]) for name in ("dispatch", "outcome") if note.get(name)) + checked
    if kind == "answer":
        given = note.get("answers") or {}
        return " ".join(f"{name}={word}" for name, words in given.items() for word in words)
    if kind == "ask":
        return " ".join(note.get("questions") or ())
    return str(note.get("finding") or "")


def plan_report(plan: MigrationPlan) -> Report:
    """Return a plan for people: the session's step, and what changed in each step."""
    where = f"at `{plan.at}`" if plan.at else "ended"
    if plan.at and plan.to != plan.at:
        where += f", now `{plan.to}`" if plan.to else ", which no longer exists"
    lines: list[str | Table] = [f"{plan.session} · revision {plan.revision} · {where}: {plan.verdict}"]
    rows = [
        [step.step, step.change, step.to or "", "; ".join(step.what)]
        for step in plan.steps
        if step.change != IDENTICAL
    ]
    if rows:
        lines.append(Table(columns("step", "change", "new id", "details", wraps=("details",)), rows))
    same = len(plan.having(IDENTICAL))
    if same:
        lines.append(f"{same} step{'' if same == 1 else 's'} identical")
    if plan.moves:
        fresh = "; its dispatches and questions start again" if plan.fresh else ""
        lines.append(f"its transitions change: the revision is increased{fresh}")
    return [*lines, *(f"parameters: {one_line(problem)}" for problem in plan.problems)]


def plan_data(plan: MigrationPlan) -> dict[str, object]:
    """Return a plan as plain data."""
    return {**plain(plan._asdict()), "steps": [plain(step._asdict()) for step in plan.steps]}


def done_text(plan: MigrationPlan, *, changed: bool) -> str:
    """Return the result of a migration."""
    return f"{plan.session} migrated" if changed else f"{plan.session} is up to date"
