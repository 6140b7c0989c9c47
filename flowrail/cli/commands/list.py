"""`flow list`: it starts fast, so it is apart from the other commands."""

from __future__ import annotations

from functools import partial

from flowrail.cli import options, output
from flowrail.cli.options import Call
from flowrail.command import Command
from flowrail.machines.loading import workflow_source
from flowrail.skills import summary
from flowrail.skills.catalog import with_unread_workflow
from flowrail.text.phrases import count, listed
from flowrail.text.report import Part, Span, Style, Table, columns


@Call.command("list", "flow list", "flow list --root ../skills")
@options.run
@options.as_json
@options.root
def list_command(call: Call, run_code: bool) -> None:
    """List the skills

    If several skills share a name, lists the one that runs. Runs no code of a skill without --run.
    """
    if run_code:
        from flowrail.cli.workflow_reading import reader  # loads the engine, which a list does without

        items = summary.items(call.environment.roots, reader(call.roots, run_code=True, skips=True))
    else:
        environment = call.environment
        items = summary.items(
            environment.roots, partial(workflow_source.read, convention=environment.convention)
        )
    computed = [str(item["name"]) for item in items if item["computed"]]
    if computed and not run_code:
        output.notes([f"parts of {listed(computed)} are only known when its Python runs: flow list --run"])
    for folder in with_unread_workflow(call.environment.roots):
        output.notes([f"{folder} has no workflow that is read; see why: {Command('check', folder)}"])
    titles = ("skill", "steps", "gates", "params", "source", "purpose")
    head = columns(*titles, wraps=("params", "source", "purpose"), optional=("gates", "params"))
    call.answer({"skills": items}, [Table(head, map(_skill_row, items))])


_SHORTEST_CLAUSE = 20


def _skill_row(item: dict[str, object]) -> list[Part]:
    params = ", ".join(str(param["name"]) for param in item["params"])  # type: ignore[attr-defined]
    errors = (
        f"{count(int(str(item['errors'])), 'error')}: flow check {item['name']}" if item["errors"] else ""
    )
    inner = f" + {len(item['workflows'])} more" if item["workflows"] else ""  # type: ignore[arg-type]
    return [
        str(item["name"]),
        f"{item['total_steps'] or '?' if item['computed'] else item['total_steps']}{inner}",
        str(len(item["gates"]) or ""),  # type: ignore[arg-type]
        params,
        _source(item),
        Span(errors, Style.BAD) if errors else _first_clause(str(item["description"])),
    ]


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
