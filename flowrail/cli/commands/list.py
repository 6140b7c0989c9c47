"""`flow list`."""

from __future__ import annotations

from flowrail.cli import options, output
from flowrail.cli.environment import SessionCall
from flowrail.command import Command
from flowrail.skills import summary
from flowrail.skills.catalog import with_unread_workflow
from flowrail.text.phrases import count
from flowrail.text.report import Part, Span, Style, Table, columns


@SessionCall.command("list", "flow list", "flow list --root ../skills")
@options.as_json
@options.root
def list_command(call: SessionCall) -> None:
    """List the skills

    If several skills share a name, lists the one that runs. Of a skill in Python that is not approved, it
    shows the name and how to approve it.
    """
    items = summary.items(call.environment.loader)
    for folder in with_unread_workflow(call.environment.roots):
        output.notes([f"{folder} has no workflow that is read; see why: {Command('check', folder)}"])
    titles = ("skill", "steps", "gates", "params", "source", "purpose")
    head = columns(*titles, wraps=("params", "source", "purpose"), optional=("gates", "params"))
    call.answer({"skills": items}, [Table(head, map(_skill_row, items))])


_SHORTEST_CLAUSE = 20


def _skill_row(item: dict[str, object]) -> list[Part]:
    params = ", ".join(str(param["name"]) for param in item["params"])  # type: ignore[attr-defined]
    inner = f" + {len(item['workflows'])} more" if item["workflows"] else ""  # type: ignore[arg-type]
    return [
        str(item["name"]),
        f"{'?' if item['needs_approval'] else item['total_steps']}{inner}",
        str(len(item["gates"]) or ""),  # type: ignore[arg-type]
        params,
        _source(item),
        _purpose(item),
    ]


def _purpose(item: dict[str, object]) -> Part:
    if item["needs_approval"]:
        return Span(f"not approved; {item['needs_approval']}", Style.WARNING)
    if item["errors"]:
        errors = count(int(str(item["errors"])), "error")
        return Span(f"{errors}: {Command('check', str(item['name']))}", Style.BAD)
    return _first_clause(str(item["description"]))


def _source(item: dict[str, object]) -> str:
    if item["as_bundled"]:
        return f"{item['source']}, as bundled"
    return f"{item['source']}, hides another" if item["hides"] else str(item["source"])


def _first_clause(text: str, longest: int = 90) -> str:
    """Return the beginning of a description, up to a full stop or a colon."""
    first = " ".join(text.split()).partition(". ")[0].rstrip(".")
    clause = first.partition(": ")[0]
    first = clause if len(clause) >= _SHORTEST_CLAUSE else first
    return first if len(first) <= longest else f"{first[: longest - 1]}…"
