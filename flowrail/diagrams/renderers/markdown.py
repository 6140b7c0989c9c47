"""Write the steps of a picture as a table in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from flowrail.diagrams.model import Node, NodeKind, Picture
from flowrail.text.safe_text import shortened

_ESCAPED = str.maketrans({char: f"\\{char}" for char in "\\`*[]<>|"})
_ENTITY = re.compile(r"&(?=#?\w+;)")
LONGEST_CELL = 400


def render(picture: Picture) -> str:
    """Return the steps as a table: number, title with notes, phase if any step has one, and transitions."""
    steps = [node for node in picture.nodes if node.is_step]
    phases = any(node.phase for node in steps)
    rows = [
        [
            str(node.number),
            _titled(node),
            *([cell(node.phase or "")] if phases else []),
            cell(transitions_of(picture, node)),
        ]
        for node in steps
    ]
    return table(["#", "Step", *(["Phase"] if phases else []), "Transitions"], rows)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown already."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def cell(text: str) -> str:
    """Return *text* as the escaped content of a cell, on one line."""
    return _ENTITY.sub(r"\\&", shortened(text, LONGEST_CELL).translate(_ESCAPED))


def _titled(node: Node) -> str:
    return cell(node.title) + (f" ({'; '.join(map(cell, node.notes))})" if node.notes else "")


def transitions_of(picture: Picture, node: Node) -> str:
    """Return where each outcome of a step leads: the number of a step, or the end."""
    ends = {NodeKind.COMPLETED: "end", NodeKind.FAILED: "end as failed"}
    names = {target.id: ends.get(target.kind) or str(target.number) for target in picture.nodes}
    leaving = (arrow for arrow in picture.arrows if arrow.source == node.id)
    return ", ".join(f"{arrow.label} → {names[arrow.target]}" for arrow in leaving)
