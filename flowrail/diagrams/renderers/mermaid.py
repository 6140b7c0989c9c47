"""A picture as a Mermaid flowchart, valid whatever the titles are.

Nodes are named by number, so that no id can be a word of the language; titles are quoted, with
every character that means something to Mermaid, Markdown or HTML written as an entity. Colours are left
to whoever shows it, so that it is light or dark with the page around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flowrail.diagrams.model import Arrow, Kind, Node, Picture

MOST_ARROWS = 500
"""More than this Mermaid does not draw, unless whoever shows it allows more."""

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ,.-_+=/?!'()")
_SHAPES: Mapping[Kind, tuple[str, str]] = {
    Kind.START: ("((", "))"),
    Kind.STEP: ("(", ")"),
    Kind.DECIDE: ("{{", "}}"),
    Kind.ASK: ("[/", "/]"),
    Kind.GATE: ("{", "}"),
    Kind.AGENT: ("[[", "]]"),
    Kind.AGENTS: ("[/", "\\]"),
    Kind.COMPLETED: ("(((", ")))"),
    Kind.FAILED: ("(((", ")))"),
}
_CLASSES = (
    "classDef maybe stroke-dasharray:5 4",
    "classDef failed stroke:#c0392b,stroke-width:2px",
    "classDef here stroke:#2f6fed,stroke-width:5px",
    "classDef done stroke:#2a8a4f,stroke-width:3px",
    "classDef off opacity:0.45",
)


def render(picture: Picture, *, links: Mapping[str, str] | None = None) -> str:
    """Return *picture* in the language of Mermaid; *links* are addresses of the workflows that agents run."""
    return "\n".join(_lines(picture, links or {}))


def quoted(*lines: str) -> str:
    """Return *lines* as a quoted label that shows just those characters."""
    return '"' + "<br/>".join(_escaped(each) for each in lines) + '"'


def _escaped(text: str) -> str:
    folded = " ".join(text.split()) or " "
    return "".join(char if char in _PLAIN or _is_letter(char) else f"#{ord(char)};" for char in folded)


def _is_letter(char: str) -> bool:
    """Return whether *char* is beyond ASCII and shows itself: no control, joiner or change of direction."""
    return char > "\u00a0" and char.isprintable()


def _lines(picture: Picture, links: Mapping[str, str]) -> Iterator[str]:
    names = picture.names
    yield "flowchart TD"
    for number, (phase, nodes) in enumerate(picture.bands, start=1):
        if phase is not None:
            yield f"    subgraph p{number}[{quoted(phase)}]"
        for node in nodes:
            before, after = _SHAPES[node.kind]
            yield f"    {names[node.id]}{before}{quoted(*_label(picture, node))}{after}"
        if phase is not None:
            yield "    end"
    for arrow in picture.arrows:
        yield _arrow(picture, arrow, names)
    for node in picture.nodes:
        if node.run is not None and node.run in links:
            yield f"    click {names[node.id]} href {quoted_address(links[node.run])}"
    for definition in _CLASSES:
        name = definition.split()[1]
        marked = [names[node.id] for node in picture.nodes if name in _classes(picture, node)]
        if marked:
            yield f"    {definition}"
            yield f"    class {','.join(marked)} {name}"


def quoted_address(address: str) -> str:
    """Return an address between quotes, with nothing in it that could end them."""
    return '"' + "".join(char if char not in '"\\<> \n' else f"%{ord(char):02X}" for char in address) + '"'


def _label(picture: Picture, node: Node) -> list[str]:
    title = f"{node.number} · {node.title}" if node.number is not None else node.title
    return [title, *picture.notes(node)]


def _arrow(picture: Picture, arrow: Arrow, names: Mapping[str, str]) -> str:
    line = "==>" if picture.count(arrow) else "-.->" if picture.never(arrow) else "-->"
    label = picture.label(arrow)
    said = f"|{quoted(label)}|" if label else ""
    return f"    {names[arrow.source]} {line}{said} {names[arrow.target]}"


def _classes(picture: Picture, node: Node) -> Iterator[str]:
    if node.when is not None:
        yield "maybe"
    if node.kind is Kind.FAILED:
        yield "failed"
    if picture.trace is not None:
        state = picture.trace.state(node)
        if state in {"here", "done"} or (state == "off" and node.is_step):
            yield state
