"""Draw a picture as a Mermaid flowchart that is valid for any title.

Nodes are named by number, so that no id is a keyword. Titles are quoted, and every character that means something
to Mermaid, Markdown or HTML is an entity. Colours are left to the page, so that it can be light or dark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flowrail.diagrams.model import Arrow, Node, NodeKind, Picture

MOST_ARROWS = 500
"""The default limit of Mermaid."""

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ,.-_+=/?!'()")
_SHAPES: Mapping[NodeKind, tuple[str, str]] = {
    NodeKind.START: ("((", "))"),
    NodeKind.STEP: ("(", ")"),
    NodeKind.DECIDE: ("{{", "}}"),
    NodeKind.ASK: ("[/", "/]"),
    NodeKind.GATE: ("{", "}"),
    NodeKind.AGENT: ("[[", "]]"),
    NodeKind.AGENTS: ("[/", "\\]"),
    NodeKind.COMPLETED: ("(((", ")))"),
    NodeKind.FAILED: ("(((", ")))"),
}
_CLASSES = (
    "classDef maybe stroke-dasharray:5 4",
    "classDef failed stroke:#c0392b,stroke-width:2px",
    "classDef here stroke:#2f6fed,stroke-width:5px",
    "classDef done stroke:#2a8a4f,stroke-width:3px",
    "classDef off opacity:0.45",
)


def render(picture: Picture) -> str:
    """Return *picture* as Mermaid."""
    return "\n".join(_lines(picture))


def quoted(*lines: str) -> str:
    """Return *lines* as a quoted label."""
    return '"' + "<br/>".join(map(_escaped, lines)) + '"'


def _escaped(text: str) -> str:
    """Return *text* on one line; letters and digits of any script stay, all other characters are entities."""

    def is_plain(char: str) -> bool:
        return char in _PLAIN or (char > "\u00a0" and char.isprintable())

    folded = " ".join(text.split()) or " "
    return "".join(char if is_plain(char) else f"#{ord(char)};" for char in folded)


def _lines(picture: Picture) -> Iterator[str]:
    names = picture.names
    yield "flowchart TD"
    for number, (phase, nodes) in enumerate(picture.bands, start=1):
        if phase is not None:
            yield f"    subgraph p{number}[{quoted(phase)}]"
        for node in nodes:
            before, after = _SHAPES[node.kind]
            yield f"    {names[node.id]}{before}{quoted(node.heading, *node.notes)}{after}"
        if phase is not None:
            yield "    end"
    for arrow in picture.arrows:
        yield _arrow(arrow, names)
    for definition in _CLASSES:
        name = definition.split()[1]
        marked = [names[node.id] for node in picture.nodes if name in _classes(node)]
        if marked:
            yield f"    {definition}"
            yield f"    class {','.join(marked)} {name}"


def _arrow(arrow: Arrow, names: Mapping[str, str]) -> str:
    line = "-->" if arrow.taken is None else "==>" if arrow.taken else "-.->"
    text = f"|{quoted(arrow.label)}|" if arrow.label else ""
    return f"    {names[arrow.source]} {line}{text} {names[arrow.target]}"


def _classes(node: Node) -> Iterator[str]:
    if node.when is not None:
        yield "maybe"
    if node.kind is NodeKind.FAILED:
        yield "failed"
    if node.state in {"here", "done"} or (node.state == "off" and node.is_step):
        yield node.state
